#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Time of an iteration of CG or BiCGStab with 7 points on more GPUs than were there, from constants of a few.

usage: benchmarks/gbcg_model.py [ablation.txt] [--ksp bcgs]
           [--box 256,512,256 --gpus 6 192] [--scaled 12:128,128,128 192:256,512,256]

ablation.txt, also one of benchmarks/results: what benchmarks/gbcgablation -bench_device printed on two GPUs or more, in
double precision, by CG. Its last grid is read, and its constants take the place of those below: product for each row,
the latency of messages where these did not go through the host, and, where something is left for it, the wait of a
reduction.

Layers of a grid n x k x m on P GPUs, r = n k m / P rows each; a rank sends a plane of n k numbers each way, at the same
time:

    T(P) = v r + c (max(p (r - 2 n k), h) + 2 p n k + s)
    h = l + 8 n k / b
    s = w + l' log2(GPUs of a node) + l'' log2(nodes)

c: products and merged reductions of an iteration, 1 of CG, 2 of BiCGStab; p, v: product and vectors for a row, at sizes
where launches do not count, and beyond the L2 cache; h: halo, from the slower of the links inside of a node and between
nodes, which carry messages at the same time; s: one merged reduction, w what host and device take for it at each P > 1.
Efficiency: T(1) / (P T(P)) strong, T(1) / T(P) weak. Boxes: speed of a GPU, r / T(P), over that on the first number of
GPUs. Each constant says where it is from; "assumed" is neither measured nor of a specification."""

import argparse
import math
import pathlib
import re
import sys

CONSTANTS = {  # seconds, bytes a second
    "product": [0.1338e-3 / 200**3, "measured, benchmarks/results/gbcg-cuda.txt: product with diacuda at 200^3"],
    "vectors": [
        (0.2835 - 0.1338) * 1e-3 / 200**3,
        "measured, the same: an iteration of cgfused at 200^3 less its product",
    ],
    "wait": [15e-6, "assumed: sums to the host and back in an iteration of several ranks"],
}
BCGS = [
    (0.5217 - 2 * 0.1338) * 1e-3 / 200**3,
    "measured, the same: an iteration of bcgsfused at 200^3 less its two products",
]
LINKS = {  # latency of a message between devices, bytes a second one way
    "NVLink": [
        15e-6,
        450e9,
        (
            "latency: measured, benchmarks/results/gbcgablation-cuda.txt, messages by NCCL less their bytes; rate:"
            " specification, NVIDIA H200 (900 GB/s both ways)"
        ),
    ],
    "InfiniBand": [15e-6, 50e9, "latency assumed; rate: specification, NDR, 400 Gb/s a GPU (NVIDIA ConnectX-7)"],
    "Ethernet": [50e-6, 12.5e9, "latency assumed, of TCP; rate: specification, 100 Gb/s (IEEE 802.3)"],
}
GPUS = [1, 2, 4, 8, 16, 32, 64, 128, 192]


def read(name):
    """ms by (what, how) of the last grid, its three sizes, ranks, and how messages travel."""
    times, grid, ranks, by = {}, None, 0, ""
    results = pathlib.Path(__file__).resolve().parent / "results"
    with open(name if pathlib.Path(name).is_file() else results / name) as f:
        for line in f:
            head = re.search(r"; (\d+) ranks, CUDA, messages of MATDIA by ([^;]*)", line)
            if head:
                ranks, by = int(head.group(1)), head.group(2)
            row = re.match(r"(\d+)x(\d+)x(\d+)\s+(\S.{23}) (.{24})\s+([0-9.]+)", line)
            if row:
                if grid != row.groups()[:3]:
                    grid, times = row.groups()[:3], {}
                times[row.group(4).strip(), row.group(5).strip()] = float(row.group(6))
    if not times or ranks < 2:
        sys.exit("gbcg_model: %s has no table of gbcgablation -bench_device on two GPUs or more" % name)
    return times, [int(k) for k in grid], ranks, by


def calibrate(name):
    """Constants from an ablation of CG; those of vectors stay."""
    times, n, ranks, by = read(name)
    rows, plane = n[0] * n[1] * n[2] / ranks, 8.0 * n[0] * n[1]
    where = "measured, %s: %dx%dx%d on %d GPUs, " % (name, n[0], n[1], n[2], ranks)
    try:
        product = times["product, no messages", ""] * 1e-3
        halo = times["messages", "MATDIA, all at once"] * 1e-3
        overlapped = times["product", "overlapped, all at once"] * 1e-3
        iteration = times["iteration", "+ all at once"] * 1e-3
        reduction = times["reduction", "MPI_Allreduce()"] * 1e-3
    except KeyError as missing:
        sys.exit("gbcg_model: %s has no line %s" % (name, missing))
    CONSTANTS["product"] = [product / rows, where + "product, no messages"]
    if "host" in by:
        print("messages went by %s: their latency says nothing of NVLink\n" % by)
    else:
        LINKS["NVLink"][0] = max(halo - plane / LINKS["NVLink"][1], 0.0)
        LINKS["NVLink"][2] = LINKS["NVLink"][2].replace(
            "latency assumed", "latency " + where + "messages, all at once, less their bytes"
        )
    rest = iteration - overlapped - CONSTANTS["vectors"][0] * rows
    if rest > 0.0:
        CONSTANTS["wait"] = [
            max(rest - LINKS["NVLink"][0] * math.log2(ranks), 0.0),
            where + "an iteration less product, vectors and messages of a reduction",
        ]
    print(
        "reduction by MPI_Allreduce() between hosts %.1f us, halo %.1f us, iteration %.4f ms\n"
        % (reduction * 1e6, halo * 1e6, iteration * 1e3)
    )


def iteration(box, gpus, node, link, products):
    """Seconds of an iteration on so many GPUs, `node` of which share NVLink; the others are behind `link`."""
    c = {k: v[0] for k, v in CONSTANTS.items()}
    rows, plane = box[0] * box[1] * box[2] / gpus, box[0] * box[1]
    inside, nodes = min(gpus, node), math.ceil(gpus / node)
    halo = total = 0.0
    if gpus > 1:
        near = LINKS["NVLink"]
        halo = near[0] + 8 * plane / near[1] if inside > 1 else 0.0
        total = c["wait"] + near[0] * math.log2(inside)
        if nodes > 1:
            far = LINKS[link]
            halo = max(halo, far[0] + 8 * plane / far[1])
            total += far[0] * math.log2(nodes)
    ends = min(rows, 2 * plane) if gpus > 1 else 0
    return c["vectors"] * rows + products * (max(c["product"] * (rows - ends), halo) + c["product"] * ends + total)


def boxes(what, sizes, node, products):
    """A line for each number of GPUs: sizes = [(GPUs, box)]; the first is what the others are compared with."""
    print("%-8s %-13s %-11s %5s %9s %9s %11s" % ("boxes", "grid", "link", "GPUs", "ms", "speed-up", "efficiency"))
    for link in LINKS:
        inside, first = node if link != "NVLink" else 10**9, None
        for gpus, box in sizes:
            seconds = iteration(box, gpus, inside, link, products)
            speed = box[0] * box[1] * box[2] / seconds
            first = first or (speed, gpus)
            ratio = speed / first[0]
            print(
                "%-8s %-13s %-11s %5d %9.4f %9.2f %11.3f"
                % (what, "%dx%dx%d" % box, link, gpus, 1e3 * seconds, ratio, ratio * first[1] / gpus)
            )
    print()


def table(title, size, node, gpus, weak, products):
    print(title)
    print("%-22s" % "GPUs" + "".join("%9d" % p for p in gpus))
    for link in LINKS:
        inside = node if link != "NVLink" else 10**9
        times = [iteration((size, size, size * (p if weak else 1)), p, inside, link, products) for p in gpus]
        print("%-22s" % (link + ", ms") + "".join("%9.4f" % (1e3 * t) for t in times))
        print(
            "%-22s" % "  efficiency"
            + "".join("%9.2f" % (times[0] / t / (1 if weak else p)) for p, t in zip(gpus, times))
        )
    print()


def numbers(text):
    """NX,NY,NZ"""
    box = tuple(int(word) for word in text.split(","))
    if len(box) != 3 or min(box) < 1:
        raise ValueError(text)
    return box


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ablation", nargs="?", help="output of gbcgablation")
    parser.add_argument("--node", type=int, default=8, help="GPUs of a node, which share NVLink (8)")
    parser.add_argument("--strong", type=int, nargs="*", help="points in each direction (256 512)")
    parser.add_argument("--weak", type=int, nargs="*", help="points in each direction for each GPU (320)")
    parser.add_argument("--ksp", choices=("cg", "bcgs"), default="cg", help="the method (cg)")
    parser.add_argument("--box", type=numbers, help="instead: this box, cut into layers of its last direction")
    parser.add_argument("--gpus", type=int, nargs="+", default=GPUS, help="on so many GPUs (%(default)s)")
    parser.add_argument("--scaled", nargs="+", metavar="P:NX,NY,NZ", help="instead: on P GPUs a box of their own")
    args = parser.parse_args()
    if args.node < 1 or min(args.gpus) < 1:
        sys.exit("gbcg_model: a node has one GPU or more, and so has a run")
    if args.ablation:  # of CG
        calibrate(args.ablation)
    products = {"cg": 1, "bcgs": 2}[args.ksp]
    if args.ksp == "bcgs":
        CONSTANTS["vectors"] = BCGS
    for name, (value, source) in CONSTANTS.items():
        print("%-11s %10.4g s%s  %s" % (name, value, " a row" if name in ("product", "vectors") else "      ", source))
    for name, (latency, rate, source) in LINKS.items():
        print("%-11s %10.4g s, %5.1f GB/s  %s" % (name, latency, rate * 1e-9, source))
    print("\nNVLink: all GPUs on it; InfiniBand, Ethernet: between nodes of %d GPUs, with NVLink inside\n" % args.node)
    apart = args.box or args.scaled
    for n in args.strong or ([] if apart else [256, 512]):
        table("strong, %d^3" % n, n, args.node, [p for p in GPUS if p <= n], False, products)
    for n in args.weak or ([] if apart else [320]):
        table("weak, %d^3 a GPU" % n, n, args.node, GPUS, True, products)
    if args.box:
        boxes("strong", [(p, args.box) for p in args.gpus], args.node, products)
    if args.scaled:
        pairs = [text.split(":") for text in args.scaled]
        boxes("weak", [(int(p), numbers(box)) for p, box in pairs], args.node, products)


if __name__ == "__main__":
    main()
