# SPDX-License-Identifier: BSD-2-Clause
"""Tables and figures of benchmarks, from the records in benchmarks/results. Needs matplotlib.

A figure is a function that reads a record, draws, and returns the rows of its table. FIGURES lists them, in the order
of the page.
"""
from __future__ import annotations

import collections
import csv
import pathlib
import re
import subprocess
import sys

SOLVERS = {"cuda": "petscspike", "cusparse": "best of cuSPARSE", "lapack": "LAPACK, 1 or 16 cores"}
RESULTS = pathlib.Path("benchmarks/results")


def read_csv(root: pathlib.Path, name: str) -> list[dict[str, str]]:
    with open(root / RESULTS / name, newline="", encoding="utf-8") as f:
        return list(csv.DictReader(f))


def lines_against(axes, table: dict[str, dict[float, float]], x: str, y: str) -> list[list[str]]:
    """Curves {name: {x: y}}, and their values as a table."""
    for name, curve in table.items():
        axes.plot(list(curve), list(curve.values()), "o-", markersize=4, label=name)
    places = sorted({v for curve in table.values() for v in curve})
    axes.set_xscale("log")
    axes.set_xticks(places, [f"{v:g}" for v in places])
    axes.minorticks_off()
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_ylim(bottom=0)
    axes.axhline(1.0, color="black", linewidth=0.8)
    axes.grid(True, alpha=0.3)
    axes.legend(fontsize=8)
    rows = [[x] + [f"{v:g}" for v in places]]
    for name, curve in table.items():
        rows.append([name] + [f"{curve[v]:.3g}" if v in curve else "" for v in places])
    return rows


def bars(axes, table: dict[str, dict[str, float]], x: str, y: str, one: bool = True) -> list[list[str]]:
    """Groups of bars {name: {case: value}}, and their values as a table; one: with a line at 1."""
    cases = list(dict.fromkeys(c for values in table.values() for c in values))
    width = 0.8 / len(table)
    for i, (name, values) in enumerate(table.items()):
        places = [c + width * (i - (len(table) - 1) / 2) for c in range(len(cases))]
        axes.bar(places, [values.get(c, 0) for c in cases], 0.9 * width, label=name)
    axes.set_xticks(range(len(cases)), cases, fontsize=8)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    if one:
        axes.axhline(1.0, color="black", linewidth=0.8)
    if len(table) > 1:
        axes.legend(fontsize=8)
    rows = [[x or y] + cases]
    return rows + [[name] + [f"{v[c]:.3g}" if c in v else "" for c in cases] for name, v in table.items()]


def numbers(line: str) -> list[float]:
    """The numbers of a line of a record, if it has nothing else."""
    try:
        return [float(w) for w in line.replace("|", " ").split()]
    except ValueError:
        return []


def records(root: pathlib.Path, name: str, end: str = "") -> list[str]:
    """Lines of a record, up to a text if one is given."""
    text = (root / RESULTS / name).read_text(encoding="utf-8")
    return (text.partition(end)[0] if end else text).split("\n")


def krylov(root: pathlib.Path, axes) -> list[list[str]]:
    """Iterations of the fused Krylov methods on a GPU."""
    text = (root / RESULTS / "krylov.txt").read_text(encoding="utf-8").partition("# Host:")[0]
    table: dict[str, dict[float, float]] = {}
    row = r"^ *(\d+) +(7|27) none +(bcgsfused|cgfused) +[\d.]+ +[\d.]+ +([\d.]+) .*DIA"
    for m in re.finditer(row, text, re.MULTILINE):
        n, points, method, ratio = m.groups()
        table.setdefault(f"{method}, {points} points", {}).setdefault(float(n), float(ratio))
    return lines_against(axes, table, "n, of n^3 points", "times as fast as bcgs, cg")


def exact(root: pathlib.Path, axes) -> list[list[str]]:
    """PCSPIKE as a direct solver beside cuDSS."""
    table: dict[str, dict[float, float]] = {}
    for line in (root / RESULTS / "exact-cuda.txt").read_text(encoding="utf-8").split("\n"):
        x = line.split()
        if len(x) == 16 and x[0] == "200000":
            table.setdefault(f"dominance {x[2]}", {}).setdefault(float(x[1]), float(x[13]))
    return lines_against(axes, table, "half-bandwidth K", "times as fast as cuDSS")


