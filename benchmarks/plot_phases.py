#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Draw phases.csv of benchmarks/phases: time against N and against K beside LAPACK, and the share of each phase.

usage: benchmarks/plot_phases.py phases.csv [phases.png]

Needs matplotlib. Cases with K = 32 make the first picture, cases with the commonest N the second.
"""

import collections
import csv
import os
import sys

PHASES = [("setup_alone", ["fill", "factor", "tips", "reduced"]), ("apply_alone", ["sweep", "solvetips", "correct"])]


def times(axes, rows, column, label):
    x = [int(r[column]) for r in rows]
    for name, text, style in (
        ("setup_ms", "PCSPIKE setup", "o-"),
        ("apply_ms", "PCSPIKE apply", "s-"),
        ("lapack_factor", "LAPACK factor", "o--"),
        ("lapack_solve", "LAPACK solve", "s--"),
    ):
        y = [float(r[name]) for r in rows]
        if all(v > 0 for v in y):
            axes.loglog(x, y, style, label=text, markersize=4)
    axes.set_xlabel(label)
    axes.set_ylabel("ms")
    axes.grid(True, which="both", alpha=0.3)
    axes.legend(fontsize=8)


def shares(axes, rows, column, label):
    """Two bars a case: setup, apply; the phases alone, over the whole time with overlap."""
    for i, r in enumerate(rows):
        for side, (_, names) in enumerate(PHASES):
            whole = float(r["apply_ms" if side else "setup_ms"])
            bottom = 0.0
            for n, name in enumerate(names):
                share = float(r[name]) / whole
                axes.bar(
                    i + 0.4 * side - 0.2,
                    share,
                    0.36,
                    bottom,
                    color="C%d" % (n + 4 * side),
                    label=name if i == 0 else None,
                )
                bottom += share
    axes.axhline(1.0, color="black", linewidth=0.8)
    axes.set_xticks(range(len(rows)), [r[column] for r in rows], rotation=45, fontsize=7)
    axes.set_xlabel(label + ": setup left, apply right")
    axes.set_ylabel("phases alone / whole")
    axes.legend(fontsize=7, ncol=2)


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError as error:
        sys.exit("plot_phases: %s: pip install matplotlib (in a virtual environment)" % error)
    with open(sys.argv[1]) as f:
        rows = [r for r in csv.DictReader(f) if None not in r.values()]
    common = collections.Counter(r["n"] for r in rows).most_common(1)[0][0]
    by_n = sorted((r for r in rows if r["k"] == "32"), key=lambda r: int(r["n"]))
    by_k = sorted((r for r in rows if r["n"] == common), key=lambda r: int(r["k"]))
    figure, axes = plt.subplots(2, 2, figsize=(11, 8))
    times(axes[0][0], by_n, "n", "N, K = 32")
    times(axes[0][1], by_k, "k", "K, N = " + common)
    shares(axes[1][0], by_n, "n", "N, K = 32")
    shares(axes[1][1], by_k, "k", "K, N = " + common)
    figure.tight_layout()
    out = sys.argv[2] if len(sys.argv) > 2 else os.path.splitext(sys.argv[1])[0] + ".png"
    figure.savefig(out, dpi=120)
    print(out)


if __name__ == "__main__":
    main()
