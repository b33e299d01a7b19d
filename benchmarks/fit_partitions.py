#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Fit the constants of src/kernels/band/cuda/partitions.c to times that benchmarks/partitions measured.

usage: benchmarks/partitions -mat_type aijcusparse -calibrate -csv sweep.csv
       benchmarks/fit_partitions.py sweep.csv [more.csv]

Prints the table of constants to be pasted, one line for each half-bandwidth measured in double precision at dominance
1, then for each case of all files the number of partitions that the model with these constants chooses among those
measured, and what it costs above the best of them. Needs NumPy and SciPy."""

import argparse
import csv
import functools
import math
import sys

try:
    import numpy as np
    from scipy.optimize import nnls
except ImportError as error:
    sys.exit("fit_partitions: %s: pip install scipy (in a virtual environment)" % error)

NAMES = ["fixed", "bytes", "latency", "share", "interface", "windows"]
SOLVES = 3  # of a setup, as in SpikePartitionsChoose()
APPLIES = 2.25 * SOLVES


def read(names):
    """Rows of the files, apart by (n, k, d, precision, multiprocessors)."""
    cases = {}
    for name in names:
        with open(name) as f:
            for r in csv.DictReader(f):
                if None in r.values():
                    continue  # cut short
                key = (int(r["n"]), int(r["k"]), float(r["d"]), r["precision"].lower(), int(r["multiprocessors"]))
                cases.setdefault(key, []).append((int(r["partitions"]), float(r["setup_ms"]), float(r["apply_ms"])))
    return cases


def shape(n, k, p):
    """Rows of a tile, tile rows of a partition and groups of partitions, as in the model."""
    tiles = (k + 31) // 32
    t = (k + tiles - 1) // tiles
    g = 1
    if t <= 16:
        for c in range(2, 32 // t + 1):
            if 10 * (-(-p // c)) * c <= 11 * p:
                g = c
    return t, -(-(-(-n // p)) // t), -(-p // g)


@functools.lru_cache(maxsize=None)
def reach(k, d):
    """Rows over which the spikes of a random band fall to 1e-8, as PCSpikeExpectFalloff_Private() expects."""
    a = np.random.default_rng(0).uniform(-1.0, 1.0, (4096, 2, k))
    diagonal = d * np.abs(a).sum(axis=(1, 2))
    l, u = (np.maximum(np.sqrt((a[:, i] ** 2).sum(axis=1)), np.abs(a[:, i].sum(axis=1))) / diagonal for i in (0, 1))
    fall = np.log(np.minimum(1.0, 2 * np.maximum(l, u) / (1 + np.sqrt(np.maximum(0.0, 1 - 4 * l * u)))))
    return 18.4 * k / max(-fall.mean(), 1 / max(k, 16))


def terms(n, k, d, precision, sm, p):
    """What multiplies the constants: ms, ns per kB (that is TB/s), us, us, us, ns per kB."""
    t, steps, groups = shape(n, k, p)
    band = n * (2 * k + 1) * (8 if precision == "double" else 4) * 1e-9
    windows = band * min(1.0, 2 * reach(k, d) * p / n) if p > 1 else 0.0
    return [1.0, band, steps * 1e-3, steps * (-(-groups // sm) - 1) * 1e-3, max(1.0, p / sm) * 1e-3, windows]


def fit(cases, k, column, before):
    """Constants of one half-bandwidth: least squares of the relative error, most weight where a setup and its applies
    are near their least.

    Where all numbers of partitions measured are too few to show what a share or an interface costs, they come from the
    half-bandwidth before, growing as its square and its cube."""
    a, b = [], []
    for (n, kk, d, precision, sm), rows in cases.items():
        if kk != k or d != 1.0 or precision != "double":
            continue
        best = min(r[1] + APPLIES * r[2] for r in rows)
        for r in rows:
            w = (best / (r[1] + APPLIES * r[2])) ** 4 / r[column]
            x = terms(n, k, d, precision, sm, r[0])
            if column == 1:
                x[5] = 0.0  # what tips read again shows as cost of the interfaces
            a.append([w * y for y in x])
            b.append(w * r[column])
    if before is not None:
        for j, power in ((3, 2), (4, 3)):
            guess = before[1][j] * (k / before[0]) ** power
            if guess > 0:
                a.append([0.02 / guess if i == j else 0.0 for i in range(len(NAMES))])
                b.append(0.02)
    return nnls(np.array(a), np.array(b))[0]


def fits(cases):
    """Constants of setup and apply for each half-bandwidth measured."""
    table, before = {}, None
    for k in sorted({c[1] for c in cases if c[2] == 1.0 and c[3] == "double"}):
        table[k] = tuple(
            fit(cases, k, column, (before, table[before][column - 1]) if k > 32 and before else None)
            for column in (1, 2)
        )
        before = k
    return table


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("csv", nargs="+")
    args = parser.parse_args()
    cases = read(args.csv)
    table = fits(cases)
    print("  /* K     setup: %s      apply: the same */" % ", ".join(NAMES))
    for k, both in table.items():
        print(
            "  {%d, {%s}, {%s}}," % (k, ", ".join("%.4g" % c for c in both[0]), ", ".join("%.4g" % c for c in both[1]))
        )
    print(
        "\n%8s %4s %4s %-7s %8s %8s %9s %9s %10s"
        % ("N", "K", "d", "", "chosen", "best", "loss, %", "apply, %", "model, %")
    )
    for (n, k, d, precision, sm), rows in cases.items():
        if k not in table:
            continue

        def model(p):
            x = terms(n, k, d, precision, sm, p)
            return [sum(c * y for c, y in zip(constants, x)) for constants in table[k]]

        chosen = min(rows, key=lambda r: model(r[0])[0] + APPLIES * model(r[0])[1])
        best = min(rows, key=lambda r: r[1] + r[2])
        error = max(abs(sum(model(r[0])) / (r[1] + r[2]) - 1) for r in rows if r[1] + r[2] < 2 * (best[1] + best[2]))
        print(
            "%8d %4d %4g %-7s %8d %8d %9.1f %9.1f %10.0f"
            % (
                n,
                k,
                d,
                precision,
                chosen[0],
                best[0],
                100 * ((chosen[1] + chosen[2]) / (best[1] + best[2]) - 1),
                100 * (chosen[2] / min(r[2] for r in rows) - 1),
                100 * error,
            )
        )


if __name__ == "__main__":
    main()
