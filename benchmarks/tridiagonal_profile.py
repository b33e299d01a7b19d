#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""tridiagonal_profile.py LABELS.csv COUNTERS.csv [-all]: where the time of each tridiagonal algorithm goes, from Nsight
Compute:

  ncu --clock-control none --profile-from-start off --print-units base --csv --page raw --log-file COUNTERS.csv
      --section SpeedOfLight --section SchedulerStats --section WarpStateStats --section ComputeWorkloadAnalysis
      --section MemoryWorkloadAnalysis_Tables
      benchmarks/tridiagonal -profile LABELS.csv -systems 512,65536 -rows 512,512

A line for each algorithm and setup, apply or both in one call; sums over its kernels, shares weighted by their
durations:

  us        duration of the kernels, one after the other, with cold caches
  GB/s      DRAM, both ways
  wavefr.   wavefronts of shared memory, in thousands; conflicts: the part of them that bank conflicts add
  pipe      use of the pipe of this precision, of its peak; issue: cycles in which a scheduler issued an instruction
  what the warps wait for between two of their instructions, in parts of that time:
    global    global memory (long scoreboard, LG throttle, drain)
    shared    shared memory (short scoreboard, MIO throttle)
    arith.    arithmetic (fixed latencies, math pipe, dispatch)
    control   barriers, branches, instruction fetch, membar, sleep
    ready     nothing (the instruction itself, or another warp came first)

-all: a line for each kernel too."""

import argparse
import csv
import math
import re

STALLED = re.compile(r"smsp__average_warps_issue_stalled_(\w+?)_per_issue_active\.ratio$")
WAITS = {
    "global": ("long_scoreboard", "lg_throttle", "drain", "tex_throttle"),
    "shared": ("short_scoreboard", "mio_throttle"),
    "arith.": ("wait", "math_pipe_throttle", "dispatch_stall", "imc_miss", "gmma"),
    "control": (
        "barrier",
        "branch_resolving",
        "no_instruction",
        "no_instructions",
        "membar",
        "sleeping",
        "warpgroup_arrive",
    ),
    "ready": ("selected", "not_selected"),
}


def value(text):
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return math.nan


def counters(name):
    """A dictionary for each kernel, in the order of the launches: what ncu writes before the table and the line of
    units are left out"""
    with open(name, newline="") as f:
        rows = list(csv.DictReader(line for line in f if line.startswith('"')))
    return [r for r in rows if r["ID"].strip()]


def pick(row, pattern, how=max):
    """Of the columns that match; NAN where there is none"""
    found = [value(v) for k, v in row.items() if k and v and re.search(pattern, k)]
    found = [v for v in found if not math.isnan(v)]
    return how(found) if found else math.nan


def kernel(row, double):
    """Numbers of one kernel"""
    waits, other = dict.fromkeys(WAITS, 0.0), 0.0
    for name, text in row.items():
        m = STALLED.match(name or "")
        if not m or math.isnan(value(text)) or m.group(1).endswith("_not_issued"):
            continue
        group = next((g for g, members in WAITS.items() if m.group(1) in members), None)
        if group:
            waits[group] += value(text)
        else:
            other += value(text)
    total = sum(waits.values()) + other
    duration = pick(row, r"^gpu__time_duration\.sum$")
    wavefronts = pick(row, r"^l1tex__data_pipe_lsu_wavefronts_mem_shared\.sum$")
    if math.isnan(wavefronts):
        wavefronts = pick(row, r"^l1tex__data_pipe_lsu_wavefronts_mem_shared_op_(ld|st|atom|red)\.sum$", sum)
    conflicts = pick(row, r"^l1tex__data_bank_conflicts_pipe_lsu_mem_shared\.sum$")
    if math.isnan(conflicts):
        conflicts = pick(row, r"^l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_(ld|st|atom|red)\.sum$", sum)
    issue = pick(row, r"^smsp__issue_active\.avg\.per_cycle_active$")
    return {
        "us": duration / 1e3,
        "bytes": pick(row, r"^dram__bytes_(read|write)\.sum$", sum),
        "wavefronts": wavefronts,
        "conflicts": conflicts,
        "pipe": pick(
            row,
            (
                r"^sm__pipe_fp64_cycles_active\.avg\.pct_of_peak_sustained_elapsed$"
                if double
                else r"^sm__pipe_fma_cycles_active\.avg\.pct_of_peak_sustained_elapsed$"
            ),
        ),
        "issue": 100.0 * issue,
        **{g: 100.0 * w / total if total else math.nan for g, w in waits.items()},
    }


def combine(kernels):
    """Sums, and averages by duration"""
    line = {k: sum(e[k] for e in kernels) for k in ("us", "bytes", "wavefronts", "conflicts")}
    for k in ("pipe", "issue", *WAITS):
        line[k] = sum(e[k] * e["us"] for e in kernels) / line["us"] if line["us"] else math.nan
    return line


def cell(v, width, digits):
    return " " + ("-".rjust(width) if math.isnan(v) else f"{v:{width}.{digits}f}")


def show(name, k):
    rate = k["bytes"] / k["us"] * 1e-3 if k["us"] else math.nan
    part = 100.0 * k["conflicts"] / k["wavefronts"] if k["wavefronts"] else (0.0 if k["wavefronts"] == 0 else math.nan)
    print(
        f"  {name:34}"
        + cell(k["us"], 9, 2)
        + cell(rate, 7, 0)
        + cell(k["wavefronts"] / 1e3, 9, 0)
        + cell(part, 10, 0)
        + cell(k["pipe"], 6, 0)
        + cell(k["issue"], 6, 0)
        + "".join(cell(k[g], 8, 0) for g in WAITS)
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("labels")
    parser.add_argument("counters")
    parser.add_argument("-all", action="store_true")
    args = parser.parse_args()
    rows = counters(args.counters)
    with open(args.labels, newline="") as f:
        labels = list(csv.DictReader(f))
    expected = sum(int(label["kernels"]) for label in labels)
    if expected != len(rows):
        raise SystemExit(f"{args.labels} tells of {expected} kernels, {args.counters} of {len(rows)}")
    case = None
    for label in labels:
        if (label["systems"], label["rows"]) != case:
            case = label["systems"], label["rows"]
            print(
                f"\n{label['precision']}, {case[0]} x {case[1]}; %: conflicts of wavefronts, pipe and issue of their"
                " peaks, the five on the right of the warps' waits"
            )
            print(
                f"  {'':34} {'us':>9} {'GB/s':>7} {'wavefr.':>9} {'conflicts':>10} {'pipe':>6} {'issue':>6}"
                + "".join(f" {g:>8}" for g in WAITS)
            )
        mine, rows = rows[: int(label["kernels"])], rows[int(label["kernels"]) :]
        numbers = [kernel(r, label["precision"].endswith("64")) for r in mine]
        if numbers:
            show(f"{label['algorithm']} {label['what']}", combine(numbers))
        for r, k in zip(mine, numbers):
            if args.all:
                show("    " + re.sub(r"\(.*", "", r["Kernel Name"])[:30], k)


if __name__ == "__main__":
    main()
