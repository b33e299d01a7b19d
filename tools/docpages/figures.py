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


FIGURES = [  # function, records, text
    (exact, "exact-cuda.txt", "Band of 200000 rows, one NVIDIA H200: setup with new values, and one solve."),
    (krylov, "krylov.txt", "Poisson problem, `aijcusparse`, no preconditioner, one NVIDIA H200."),
    (tridiagonal, "tridiagonal-cuda.csv", "Factor and solve, double precision, one NVIDIA H200; the best of several."),
    (blocks, "blocks-cuda.csv", "Double precision, 64000 block rows, one NVIDIA H200."),
    (band, "band-1.csv", "200000 rows, one core with AVX-512. LAPACK exchanges rows, petscspike does not."),
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
