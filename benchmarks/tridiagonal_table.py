#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""tridiagonal_table.py FILE.csv [...]: one table for each case from the files that benchmarks/tridiagonal wrote with
-csv, each by a process of its own: medians over the processes.

Times are ms, of calls and of CUDA graphs; the ratios are those of the best function of cuSPARSE and of five arrays at
the rate of a copy to the shorter of the two. -csv FILE also writes the medians to a file. Below each case: whether
`auto` is within 10 % of the best explicit algorithm, and the bars of the cases that have them."""

import argparse
import csv
import math
import statistics

TIMES = ["setup_ms", "apply_ms", "once_ms", "graph_setup_ms", "graph_apply_ms", "graph_once_ms"]
# precision, systems, rows: ms for both in one call, and for an apply with stored factors
BARS = {
    ("fp64", 1, 1 << 24): (0.40, 0.30),
    ("fp64", 1, 1 << 26): (1.5, 1.1),
    ("fp32", 1, 1 << 24): (0.22, 0.16),
    ("fp64", 1, 1 << 20): (0.045, 0.030),
    ("fp32", 512, 512): (0.008, 0.006),
    ("fp64", 65536, 512): (0.50, 0.45),
}


def median(values):
    """Of the numbers that are there; NAN of none"""
    there = [v for v in values if not math.isnan(v)]
    return statistics.median(there) if there else math.nan


def read(names):
    """Cases by precision, systems and rows, each a dictionary of lines by backend, ranks and solver"""
    cases, notes = {}, {}
    for name in names:
        with open(name, newline="") as f:
            for row in csv.DictReader(f):
                case = cases.setdefault((row["precision"], int(row["systems"]), int(row["rows"])), {})
                key = (row["backend"], int(row["ranks"]), row["solver"])
                line = case.setdefault(key, {t: [] for t in TIMES + ["error"]})
                for t in TIMES + ["error"]:
                    line[t].append(float(row[t]))
                notes[(row["precision"], int(row["systems"]), int(row["rows"]), *key)] = row["note"]
    for case in cases.values():
        for line in case.values():
            line["processes"] = len(line["error"])
            for t in TIMES:
                line[t] = median(line[t])
            line["error"] = max((e for e in line["error"] if not math.isnan(e)), default=math.nan)
    return cases, notes


def shorter(line, what):
    """The shorter one of calls and graph"""
    return min((t for t in (line[f"{what}_ms"], line[f"graph_{what}_ms"]) if not math.isnan(t)), default=math.nan)


def number(value, width, digits):
    return " " + ("-".rjust(width) if math.isnan(value) else f"{value:{width}.{digits}f}")


def best(lines, what):
    """The line with the least time, and the time"""
    there = [(shorter(line, what), key) for key, line in lines.items() if not math.isnan(shorter(line, what))]
    return min(there) if there else (math.nan, None)


def print_case(case, lines, notes):
    precision, systems, rows = case
    processes = max(line["processes"] for line in lines.values())
    print(f"\n{precision}, {systems} x {rows}, {processes} process{'es' if processes > 1 else ''}")
    peers = {k: v for k, v in lines.items() if k[0] == "cusparse"}
    cusparse, name = best(peers, "once")
    floor = lines.get(("device", 1, "copy"), {}).get("once_ms", math.nan)
    print(f"  {'':38} {'calls':>29} {'graph':>29} {'best cuSPARSE /':>15} {'floor /':>13} {'error':>8}")
    print(
        f"  {'':38} {'setup':>9} {'apply':>9} {'once':>9} {'setup':>9} {'apply':>9} {'once':>9} {'once':>7}"
        f" {'apply':>7} {'once':>6} {'apply':>6} {'eps':>8}"
    )
    for key, line in lines.items():
        backend, ranks, solver = key
        if all(math.isnan(line[t]) for t in TIMES):
            continue
        ranked = backend in ("host", "lapack")
        text = f"  {backend:8} {solver:23} {ranks if ranked else '':>5}"
        text += "".join(number(line[t], 9, 4) for t in TIMES)
        text += number(cusparse / shorter(line, "once"), 7, 2) + number(cusparse / shorter(line, "apply"), 7, 2)
        text += "".join(number(math.nan if ranked else floor / shorter(line, what), 6, 2) for what in ("once", "apply"))
        print(text + number(line["error"], 8, 2) + "  " + notes[(*case, *key)])
    ours = {k: v for k, v in lines.items() if k[0] == "cuda"}
    auto = ours.get(("cuda", 1, "auto"))
    if not auto:
        return
    if name:
        print(f"  best of cuSPARSE: {name[2]}, {cusparse:.4f} ms")
    explicit = {k: v for k, v in ours.items() if k[2] != "auto"}
    for what in ("apply", "once"):
        least, key = best(explicit, what)
        if key:
            mine = shorter(auto, what)
            print(
                f"  auto, {what}: {mine:.4f} ms, the best explicit choice ({key[2]}) {least:.4f}:"
                f" {'' if mine <= 1.1 * least else 'NOT '}within 10 %"
            )
    if case in BARS:
        for what, bar in zip(("once", "apply"), BARS[case]):
            mine = shorter(auto, what)
            print(
                f"  bar, {what}: {mine:.4f} ms, at most {bar}: {'met' if mine <= bar else 'MISSED'}; by calls"
                f" {auto[what + '_ms']:.4f}"
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("-csv")
    args = parser.parse_args()
    cases, notes = read(args.files)
    for case, lines in cases.items():
        print_case(case, lines, notes)
    if args.csv:
        with open(args.csv, "w", newline="") as f:
            w = csv.writer(f, lineterminator="\n")
            w.writerow(
                ["solver", "backend", "precision", "ranks", "systems", "rows", *TIMES, "error", "processes", "note"]
            )
            for case, lines in cases.items():
                for key, line in lines.items():
                    w.writerow(
                        [
                            key[2],
                            key[0],
                            case[0],
                            key[1],
                            case[1],
                            case[2],
                            *(f"{line[t]:.6e}" for t in TIMES),
                            f"{line['error']:.3g}",
                            line["processes"],
                            notes[(*case, *key)],
                        ]
                    )


if __name__ == "__main__":
    main()
