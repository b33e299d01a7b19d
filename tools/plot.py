#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""plot.py compare.csv picture.png: true relative residual against time, one panel a problem, from the numbers of tutorials/compare."""

import csv
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt


def read(name):
    """{problem: {method: [(seconds, residual), ...]}} and the comment line"""
    problems, title = {}, ""
    with open(name) as f:
        lines = [line for line in f]
    title = "".join(line.lstrip("# ").strip() for line in lines if line.startswith("#"))
    for row in csv.DictReader(line for line in lines if not line.startswith("#")):
        point = float(row["seconds"]), float(row["relative_residual"])
        problems.setdefault(row["problem"], {}).setdefault(row["method"], []).append(point)
    return problems, title


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    problems, title = read(sys.argv[1])
    if not problems:
        sys.exit("plot.py: no numbers in " + sys.argv[1])
    fig, axes = plt.subplots(1, len(problems), figsize=(1.0 + 4.2 * len(problems), 4.4), squeeze=False, sharey=True)
    methods = []
    for curves in problems.values():
        methods += [m for m in curves if m not in methods]
    for ax, (problem, curves) in zip(axes[0], problems.items()):
        for method, points in curves.items():
            ours = method.startswith("spike")
            t = [1e3 * max(p[0], 0.0) for p in points]
            r = [max(p[1], 1e-17) for p in points]
            ax.semilogy(t, r, marker="o", markersize=3, linewidth=2.4 if ours else 1.2, zorder=3 if ours else 2, color="C%d" % methods.index(method), label=method)
        ax.set_xscale("log")
        ax.set_title(problem)
        ax.set_xlabel("time with setup [ms]")
        ax.grid(True, which="major", alpha=0.3)
        ax.legend(fontsize="small")
    axes[0][0].set_ylabel("|b - A x| / |b|")
    fig.suptitle(title, fontsize="small")
    fig.tight_layout()
    fig.savefig(sys.argv[2], dpi=130)


if __name__ == "__main__":
    main()
