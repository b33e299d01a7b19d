#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Draw what benchmarks/survey -csv wrote: a square for each matrix and method, by its outcome, with the time in it.

usage: benchmarks/plot_survey.py survey.csv [survey.png]

Needs matplotlib. The methods stand in the order of the file, the matrices in that of their rows; the best method of
each matrix has a frame.
"""

import csv
import sys

COLORS = {"solved": "#8fbf8f", "diverged": "#d0d0d0", "refused": "#a0b8d8", "errors": "#f0b060", "wrong": "#d04040"}


def short(seconds):
    """Three characters at most"""
    if seconds >= 0.9995:
        return "%.0fs" % seconds
    return "%.0fm" % (1e3 * seconds) if seconds >= 9.995e-4 else "%.0fu" % (1e6 * seconds)


def main():
    if sys.argv[1:2] in (["-h"], ["--help"]):
        print(__doc__)
        return
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    with open(sys.argv[1], newline="") as f:
        rows = list(csv.DictReader(f))
    methods = list(dict.fromkeys((r["ksp"], r["pc"]) for r in rows))
    size = {r["matrix"]: int(r["rows"]) for r in rows}
    matrices = sorted(size, key=lambda name: (size[name], name))
    best = {}
    for r in rows:
        if r["outcome"] == "solved":
            best[r["matrix"]] = min(best.get(r["matrix"], float("inf")), float(r["seconds"]))
    figure, axes = plt.subplots(figsize=(4 + 0.6 * len(methods), 2 + 0.2 * len(matrices)))
    for r in rows:
        x, y = methods.index((r["ksp"], r["pc"])), matrices.index(r["matrix"])
        solved = r["outcome"] == "solved"
        first = solved and float(r["seconds"]) == best[r["matrix"]]
        axes.add_patch(plt.Rectangle((x, y), 0.94, 0.9, facecolor=COLORS[r["outcome"]],
                                     edgecolor="black" if first else "none"))
        if solved:
            axes.text(x + 0.47, y + 0.45, short(float(r["seconds"])), ha="center", va="center", fontsize=6)
    axes.set_xlim(0, len(methods))
    axes.set_ylim(len(matrices), 0)
    axes.set_xticks([i + 0.47 for i in range(len(methods))])
    axes.set_xticklabels([" ".join(m) for m in methods], rotation=60, ha="left", fontsize=7)
    axes.xaxis.tick_top()
    axes.set_yticks([i + 0.45 for i in range(len(matrices))])
    axes.set_yticklabels(["%s  %d" % (m, size[m]) for m in matrices], fontsize=6)
    axes.legend([plt.Rectangle((0, 0), 1, 1, color=c) for c in COLORS.values()], list(COLORS), ncol=5, fontsize=7,
                loc="upper center", bbox_to_anchor=(0.5, 0.0))
    figure.tight_layout()
    name = sys.argv[2] if len(sys.argv) == 3 else sys.argv[1].rsplit(".", 1)[0] + ".png"
    figure.savefig(name, dpi=150)
    print(name)


if __name__ == "__main__":
    main()