def band(root: pathlib.Path, axes) -> list[list[str]]:
    """Band kernels on one core of a CPU beside LAPACK."""
    table: dict[str, dict[float, float]] = {}
    for r in read_csv(root, "band-1.csv"):
        table.setdefault(r["operation"], {})[float(r["k"])] = float(r["ratio_median"])
    return lines_against(axes, table, "half-bandwidth K", "times as fast as LAPACK")


def power(text: str) -> str:
    """A large power of two as one."""
    n = int(text)
    return f"2^{n.bit_length() - 1}" if n > 1024 and n & (n - 1) == 0 else text


def tridiagonal(root: pathlib.Path, axes) -> list[list[str]]:
    """Tridiagonal systems on a GPU beside cuSPARSE and LAPACK."""
    best: dict[str, dict[str, float]] = collections.defaultdict(dict)
    for r in read_csv(root, "tridiagonal-cuda.csv"):
        if r["precision"] != "fp64" or r["once_ms"] == "nan":
            continue
        ranks = {"lapack": ("1", "16"), "cuda": ("1",), "cusparse": ("1",)}.get(r["backend"], ())
        wanted = r["backend"] != "lapack" or r["solver"] == "LAPACK"
        if r["ranks"] in ranks and wanted and (r["backend"] != "cuda" or r["solver"] == "auto"):
            name = SOLVERS[r["backend"]]
            case = f"{power(r['systems'])} x {power(r['rows'])}"
            best[name][case] = min(best[name].get(case, float("inf")), float(r["once_ms"]))
    cases = sorted(best["petscspike"], key=best["petscspike"].get)
    for i, (name, values) in enumerate(best.items()):
        axes.bar([c + 0.27 * (i - 1) for c in range(len(cases))], [values.get(c, 0) for c in cases], 0.25, label=name)
    axes.set_yscale("log")
    axes.set_xticks(range(len(cases)), cases, fontsize=8)
    axes.set_xlabel("systems x rows")
    axes.set_ylabel("ms, factor and solve")
    axes.legend(fontsize=8)
    rows = [["systems x rows"] + cases]
    return rows + [[name] + [f"{v[c]:.3g}" if c in v else "" for c in cases] for name, v in best.items()]


def blocks(root: pathlib.Path, axes) -> list[list[str]]:
    """Block ILU(0) on a GPU beside cuSPARSE."""
    ms: dict[tuple[str, str, str], float] = {}
    for r in read_csv(root, "blocks-cuda.csv"):
        if r["part"] == "ilu" and r["precision"] == "fp64" and r["place"] == "cuda" and float(r["ms"]) > 0:
            key = (r["op"], r["bs"], "ours" if r["solver"] == "ours" else "cuSPARSE" * r["solver"].startswith("bsr"))
            ms[key] = min(ms.get(key, float("inf")), float(r["ms"]))
    operations = [o for o in dict.fromkeys(k[0] for k in ms) if any(k[0] == o and k[2] == "cuSPARSE" for k in ms)]
    operations = [o for o in operations if any(k[0] == o and k[2] == "ours" for k in ms)]
    sizes = sorted({k[1] for k in ms}, key=int)
    rows = [["block size"] + sizes]
    for i, o in enumerate(operations):
        ratio = [ms[o, s, "cuSPARSE"] / ms[o, s, "ours"] for s in sizes]
        axes.bar([x + 0.8 / len(operations) * i for x in range(len(sizes))], ratio, 0.7 / len(operations), label=o)
        rows.append([o] + [f"{x:.3g}" for x in ratio])
    axes.set_xticks([x + 0.4 for x in range(len(sizes))], sizes)
    axes.axhline(1.0, color="black", linewidth=0.8)
    axes.set_xlabel("rows of a block")
    axes.set_ylabel("times as fast as cuSPARSE")
    axes.legend(fontsize=8)
    return rows


