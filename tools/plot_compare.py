#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""plot_compare.py: residual against time from the CSV file of tutorials/compare, one panel a problem.

    plot_compare.py [compare.csv [compare.png]]

Needs matplotlib for PNG and PDF. Without it an SVG file of the same name is written with nothing but Python.
"""

import argparse
import csv
import html
import math
import os
import sys

COLORS = ["#d62728", "#1f77b4", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b", "#17becf", "#7f7f7f"]
WIDTH = {"spike": 2.4}
FLOOR = 1e-17  # an exact zero has no logarithm


def read(name):
    """title, {problem: {(method, matrix): [(seconds, relative residual)]}}; values that are not finite end a curve"""
    title, panels = "", {}
    with open(name, newline="") as f:
        lines = f.read().splitlines()
    if lines and lines[0].startswith("#"):
        title = lines.pop(0).lstrip("# ")
    for row in csv.DictReader(lines):
        try:
            t, r = float(row["seconds"]), float(row["relative_residual"])
        except (KeyError, TypeError, ValueError):
            sys.exit("%s is not a file that tutorials/compare wrote" % name)
        if math.isfinite(t) and math.isfinite(r) and t > 0.0:
            curve = row["method"], row.get("matrix") or ""
            panels.setdefault(row["problem"], {}).setdefault(curve, []).append((t, max(r, FLOOR)))
    if not panels:
        sys.exit("%s holds no residuals" % name)
    return title, panels


def styles(panels):
    """{(method, matrix): (label, color, rank of the matrix)}: a method has a color, a type of matrices a dash"""
    curves = [c for panel in panels.values() for c in panel]
    methods = list(dict.fromkeys(c[0] for c in curves))
    matrices = list(dict.fromkeys(c[1] for c in curves))
    return {
        (m, a): (
            m if len(matrices) == 1 else "%s, %s" % (m, a),
            COLORS[methods.index(m) % len(COLORS)],
            len(matrices) - 1 - matrices.index(a),
        )
        for m, a in curves
    }


def limits(panel):
    """decades that hold all points; what diverged is cut at 10"""
    points = [p for curve in panel.values() for p in curve]
    t = [math.log10(p[0]) for p in points]
    r = [math.log10(min(p[1], 10.0)) for p in points]
    return math.floor(min(t)), math.ceil(max(t) + 1e-9), math.floor(min(r)), max(math.ceil(max(r)), 1)


def matplotlib_plot(plt, title, panels, out):
    fig, axes = plt.subplots(1, len(panels), figsize=(5.2 * len(panels), 4.2), squeeze=False)
    style = styles(panels)
    for ax, (problem, panel) in zip(axes[0], panels.items()):
        t0, t1, r0, r1 = limits(panel)
        for key, curve in panel.items():
            label, color, dash = style[key]
            ax.loglog(
                *zip(*curve),
                marker=".",
                markersize=4,
                linewidth=WIDTH.get(key[0], 1.2),
                linestyle=["-", "--", ":", "-."][dash % 4],
                color=color,
                label=label
            )
        ax.set_title(problem)
        ax.set_xlabel("seconds since the setup began")
        ax.set_xlim(10.0**t0, 10.0**t1)
        ax.set_ylim(10.0**r0, 10.0**r1)
        ax.grid(True, which="major", color="#dddddd")
        ax.legend(fontsize=8)
    axes[0][0].set_ylabel("||b - A x|| / ||b||")
    fig.suptitle(title, fontsize=10)
    fig.tight_layout()
    fig.savefig(out, dpi=120)


def svg_plot(title, panels, out):
    w, h, left, top = 460, 330, 62, 52  # of one panel and its margins
    style = styles(panels)
    s = [
        '<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="11">'
        % ((w + left) * len(panels) + 20, h + top + 48)
    ]
    s.append('<rect width="100%" height="100%" fill="white"/>')
    s.append('<text x="%d" y="18">%s</text>' % (left, html.escape(title)))
    for n, (problem, panel) in enumerate(panels.items()):
        x0, y0 = left + n * (w + left), top
        t0, t1, r0, r1 = limits(panel)

        def px(t):
            return x0 + (math.log10(t) - t0) / (t1 - t0) * w

        def py(r):
            return y0 + (r1 - math.log10(r)) / (r1 - r0) * h

        s.append('<clipPath id="c%d"><rect x="%d" y="%d" width="%d" height="%d"/></clipPath>' % (n, x0, y0, w, h))
        s.append('<rect x="%d" y="%d" width="%d" height="%d" fill="none" stroke="black"/>' % (x0, y0, w, h))
        s.append('<text x="%d" y="%d" text-anchor="middle" font-size="13">%s</text>' %
                 (x0 + w / 2, y0 - 8, html.escape(problem)))
        s.append(
            '<text x="%d" y="%d" text-anchor="middle">seconds since the setup began</text>' % (x0 + w / 2, y0 + h + 34)
        )
        for d in range(t0, t1 + 1):
            x = px(10.0**d)
            s.append(
                '<path d="M%.1f %d v%d" stroke="#dddddd"/><text x="%.1f" y="%d" text-anchor="middle">1e%d</text>'
                % (x, y0, h, x, y0 + h + 16, d)
            )
        for d in range(r0, r1 + 1, max(1, (r1 - r0 + 8) // 9)):
            y = py(10.0**d)
            s.append(
                '<path d="M%d %.1f h%d" stroke="#dddddd"/><text x="%d" y="%.1f" text-anchor="end">1e%d</text>'
                % (x0, y, w, x0 - 5, y + 4, d)
            )
        for k, (key, curve) in enumerate(panel.items()):
            label, color, dash = style[key]
            dash = ["", ' stroke-dasharray="7 4"', ' stroke-dasharray="2 3"', ' stroke-dasharray="7 3 2 3"'][dash % 4]
            points = " ".join("%.1f,%.1f" % (px(t), py(r)) for t, r in curve)
            s.append(
                '<polyline points="%s" fill="none" stroke="%s" stroke-width="%g"%s clip-path="url(#c%d)"/>'
                % (points, color, WIDTH.get(key[0], 1.2), dash, n)
            )
            s.extend(
                '<circle cx="%.1f" cy="%.1f" r="1.8" fill="%s" clip-path="url(#c%d)"/>' % (px(t), py(r), color, n)
                for t, r in curve
                if len(curve) <= 200
            )
            s.append(
                '<path d="M%d %d h18" stroke="%s" stroke-width="3"%s/><text x="%d" y="%d">%s</text>'
                % (x0 + 10, y0 + h - 14 - 15 * k, color, dash, x0 + 33, y0 + h - 10 - 15 * k, html.escape(label))
            )
    s.append(
        '<text transform="translate(14 %d) rotate(-90)" text-anchor="middle">||b - A x|| / ||b||</text></svg>'
        % (top + h / 2)
    )
    with open(out, "w") as f:
        f.write("\n".join(s) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("csv", nargs="?", default="compare.csv")
    parser.add_argument(
        "picture", nargs="?", help="default: the name of the CSV file with .png; .svg and .pdf are possible"
    )
    args = parser.parse_args()
    out = args.picture or os.path.splitext(args.csv)[0] + ".png"
    try:
        title, panels = read(args.csv)
    except OSError as error:
        sys.exit("cannot read %s: %s; run tutorials/compare first" % (args.csv, error.strerror))
    if not out.endswith(".svg"):
        try:
            import matplotlib

            matplotlib.use("Agg")
            import matplotlib.pyplot as plt
        except ImportError:
            print(
                "matplotlib is not installed for %s (pip install matplotlib in a virtual environment): writing SVG"
                " instead of %s" % (sys.executable, out)
            )
            out = os.path.splitext(out)[0] + ".svg"
    if out.endswith(".svg"):
        svg_plot(title, panels, out)
    else:
        matplotlib_plot(plt, title, panels, out)
    print("residual against time: %s" % out)


if __name__ == "__main__":
    main()
