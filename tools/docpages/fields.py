# SPDX-License-Identifier: BSD-2-Clause
"""Pictures (SVG) of results of tutorials: fields on a grid as colors, and curves of one variable."""
from __future__ import annotations

import base64
import html
import math
import re
import struct
import zlib

from .curves import COLORS

SIDE, LEFT, TOP = 320, 40, 46
# From the least to the largest value; with both signs from -a to a, white in the middle
SEQUENCE = ((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37))
SIGNED = ((33, 67, 140), (140, 175, 220), (255, 255, 255), (235, 160, 130), (165, 25, 40))


def values(text: str) -> list[float]:
    """The numbers of a vector that PETSc viewed as ASCII, on one process; also those that are not finite."""
    found = []
    for line in text.split("\n"):
        if re.fullmatch(r"\s*[-+]?(?:[\d.]+(?:e[-+]?\d+)?|(?:nan|inf|infinity)\.?)\s*", line, re.IGNORECASE):
            found.append(float(line.strip().rstrip(".")))
    return found


def grid(text: str, unknowns: int, n: int, along_y: bool) -> list[list[float]]:
    """Rows of n values, those of the least y first; of three dimensions the first plane."""
    found = values(text)
    if not found or len(found) % (unknowns * n):
        raise ValueError(f"{len(found)} values are no rows of {n} points with {unknowns} unknowns")
    found = found[::unknowns]
    rows = [found[k : k + n] for k in range(0, min(len(found), n * n), n)]
    return [list(column) for column in zip(*rows)] if along_y else rows


def color(t: float, colors: tuple[tuple[int, int, int], ...]) -> tuple[int, int, int]:
    """A color between those of a scale; t from 0 to 1."""
    place = min(max(t, 0.0), 1.0) * (len(colors) - 1)
    k = min(int(place), len(colors) - 2)
    return tuple(round(a + (place - k) * (b - a)) for a, b in zip(colors[k], colors[k + 1]))


def png(rows: list[list[tuple[int, int, int]]]) -> bytes:
    """Pixels as a PNG file, the first row on top."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    raw = b"".join(b"\0" + bytes(c for pixel in row for c in pixel) for row in rows)
    head = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b"")


def image(pixels: list[list[tuple[int, int, int]]], x: int, y: int, width: int, height: int) -> str:
    data = base64.b64encode(png(pixels)).decode()
    return (f"<image x='{x}' y='{y}' width='{width}' height='{height}' preserveAspectRatio='none' "
            f"href='data:image/png;base64,{data}'/>")


def panel(title: str, field: list[list[float]], x: int) -> list[str]:
    """A field, field[j][i] at the i-th place along x and the j-th along y, which points up, with its scale."""
    if not all(math.isfinite(v) for row in field for v in row):
        raise ValueError(f"{title}: values that are not finite")
    least, most = min(map(min, field)), max(map(max, field))
    colors = SEQUENCE
    if least < 0.0 < most and min(-least, most) > 0.05 * max(-least, most):
        most = max(-least, most)
        least, colors = -most, SIGNED
    span = (most - least) or 1.0
    height = SIDE * len(field) // len(field[0])
    svg = [f"<text x='{x}' y='{TOP - 10}'>{html.escape(title)}</text>"]
    pixels = [[color((v - least) / span, colors) for v in row] for row in reversed(field)]
    svg.append(image(pixels, x, TOP, SIDE, height))
    svg.append(f"<rect x='{x}' y='{TOP}' width='{SIDE}' height='{height}' fill='none' stroke='#888'/>")
    svg.append(image([[color(1.0 - k / 63, colors)] for k in range(64)], x + SIDE + 10, TOP, 14, height))
    svg.append(f"<text x='{x + SIDE + 29}' y='{TOP + 10}'>{most:.3g}</text>")
    svg.append(f"<text x='{x + SIDE + 29}' y='{TOP + height}'>{least:.3g}</text>")
    svg.append(f"<text x='{x + SIDE / 2}' y='{TOP + height + 17}' text-anchor='middle'>x</text>")
    svg.append(f"<text x='{x - 12}' y='{TOP + height / 2}'>y</text>")
    return svg


def frame(width: int, height: int, command: str, svg: list[str]) -> str:
    head = f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height}' "
    return "\n".join([head + "font-family='sans-serif' font-size='13'>",
                      f"<rect width='{width}' height='{height}' fill='white'/>", *svg,
                      f"<text x='{LEFT}' y='{height - 10}' fill='#666'>{html.escape(command)}</text>", "</svg>", ""])


def picture(panels: list[tuple[str, list[list[float]]]], command: str) -> str:
    """Fields side by side, above the command that computed them."""
    svg, step = [], SIDE + 120
    for k, (title, field) in enumerate(panels):
        svg += panel(title, field, LEFT + k * step)
    height = max(SIDE * len(f) // len(f[0]) for _, f in panels)
    return frame(LEFT + step * len(panels), TOP + height + 50, command, svg)


def lines(names: list[str], rows: list[list[float]], dots: str, command: str) -> str:
    """Curves over the first column; the one of the name dots as dots."""
    width, height = 600, 320
    x = [r[0] for r in rows]
    most = max(v for r in rows for v in r[1:])
    least = min(v for r in rows for v in r[1:])

    def place(a: float, v: float) -> tuple[float, float]:
        return LEFT + width * (a - x[0]) / (x[-1] - x[0]), TOP + height * (most - v) / (most - least)

    svg = [f"<rect x='{LEFT}' y='{TOP}' width='{width}' height='{height}' fill='none' stroke='#888'/>"]
    for v in range(math.ceil(least), math.floor(most) + 1):
        svg.append(f"<path d='M{LEFT} {place(0, v)[1]:.1f}h{width}' stroke='#ddd'/>")
        svg.append(f"<text x='{LEFT - 8}' y='{place(0, v)[1] + 4:.1f}' text-anchor='end'>{v}</text>")
    svg.append(f"<text x='{LEFT + width / 2}' y='{TOP + height + 17}' text-anchor='middle'>"
               f"{html.escape(names[0])}</text>")
    for k, name in enumerate(names[1:]):
        points = [place(r[0], r[k + 1]) for r in rows]
        shade, y = COLORS[k], TOP + 14 + 20 * k
        if name == dots:
            svg += [f"<circle cx='{a:.1f}' cy='{b:.1f}' r='2.5' fill='{shade}'/>" for a, b in points]
            svg.append(f"<circle cx='{LEFT + width + 27}' cy='{y - 4}' r='2.5' fill='{shade}'/>")
        else:
            path = "L".join(f"{a:.1f} {b:.1f}" for a, b in points)
            svg.append(f"<path d='M{path}' fill='none' stroke='{shade}' stroke-width='1.6'/>")
            svg.append(f"<path d='M{LEFT + width + 15} {y - 4}h24' stroke='{shade}' stroke-width='2.5'/>")
        svg.append(f"<text x='{LEFT + width + 45}' y='{y}'>{html.escape(name)}</text>")
    return frame(LEFT + width + 180, TOP + height + 50, command, svg)