def batch(root: pathlib.Path, axes) -> list[list[str]]:
    """Batches of narrow bands beside one band of all of them."""
    table: dict[str, dict[str, float]] = {"setup with new values": {}, "application": {}}
    for line in records(root, "batch-cuda.txt", "# -pc_spike_batch_type always"):
        x = numbers(line)
        if len(x) != 14 or x[0] * x[1] < 131072 or x[2] > 16 or x[7] != x[7]:  # wider ones are no batch
            continue
        case = f"{x[0]:.0f} x {x[1]:.0f}, K = {x[2]:.0f}"
        table["setup with new values"][case] = x[7] / x[4]
        table["application"][case] = x[8] / x[5]
    rows = bars(axes, table, "systems x rows", "times as fast as one band")
    labels = [c.replace(" x ", "\nx ").replace(", ", ",\n") for c in rows[0][1:]]
    axes.set_xticks(range(len(labels)), labels, fontsize=7)
    return rows


def border(root: pathlib.Path, axes) -> list[list[str]]:
    """A band with a full row and column beside the band alone."""
    table: dict[str, dict[str, float]] = {}
    for line in records(root, "border-cuda.txt"):
        x = numbers(line)
        if len(x) == 11:
            values = {"first setup": x[5], "setup with new values": x[7], "application": x[9]}
            table[f"{x[0]:.0f} rows, K = {x[1]:.0f}"] = values
    return bars(axes, table, "", "time over that of the band")


def cholesky(root: pathlib.Path, axes) -> list[list[str]]:
    """Cholesky on a GPU beside LU."""
    table: dict[str, dict[float, float]] = {}
    for line in records(root, "cholesky-cuda.txt"):
        x = numbers(line)
        if len(x) == 16:
            for name, at in (("setup", 4), ("factorization", 8), ("application", 14)):
                table.setdefault(name, {}).setdefault(x[1], x[at])
    return lines_against(axes, table, "half-bandwidth K", "time over that of LU")


def pivoting(root: pathlib.Path, axes) -> list[list[str]]:
    """Row exchanges on a GPU beside plain LU."""
    table: dict[str, dict[float, float]] = {}
    for line in records(root, "pivoting-cuda.txt", "# The same before"):
        x = numbers(line)
        if len(x) == 16 and x[0] == 200000:
            for name, at in (("setup", 4), ("factorization", 8), ("application", 14)):
                table.setdefault(name, {})[x[1]] = x[at]
    return lines_against(axes, table, "half-bandwidth K", "time over that of LU")


def firstsetup(root: pathlib.Path, axes) -> list[list[str]]:
    """First setups beside setups with new values."""
    table: dict[str, dict[str, float]] = {}
    for name, record in (("one core", "firstsetup.txt"), ("NVIDIA H200", "firstsetup-cuda.txt")):
        for line in records(root, record, "# the same before"):
            x = numbers(line)
            if len(x) == 8:
                table.setdefault(name, {})[f"N = {x[0]:.0f}, K = {x[1]:.0f}"] = x[7]
    rows = bars(axes, table, "rows, half-bandwidth", "time over that with new values")
    axes.set_xticks(range(len(rows[0]) - 1), [c.replace(", ", ",\n") for c in rows[0][1:]], fontsize=7)
    return rows


def precision(root: pathlib.Path, axes) -> list[list[str]]:
    """Krylov methods whose products read values with fewer digits."""
    table: dict[str, dict[str, float]] = {}
    row = r"^ *200 +27 none +(\w+) +(double|single|bf16) +\d+ +[\d.]+ +[\d.]+ +([\d.]+) "
    for m in re.finditer(row, "\n".join(records(root, "precision-cuda.txt")), re.MULTILINE):
        table.setdefault(m.group(2), {})[m.group(1)] = float(m.group(3))
    return bars(axes, table, "method", "time over that in double precision")


