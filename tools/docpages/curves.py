# SPDX-License-Identifier: BSD-2-Clause
"""Curves of true residuals as a picture (SVG), from what -ksp_monitor_true_residual prints."""
from __future__ import annotations

import html
import math
import re

COLORS = ("#124", "#c33", "#284", "#b70", "#639", "#088")
LINE = re.compile(r"^ *(\d+) KSP .*\|\|r\(i\)\|\|/\|\|b\|\| ([-+.\deE]+|nan|inf)\s*$", re.IGNORECASE)
LEFT, TOP, WIDTH, HEIGHT = 70, 20, 500, 300


def residuals(text: str) -> list[list[tuple[int, float]]]:
    """(iteration, true relative residual) of each solve; one begins at iteration 0, the first at any."""
    solves: list[list[tuple[int, float]]] = []
    for line in text.split("\n"):
        m = LINE.match(line)
        if not m:
            continue
        if m.group(1) == "0" or not solves:
            solves.append([])
        solves[-1].append((int(m.group(1)), float(m.group(2))))
    return solves


def picture(solves: list[list[tuple[int, float]]], names: list[str]) -> str:
    """The residuals against the iterations; the axis of residuals is logarithmic."""
    if len(solves) != len(names):
        raise ValueError(f"{len(solves)} solves, {len(names)} names")
    points = [p for solve in solves for p in solve if 0.0 < p[1] < math.inf]
    if not points:
        raise ValueError("no residual is positive and finite")
    last = max(i for i, _ in points) or 1
    low = math.floor(math.log10(min(r for _, r in points)))
    high = max(math.ceil(math.log10(max(r for _, r in points))), low + 1)
    step = max(1, (high - low + 7) // 8)

    def place(i: int, r: float) -> str:
        return f"{LEFT + WIDTH * i / last:.1f} {TOP + HEIGHT * (high - math.log10(r)) / (high - low):.1f}"

    svg = ["<svg xmlns='http://www.w3.org/2000/svg' width='780' height='370' font-family='sans-serif' font-size='13'>"]
    svg.append("<rect width='780' height='370' fill='white'/>")
    for e in range(low, high + 1, step):
        y = TOP + HEIGHT * (high - e) / (high - low)
        svg.append(f"<path d='M{LEFT} {y:.1f}h{WIDTH}' stroke='#ddd'/>")
        svg.append(f"<text x='{LEFT - 8}' y='{y + 4:.1f}' text-anchor='end'>1e{e}</text>")
    every = next(d for d in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10000) if last / d <= 10)
    for i in range(0, last + 1, every):
        x = LEFT + WIDTH * i / last
        svg.append(f"<text x='{x:.1f}' y='{TOP + HEIGHT + 18}' text-anchor='middle'>{i}</text>")
    svg.append(f"<rect x='{LEFT}' y='{TOP}' width='{WIDTH}' height='{HEIGHT}' fill='none' stroke='#888'/>")
    svg.append(f"<text x='{LEFT + WIDTH / 2}' y='{TOP + HEIGHT + 38}' text-anchor='middle'>iterations</text>")
    svg.append(f"<text x='16' y='{TOP + HEIGHT / 2}' text-anchor='middle' "
               f"transform='rotate(-90 16 {TOP + HEIGHT / 2})'>true relative residual</text>")
    for k, (solve, name) in enumerate(zip(solves, names)):
        color, y = COLORS[k % len(COLORS)], TOP + 14 + 20 * k
        path = "L".join(place(i, r) for i, r in solve if 0.0 < r < math.inf)
        svg.append(f"<path d='M{path}' fill='none' stroke='{color}' stroke-width='1.6'/>")
        svg.append(f"<path d='M{LEFT + WIDTH + 15} {y - 4}h24' stroke='{color}' stroke-width='2.5'/>")
        svg.append(f"<text x='{LEFT + WIDTH + 45}' y='{y}'>{html.escape(name)}</text>")
    return "\n".join(svg + ["</svg>", ""])
