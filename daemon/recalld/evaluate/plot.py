"""The threshold sweep as a picture: HTML that needs nothing else, or PNG through matplotlib."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from recalld.errors import InputError, UnavailableError
from recalld.evaluate.result import Result
from recalld.evaluate.sweep import Curve, Point

FORMATS = (".html", ".png")
COLOURS = {"precision": "#0072b2", "recall": "#d55e00", "f1": "#009e73", "silent": "#8a6d9e"}
"""Okabe and Ito's palette, told apart by the colour-blind too; each line also has a dash of its own."""
DASHES = {"precision": "", "recall": "7 3", "f1": "", "silent": "2 3"}
WIDTH, HEIGHT, MARGIN = 640, 320, 44

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; color: #222; background: #fff }
svg { width: 100%; height: auto } text { font-size: 12px; fill: currentColor }
table { border-collapse: collapse } td, th { padding: 0 .8rem; text-align: right }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #181818 } }
"""


def check(path: Path) -> None:
    """Whether a picture of this name can be made, told before the work. Raises InputError, UnavailableError."""
    if path.suffix.lower() not in FORMATS:
        raise InputError(f"--plot {path}: the name ends with .html or .png")
    if path.suffix.lower() == ".png":
        _matplotlib("figure", path)


def draw(path: Path, results: Sequence[Result], threshold: float) -> None:
    """Draw the curve of each result that has one; `threshold` is the one in use.

    Raises InputError where none has one, or where the file cannot be written.
    """
    curves = {Path(result.name).name: result.curve for result in results if result.curve}
    if not curves:
        raise InputError("--plot: only labelled retrieval and recall files have a threshold to draw")
    try:
        if path.suffix.lower() == ".png":
            _png(path, curves, threshold)
        else:
            path.write_text(page(curves, threshold), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error


def page(curves: dict[str, Curve], threshold: float) -> str:
    """A page with a chart and a table for each curve."""
    parts = [_section(name, curve, threshold) for name, curve in curves.items()]
    head = '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>recalld eval</title>'
    viewport = '<meta name="viewport" content="width=device-width, initial-scale=1">'
    intro = (
        "<p>What would be injected at each similarity threshold. Silence is the share of the prompts with nothing "
        f"relevant that get nothing. The dotted line is the threshold in use, {threshold:g}.</p>"
    )
    return f"{head}{viewport}<style>{_STYLE}</style></head><body><h1>recalld eval</h1>{intro}{''.join(parts)}</body></html>\n"


def _section(name: str, curve: Curve, threshold: float) -> str:
    best = max(curve, key=lambda point: point.f1)
    at = min(curve, key=lambda point: abs(point.threshold - threshold))
    rows = "".join(_row(title, point) for title, point in (("in use", at), ("best F1", best)))
    head = "".join(f"<th>{escape(title)}</th>" for title in ("", "threshold", *COLOURS))
    return f"<h2>{escape(name)}</h2>{_chart(curve, threshold)}<table><tr>{head}</tr>{rows}</table>"


def _row(title: str, point: Point) -> str:
    cells = "".join(f"<td>{value:.3f}</td>" for value in (point.precision, point.recall, point.f1, point.silent))
    return f"<tr><th>{title}</th><td>{point.threshold:.2f}</td>{cells}</tr>"


def _chart(curve: Curve, threshold: float) -> str:
    lines = []
    for number, (name, colour) in enumerate(COLOURS.items()):
        points = " ".join(f"{_x(point.threshold):.1f},{_y(getattr(point, name)):.1f}" for point in curve)
        dash = f' stroke-dasharray="{DASHES[name]}"' if DASHES[name] else ""
        stroke = f'fill="none" stroke="{colour}" stroke-width="{3 if name == "f1" else 2}"{dash}'
        legend = MARGIN + 8 + number * 100
        lines.append(f'<polyline points="{points}" {stroke}/>')
        lines.append(f'<path d="M{legend} 12h24" {stroke}/><text x="{legend + 30}" y="16">{name}</text>')
    for step in range(0, 11, 2):
        value = step / 10
        grid = f"M{_x(0):.0f} {_y(value):.1f}H{_x(1):.0f}"
        lines.append(f'<path d="{grid}" stroke="currentColor" stroke-opacity=".15"/>')
        lines.append(f'<text x="{MARGIN - 8}" y="{_y(value) + 4:.1f}" text-anchor="end">{value:.1f}</text>')
        lines.append(f'<text x="{_x(value):.1f}" y="{HEIGHT - 14}" text-anchor="middle">{value:.1f}</text>')
    used = f'<path d="M{_x(threshold):.1f} {_y(0):.0f}V{_y(1):.0f}" stroke="currentColor" stroke-dasharray="1 4"/>'
    label = "precision, recall, F1 and silence by threshold"
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">{"".join(lines)}{used}</svg>'


def _x(value: float) -> float:
    return MARGIN + value * (WIDTH - MARGIN - 16)


def _y(value: float) -> float:
    return HEIGHT - MARGIN + 8 - value * (HEIGHT - MARGIN - 24)


def _png(path: Path, curves: dict[str, Curve], threshold: float) -> None:
    figure = _matplotlib("figure", path).Figure(figsize=(7, 3.6 * len(curves)), layout="constrained")
    _matplotlib("backends.backend_agg", path).FigureCanvasAgg(figure)
    for number, (name, curve) in enumerate(curves.items(), 1):
        axes = figure.add_subplot(len(curves), 1, number)
        for measure, colour in COLOURS.items():
            axes.plot([p.threshold for p in curve], [getattr(p, measure) for p in curve], color=colour, label=measure)
        axes.axvline(threshold, color="grey", linestyle=":")
        axes.set(title=name, xlabel="similarity threshold", ylim=(0, 1.02), xlim=(0, 1))
        axes.legend(loc="lower left")
    figure.savefig(path, dpi=130)


def _matplotlib(part: str, path: Path) -> Any:
    """A module of matplotlib: an extra, for it is larger than recalld with all it needs. Raises UnavailableError."""
    try:
        return importlib.import_module(f"matplotlib.{part}")
    except ImportError as error:
        raise UnavailableError(
            f"--plot {path}: PNG needs matplotlib (`pip install 'recalld[plot]'`); .html needs nothing"
        ) from error