def gbcg(root: pathlib.Path, axes) -> list[list[str]]:
    """Products and iterations of CG with matrices by diagonals and stencils."""
    table: dict[str, dict[str, float]] = {}
    row = r"^200x200x200 +(7|27) (product|cgfused) +(sellcuda|diacuda|gridstencilcuda|the same, per point)"
    row += r" +[\d.]+ +([\d.]+)"
    for m in re.finditer(row, "\n".join(records(root, "gbcg-cuda.txt")), re.MULTILINE):
        points, what, kind, ratio = m.groups()
        kind = "a coefficient for each point" if kind.startswith("the same") else kind
        case = f"{what}, {points} points"
        table.setdefault(kind, {}).setdefault(case, float(ratio))
    rows = bars(axes, table, "", "times as fast as aijcusparse")
    axes.set_yscale("log")
    return rows


FIGURES = [  # function, records, text
    (exact, "exact-cuda.txt", "Band of 200000 rows, one NVIDIA H200: setup with new values, and one solve."),
    (krylov, "krylov.txt", "Poisson problem, `aijcusparse`, no preconditioner, one NVIDIA H200."),
    (tridiagonal, "tridiagonal-cuda.csv", "Factor and solve, double precision, one NVIDIA H200; the best of several."),
    (blocks, "blocks-cuda.csv", "Double precision, 64000 block rows, one NVIDIA H200."),
    (band, "band-1.csv", "200000 rows, one core with AVX-512. LAPACK exchanges rows, petscspike does not."),
    (batch, "batch-cuda.txt", "One NVIDIA H200. One band: the same systems with `-pc_spike_batch_type never`."),
    (border, "border-cuda.txt", "One NVIDIA H200."),
    (cholesky, "cholesky-cuda.txt", "400000 rows, d = 1, one NVIDIA H200. Kernels of Cholesky from K = 33 on."),
    (pivoting, "pivoting-cuda.txt", "200000 rows, d = 1, truncated spikes, one NVIDIA H100."),
    (firstsetup, "firstsetup-cuda.txt", "A new PC in a process that has had others. On one core: `firstsetup.txt`."),
    (precision, "precision-cuda.txt", "Laplacian of 27 points on 200^3, by diagonals, one NVIDIA H200."),
    (gbcg, "gbcg-cuda.txt", "Grid of 200^3 points, one NVIDIA H200; iterations beside PETSc's `cg`."),
]
PROGRAMS = [  # title, program, record, text
    ("Phases of PCSPIKE on a GPU", "plot_phases.py", "phases.csv", "Times against N and K, and what they consist of."),
    ("Real matrices", "plot_survey.py", "robustness.csv", "Outcome and time of each method; the best has a frame."),
]


def page(root: pathlib.Path, folder: pathlib.Path) -> str:
    """The page of all figures; pictures go to folder."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "petscspike"
    import matplotlib.pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    lines = ["# Figures", "", "Made from the records by a program: `tools/docpages/figures.py`.", ""]
    for function, record, text in FIGURES:
        figure, axes = plt.subplots(figsize=(6.4, 3.6))
        rows = function(root, axes)
        if len(rows) < 2 or not all(any(r[1:]) for r in rows[1:]):
            raise SystemExit(f"figures: {RESULTS / record} has no values for {function.__name__}")
        figure.tight_layout()
        figure.savefig(folder / f"{function.__name__}.svg", metadata={"Date": None})
        plt.close(figure)
        title = (function.__doc__ or "").rstrip(".")
        lines += [f"## {title}", "", f"{text} Record: `{record}`.", ""]
        lines += [f"![{title}](../figures/{function.__name__}.svg)", ""]
        lines += ["| " + " | ".join(rows[0]) + " |", "|---|" + "---:|" * (len(rows[0]) - 1)]
        lines += ["| " + " | ".join(r) + " |" for r in rows[1:]] + [""]
    for title, program, record, text in PROGRAMS:
        picture = folder / (record.rpartition(".")[0] + ".png")
        command = [sys.executable, str(root / "benchmarks" / program), str(root / RESULTS / record), str(picture)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        lines += [f"## {title}", "", f"{text} Record: `{record}`.", "", f"![{title}](../figures/{picture.name})", ""]
    return "\n".join(lines)
