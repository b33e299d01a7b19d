#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""blocks_table.py FILE.csv [...]: tables from the files that benchmarks/blocks wrote with -csv, each by a process of
its own: medians over the processes. One that -csv wrote may be among them.

Times are ms, the shorter of calls and CUDA graphs; "copy" is the share of the rate of a copy at the least traffic;
peers are cuBLAS, cuSPARSE, BLAS or MATBAIJ at the same place, the best function in the better layout, and their time is
given over ours. Last come the bars, each with the number of cells that meet it and those that do not. Results that are
wrong by more than 1e5 units of rounding are marked, and no peer's time. -csv FILE also writes the medians to a file;
-bars prints the bars alone."""

import argparse
import collections
import csv
import math
import statistics

KEY = ["part", "op", "place", "precision", "layout", "bs", "n", "m", "tasks"]
NUMBERS = ["ms", "graph_ms", "bytes", "copy_gbs"]
WRONG = 1e5  # units of rounding: such results count for nothing
Cell = collections.namedtuple("Cell", KEY)


def median(values):
    """Of the numbers that are there; NAN of none"""
    there = [v for v in values if not math.isnan(v)]
    return statistics.median(there) if there else math.nan


def read(names):
    """Lines by cell and solver; the order is that of the first file"""
    cells = {}
    for name in names:
        with open(name, newline="") as f:
            for row in csv.DictReader(f):
                cell = Cell(*(int(row[k]) if k in ("bs", "n", "m", "tasks") else row[k] for k in KEY))
                line = cells.setdefault(cell, {}).setdefault(
                    row["solver"], {k: [] for k in NUMBERS + ["error", "note"]} | {"processes": 0}
                )
                for k in NUMBERS + ["error"]:
                    line[k].append(float(row[k]))
                line["note"] = row["note"]
                line["processes"] += int(row.get("processes") or 1)
    for lines in cells.values():
        for line in lines.values():
            for k in NUMBERS:
                line[k] = median(line[k])
            line["error"] = max((e for e in line["error"] if not math.isnan(e)), default=math.nan)
            line["best"] = min((t for t in (line["ms"], line["graph_ms"]) if not math.isnan(t)), default=math.nan)
            line["wrong"] = line["error"] > WRONG
            line["copy"] = (
                1e-6 * line["bytes"] / (line["best"] * line["copy_gbs"])
                if line["bytes"] > 0 and line["copy_gbs"] > 0
                else math.nan
            )
    return cells


def is_ours(solver):
    return solver.startswith("ours")


def best(lines, wanted):
    """The least time of the lines that are wanted, and who has it"""
    there = [
        (line["best"], solver)
        for solver, line in lines.items()
        if wanted(solver) and not math.isnan(line["best"]) and not line["wrong"]
    ]
    return min(there) if there else (math.nan, "")


def peer(cells, cell):
    """The best peer of a cell, in the better layout: the time, and who"""
    there = []
    for layout in ("cols", "rows"):
        time, who = best(cells.get(cell._replace(layout=layout), {}), lambda s: not is_ours(s))
        if who:
            there.append((time, who + (", " + layout if layout != cell.layout else "")))
    return min(there) if there else (math.nan, "")


def column(cells, cell, wanted):
    """Time of a pair of solves of m columns by functions of cuSPARSE: of all columns at once, or of one m times"""
    there = []
    for m in {cell.m, 1}:
        time, who = best(cells.get(cell._replace(m=m), {}), wanted)
        if who:
            there.append((time * (cell.m / m), who))
    return min(there) if there else (math.nan, "")


def number(value, width, digits):
    return " " + ("-".rjust(width) if math.isnan(value) else f"{value:{width}.{digits}f}")


def print_cells(cells):
    title = None
    for cell, lines in cells.items():
        if cell.part == "split":
            continue
        if title != (cell.part, cell.place):
            title = (cell.part, cell.place)
            print(f"\n{cell.part}, {cell.place}")
            print(f"  {'':63} {'calls':>10} {'graph':>10} {'copy':>6} {'peer/ours':>9} {'error':>8}")
        time, who = peer(cells, cell)
        for solver, line in lines.items():
            ratio = time / line["best"] if is_ours(solver) else math.nan
            print(
                f"  {cell.op:11} {cell.precision} {cell.layout} bs {cell.bs:2} n {cell.n:7} m {cell.m:2} tasks"
                f" {cell.tasks:2} {solver:20}"
                + number(line["ms"], 10, 4)
                + number(line["graph_ms"], 10, 4)
                + number(line["copy"], 6, 3)
                + number(ratio, 9, 2)
                + number(line["error"], 8, 2)
                + (f"  {who}" if is_ours(solver) and not math.isnan(ratio) else "")
                + ("  " + line["note"] if line["note"] else "")
                + ("  WRONG" if line["wrong"] else "")
            )


class Bar:
    """A bar over cells: how many meet it, and those that do not"""

    def __init__(self, text):
        self.text, self.met, self.missed = text, 0, []

    def cell(self, cell, value, ok):
        if math.isnan(value):
            return
        if ok:
            self.met += 1
        else:
            self.missed.append((cell, value))

    def show(self):
        total = self.met + len(self.missed)
        print(
            f"  {self.text}: "
            + (
                "nothing measured"
                if not total
                else (
                    f"met in all {total} cells" if not self.missed else f"MISSED in {len(self.missed)} of {total} cells"
                )
            )
        )
        for cell, value in self.missed:
            print(
                f"      {value:.4g}: {cell.op} {cell.precision} {cell.layout} bs {cell.bs} n {cell.n} m {cell.m} tasks"
                f" {cell.tasks}"
            )


def ratio(time, mine):
    return time / mine if mine else math.nan


def print_bars(cells):
    share, small, cublas = (
        Bar("dot and axpy, m = 4, 8, 16: share of a copy at 64 MB and more, at least 0.85"),
        Bar("dot and axpy, m = 4, 8, 16, n = 65536: us, at most 8"),
        Bar("dot and axpy, m = 4, 8, 16: time of cuBLAS, the better layout, over ours, at least 1"),
    )
    spmm, ahead = Bar(
        "sparse products, bs and m = 4, 8, 16, and m = 1: share of a copy at BSR's bytes, at least 0.75"
    ), Bar("sparse products: time of cuSPARSE, the better format, over ours, more than 1")
    factor, factor16, solve, many = (
        Bar("block ILU(0), 64000 block rows, bs 4 and 8: time of bsrilu02 over ours, at least 3"),
        Bar("block ILU(0), 64000 block rows, bs 16: time of bsrilu02 over ours, at least 10"),
        Bar("solves, 64000 block rows: time of a pair of bsrsv2 (of m pairs, or bsrsm2) over ours, at least 3"),
        Bar("30 factorizations of 1000 block rows at once: time of cuSPARSE task by task over ours, at least 8"),
    )
    streams = Bar("tasks at once: time of ours one by one, a stream each, over one launch's, at least 1")
    wrong = []
    for cell, lines in cells.items():
        if cell.place != "cuda" or "ours" not in lines:
            continue
        mine = lines["ours"]
        if mine["wrong"]:
            wrong.append((cell, mine["error"]))
        if cell.part == "tall" and cell.m in (4, 8, 16):
            if mine["bytes"] >= 64e6:
                share.cell(cell, mine["copy"], mine["copy"] >= 0.85)
            if cell.n == 65536:
                small.cell(cell, 1e3 * mine["best"], 1e3 * mine["best"] <= 8.0)
            r = ratio(peer(cells, cell)[0], mine["best"])
            cublas.cell(cell, r, r >= 1.0)
        if cell.part == "mult" and cell.op == "mult":
            spmm.cell(cell, mine["copy"], mine["copy"] >= 0.75)
            r = ratio(peer(cells, cell)[0], mine["best"])
            ahead.cell(cell, r, r > 1.0)
        if cell.part == "ilu" and cell.n == 64000 and cell.op == "factor":
            r, bar, least = (
                ratio(peer(cells, cell)[0], mine["best"]),
                factor16 if cell.bs == 16 else factor,
                10.0 if cell.bs == 16 else 3.0,
            )
            bar.cell(cell, r, r >= least)
        if cell.part == "ilu" and cell.n == 64000 and cell.op == "solve":
            r = ratio(column(cells, cell, lambda s: not is_ours(s))[0], mine["best"])
            solve.cell(cell, r, r >= 3.0)
        if cell.part == "tasks" and "ours on streams" in lines:
            r = ratio(lines["ours on streams"]["best"], mine["best"])
            streams.cell(cell, r, r >= 1.0)
        if cell.part == "tasks" and cell.op == "factor" and cell.tasks == 30:
            r = ratio(best(lines, lambda s: not is_ours(s) and "streams" not in s)[0], mine["best"])
            many.cell(cell, r, r >= 8.0)
    print("\nBars, on CUDA")
    for bar in (share, small, cublas, spmm, ahead, factor, factor16, solve, many, streams):
        bar.show()
    for cell, error in wrong:
        print(f"  WRONG by {error:.2g} units of rounding: {cell}")


def print_tasks(cells):
    """Time of a batch over that of its tasks one by one, as the figures of the paper show it"""
    rows = sorted(
        {
            (c.op, c.precision, c.bs, c.m, c.place, c.n)
            for c in cells
            if c.part == "tasks" and c.op in ("dot", "axpy", "mixed", "factor", "solve")
        }
    )
    if not rows:
        return
    counts = sorted({c.tasks for c in cells if c.part == "tasks"})
    print(
        "\nMany tasks at once: ms of ours"
        + "; then of the best other way (streams, batches, one by one)\n"
        + " " * 45
        + "".join(f"{n:>10}" for n in counts)
    )
    for op, precision, bs, m, place, n in rows:
        for other in (False, True):
            text = ""
            for count in counts:
                lines = cells.get(Cell("tasks", op, place, precision, "cols", bs, n, m, count), {})
                text += number(best(lines, lambda s: (s != "ours") if other else (s == "ours"))[0], 9, 4)
            if text.replace("-", "").strip():
                print(
                    f"  {place:4} {op:7} {precision} bs {bs:2} m {m:2} n {n:6} {'others' if other else 'ours':8}" + text
                )


def print_split(cells):
    rows = {}
    for cell, lines in cells.items():
        if cell.part == "split":
            rows[cell] = {int(solver.split()[0]): line["ms"] for solver, line in lines.items()}
    if rows:
        print("\nTasks split between device and one core: ms by the number of tasks on the host")
    for cell, times in rows.items():
        alone, (shortest, share) = times[0], min((t, s) for s, t in times.items())
        print(
            f"  {cell.op:5} bs {cell.bs:2} m {cell.m:2} of {cell.tasks}: "
            + ", ".join(f"{s}: {t:.4f}" for s, t in sorted(times.items()))
            + (f"; useful, {alone / shortest:.2f} times with {share}" if shortest < 0.95 * alone else "; useless")
        )


def print_core(cells):
    """What one core of the host takes over what the device takes, ours on both"""
    rows = [
        (cell, lines["ours"]["best"], cells[cell._replace(place="host")]["ours"]["best"])
        for cell, lines in cells.items()
        if cell.place == "cuda" and "ours" in lines and "ours" in cells.get(cell._replace(place="host"), {})
    ]
    if rows:
        print("\nOne core of the host beside the device, ours on both: ms, and times as long")
    for cell, device, host in rows:
        print(
            f"  {cell.part:5} {cell.op:11} {cell.precision} {cell.layout} bs {cell.bs:2} n {cell.n:7} m {cell.m:2}"
            f" tasks {cell.tasks:2}"
            + number(device, 10, 4)
            + number(host, 10, 3)
            + number(host / device, 8, 1)
        )


def print_sorted(cells):
    for cell, lines in cells.items():
        other = cells.get(cell._replace(op="rows sorted"), {})
        if cell.part == "mult" and cell.op == "rows" and "ours" in lines and "ours" in other:
            print(
                f"  rows of very different lengths, {cell.place}, m {cell.m}: {lines['ours']['best']:.4f} ms, sorted by"
                f" length {other['ours']['best']:.4f}: {lines['ours']['best'] / other['ours']['best']:.2f} times as"
                " fast"
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("-csv")
    parser.add_argument("-bars", action="store_true")
    args = parser.parse_args()
    cells = read(args.files)
    if not args.bars:
        print_cells(cells)
        print_tasks(cells)
        print_split(cells)
        print_core(cells)
        print()
        print_sorted(cells)
    print_bars(cells)
    if args.csv:
        with open(args.csv, "w", newline="") as f:
            w = csv.writer(f, lineterminator="\n")
            w.writerow(
                [
                    "part",
                    "op",
                    "solver",
                    "place",
                    "precision",
                    "layout",
                    "bs",
                    "n",
                    "m",
                    "tasks",
                    *NUMBERS,
                    "error",
                    "processes",
                    "note",
                ]
            )
            for cell, lines in cells.items():
                for solver, line in lines.items():
                    w.writerow(
                        [
                            cell.part,
                            cell.op,
                            solver,
                            cell.place,
                            cell.precision,
                            cell.layout,
                            cell.bs,
                            cell.n,
                            cell.m,
                            cell.tasks,
                            *(f"{line[k]:.6e}" for k in NUMBERS),
                            f"{line['error']:.3g}",
                            line["processes"],
                            line["note"],
                        ]
                    )


if __name__ == "__main__":
    main()
