"""Charts: series of points in, SVG text out. No files, no page, no library.

    line_chart(frame, series)       curves, steps and dots, each with bands or whiskers for their error
    stacked_chart(frame, layers)    areas on top of each other, and a line for what they should add up to
    legend(series)                  the names and colours, as HTML that wraps
    style(), script()               the CSS and JavaScript that a page with charts has once

Colours are classes (`c1` to `c6`, `c7` as dark as the text, `muted`) that charts.css fills in, for light and dark.
The read-out under the pointer needs charts.js; without it everything but the read-out is there.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import pairwise
from pathlib import Path

from alphazero.axes import Axis, Point, Scale, bounds, rounded, step_between, tick_text, ticks_at

LEFT, RIGHT, TOP, BOTTOM = 46, 10, 22, 36  # the same in every chart, so that axes below each other are in line
TICK_ROOM = 48, 27  # pixels that a tick wants to itself, across and down
DOT, CROWD = 3.2, 40  # the radius of a dot, until there are so many
EMPTY_HEIGHT = 80  # of a chart without a value
MUTED, INK = 0, 7  # colours beside the six: of what stands back, and of what goes over the others


@dataclass(frozen=True)
class Series:
    """Points from left to right under one name. `shape`: "line", "step" (holds until the next), or "dots" alone."""

    name: str
    points: Sequence[Point]
    colour: int = 1
    shape: str = "line"
    errors: str = "band"  # how low and high are drawn: "band" or "whiskers"
    dots: bool = False  # a dot on every point of a line, too
    hollow: bool = False

    @property
    def css(self) -> str:
        return f"c{self.colour}" if self.colour != MUTED else "muted"


@dataclass(frozen=True)
class Frame:
    """What a chart is called and says, its axes and its size in pixels. Title and text are for screen readers."""

    title: str
    text: str
    x: Axis
    y: Axis
    width: int = 360
    height: int = 220


@dataclass(frozen=True)
class _Plot:
    frame: Frame
    x: Scale
    y: Scale
    x_step: float
    y_step: float


def line_chart(frame: Frame, series: Sequence[Series]) -> str:
    """The chart of these series as one <svg> element; without a single value it says so."""
    drawn = [one for one in series if any(point.y is not None for point in one.points)]
    if not drawn:
        words = _text(frame.width / 2, EMPTY_HEIGHT / 2, "nothing measured yet", "note middle")
        return _svg(replace(frame, height=EMPTY_HEIGHT), [words], {})
    xs = [point.x for one in drawn for point in one.points]
    plot = _plot(frame, xs, [end for one in drawn for point in one.points for end in point.ends])
    parts = _axes(plot)
    for one in drawn:
        parts += _errors(plot, one) + _curve(plot, one)
    rows = ((point.x, one, point.y, point) for one in drawn for point in one.points if point.y is not None)
    return _svg(frame, parts, _read_out(plot, rows))


def stacked_chart(frame: Frame, layers: Sequence[Series], total: Series | None = None) -> str:
    """Layers on top of each other, the first at the bottom; each point reaches half-way to its neighbours (None is 0).

    The layers have the same x; the outermost reach to the ends of the axis. `total` goes over them as a line.
    """
    layers = [layer for layer in layers if any(point.y for point in layer.points)]
    if not layers:
        return line_chart(frame, [])
    xs = [point.x for point in layers[0].points]
    sums = [0.0] * len(xs)
    edges = [list(sums)]
    for layer in layers:
        sums = [below + max(0.0, point.y or 0.0) for below, point in zip(sums, layer.points, strict=True)]
        edges.append(sums)
    extra = [point.y for point in total.points if point.y is not None] if total else []
    plot = _plot(frame, xs, [0.0, *sums, *extra])
    between = [(a + b) / 2 for a, b in pairwise(xs)]
    walls = [plot.x.start, *map(plot.x, between), plot.x.end]
    across = [wall for pair in pairwise(walls) for wall in pair]
    parts = _axes(plot)
    for layer, lower, upper in zip(layers, edges, edges[1:], strict=False):
        there = [(across[index], plot.y(upper[index // 2])) for index in range(len(across))]
        back = [(across[index], plot.y(lower[index // 2])) for index in reversed(range(len(across)))]
        parts.append(f'<path class="area {layer.css}" d="{_path(there + back)}Z"/>')
    rows = [
        (p.x, layer, top, p) for layer, tops in zip(layers, edges[1:], strict=True) for p, top in _with(layer, tops)
    ]
    if total:
        parts += _curve(plot, total)
        rows += [(point.x, total, point.y, point) for point in total.points if point.y is not None]
    return _svg(frame, parts, _read_out(plot, rows))


def legend(series: Iterable[Series]) -> str:
    """Names with a swatch of how each is drawn, as an HTML list; nothing for a single curve."""
    series = list(series)
    if len(series) < 2:
        return ""
    items = "".join(
        f'<li><svg class="swatch" width="18" height="10" aria-hidden="true">{_swatch(one)}</svg>{escape(one.name)}</li>'
        for one in series
    )
    return f'<ul class="legend">{items}</ul>'


def style() -> str:
    return Path(__file__).with_name("charts.css").read_text("utf-8")


def script() -> str:
    return Path(__file__).with_name("charts.js").read_text("utf-8")


# -- the frame around the data ----------------------------------------------------------------------------------------


def _plot(frame: Frame, xs: Sequence[float], ys: Sequence[float]) -> _Plot:
    across, up = frame.width - LEFT - RIGHT, frame.height - TOP - BOTTOM
    x_low, x_high = bounds(frame.x, xs)
    y_low, y_high, y_step = rounded(frame.y, *bounds(frame.y, ys), max(2, up // TICK_ROOM[1]))
    return _Plot(
        frame,
        Scale(x_low, x_high, LEFT, LEFT + across),
        Scale(y_low, y_high, TOP + up, TOP),
        step_between(x_low, x_high, max(2, across // TICK_ROOM[0]), frame.x.whole),
        y_step,
    )


def _axes(plot: _Plot) -> list[str]:
    frame, right, foot = plot.frame, plot.x.end, plot.y.start
    parts = []
    for value in ticks_at(plot.y.low, plot.y.high, plot.y_step):
        y = plot.y(value)
        parts.append(f'<path class="grid" d="M{LEFT} {_px(y)}H{_px(right)}"/>')
        parts.append(_text(LEFT - 7, y + 3.8, tick_text(value, plot.y_step, frame.y), "tick end"))
    parts.append(f'<path class="axis" d="M{LEFT} {_px(foot)}H{_px(right)}"/>')
    for value in ticks_at(plot.x.low, plot.x.high, plot.x_step):
        x = plot.x(value)
        parts.append(f'<path class="axis" d="M{_px(x)} {_px(foot)}v4"/>')
        parts.append(_text(x, foot + 16, tick_text(value, plot.x_step, frame.x), "tick middle"))
    parts.append(_text(right, frame.height - 4, frame.x.label, "name end"))
    parts.append(_text(0, 11, frame.y.label, "name"))
    return parts


def _svg(frame: Frame, parts: Sequence[str], read_out: dict[str, object]) -> str:
    # Ids must differ within a page, and the same data must give the same page: so they come from the content.
    key = hashlib.sha256("".join([frame.title, str(frame.width), *parts]).encode()).hexdigest()[:10]
    # In single quotes: JSON is full of double ones, and each would take six characters.
    data = escape(json.dumps(read_out, separators=(",", ":"), ensure_ascii=False), quote=False).replace("'", "&#39;")
    return (
        f'<svg class="chart" viewBox="0 0 {frame.width} {frame.height}" role="img" tabindex="0" '
        f"aria-labelledby=\"t{key} d{key}\" data-read-out='{data}'>"
        f'<title id="t{key}">{escape(frame.title)}</title><desc id="d{key}">{escape(frame.text)}</desc>'
        f"{''.join(parts)}</svg>"
    )


# -- the data ---------------------------------------------------------------------------------------------------------


def _curve(plot: _Plot, one: Series) -> list[str]:
    """Unbroken stretches as lines; points that stand alone, and those of a series of dots, as dots."""
    parts, dots = [], []
    for stretch in _stretches(one.points):
        # A line would take an open end for a value: it passes over those.
        pixels = [(plot.x(p.x), plot.y(p.y)) for p in stretch if p.y is not None and not p.is_open]
        lone = one.shape == "dots" or len(pixels) < 2
        dots += [point for point in stretch if lone or one.dots or point.is_open]
        if lone:
            continue
        if one.shape == "step":
            corners = [corner for a, b in pairwise(pixels) for corner in (a, (b[0], a[1]))]
            pixels = [*corners, pixels[-1]]
        parts.append(f'<path class="line {one.css}" d="{_path(pixels)}"/>')
    fill = " hollow" if one.hollow else ""
    radius = DOT if len(dots) <= CROWD else 0.7 * DOT
    return parts + [f'<path class="dot {one.css}{fill}" d="{_dot(plot, point, radius)}"/>' for point in dots]


def _dot(plot: _Plot, point: Point, r: float) -> str:
    """A disc; or a triangle, if one end of the error is open: the truth lies in the direction that it points to."""
    assert point.y is not None
    x, y = plot.x(point.x), plot.y(point.y)
    if not point.is_open:
        return f"M{_px(x - r)} {_px(y)}a{r:g} {r:g} 0 1 0 {2 * r:g} 0a{r:g} {r:g} 0 1 0 {-2 * r:g} 0Z"
    tip = -1.4 * r if point.high is None else 1.4 * r
    return f"M{_px(x)} {_px(y + tip)}L{_px(x + 1.3 * r)} {_px(y - tip / 1.6)}H{_px(x - 1.3 * r)}Z"


def _errors(plot: _Plot, one: Series) -> list[str]:
    if one.errors == "whiskers":
        lines = [
            f"M{_px(plot.x(p.x))} {_px(plot.y(p.low))}V{_px(plot.y(p.high))}"
            for p in one.points
            if p.y is not None and p.low is not None and p.high is not None
        ]
        return [f'<path class="whisker {one.css}" d="{"".join(lines)}"/>'] if lines else []
    parts = []
    for stretch in _stretches(one.points):
        known = [
            (plot.x(p.x), plot.y(p.low), plot.y(p.high)) for p in stretch if p.low is not None and p.high is not None
        ]
        if len(known) > 1:
            outline = [(x, high) for x, _, high in known] + [(x, low) for x, low, _ in reversed(known)]
            parts.append(f'<path class="band {one.css}" d="{_path(outline)}Z"/>')
    return parts


def _stretches(points: Sequence[Point]) -> Iterable[list[Point]]:
    stretch: list[Point] = []
    for point in points:
        if point.y is not None:
            stretch.append(point)
        elif stretch:
            yield stretch
            stretch = []
    if stretch:
        yield stretch


def _with(layer: Series, tops: Sequence[float]) -> Iterable[tuple[Point, float]]:
    return ((point, top) for point, top in zip(layer.points, tops, strict=True) if point.y)


def _read_out(plot: _Plot, rows: Iterable[tuple[float, Series, float | None, Point]]) -> dict[str, object]:
    """For charts.js: `series` as [colour, name], and `rows` by x as [pixel, x, [[series, pixel down, value], ...]]."""
    frame = plot.frame
    names: dict[tuple[str, str], int] = {}
    by_x: defaultdict[float, list[object]] = defaultdict(list)
    for x, one, height, point in rows:
        assert point.y is not None
        assert height is not None
        value = frame.y.text(point.y) + (f" {point.note}" if point.note else "")
        by_x[x].append([names.setdefault((one.css, one.name), len(names)), round(plot.y(height), 1), value])
    return {
        "top": TOP,
        "foot": frame.height - BOTTOM,
        "x": frame.x.label,
        "series": list(names),
        "rows": [[round(plot.x(x), 1), frame.x.text(x), by_x[x]] for x in sorted(by_x)],
    }


def _swatch(one: Series) -> str:
    fill = " hollow" if one.hollow else ""
    if one.shape == "dots":
        whisker = f'<path class="whisker {one.css}" d="M9 0V10"/>' if one.errors == "whiskers" else ""
        return f'{whisker}<circle class="dot {one.css}{fill}" cx="9" cy="5" r="{DOT}"/>'
    if one.shape == "area":
        return f'<rect class="area {one.css}" x="3" width="12" height="10" rx="2"/>'
    return f'<path class="line {one.css}" d="M1 5H17"/>'


def _path(pixels: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{_px(x)} {_px(y)}" for x, y in pixels)


def _px(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _text(x: float, y: float, text: str, css: str) -> str:
    return f'<text class="{css}" x="{_px(x)}" y="{_px(y)}">{escape(text)}</text>'
