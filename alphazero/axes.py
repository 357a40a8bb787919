"""What a chart's axes need: round ticks, their labels, the way from number to pixel, fewer points for long runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

MINUS = "\N{MINUS SIGN}"


@dataclass(frozen=True)
class Point:
    """One measurement. `y` None is a gap; `low` and `high` are the ends of its error or spread, None if open."""

    x: float
    y: float | None
    low: float | None = None
    high: float | None = None
    note: str = ""  # shown in the read-out behind the number

    @property
    def is_open(self) -> bool:
        """Only one end is known: the truth lies anywhere beyond it."""
        return (self.low is None) != (self.high is None)

    @property
    def ends(self) -> list[float]:
        """All the heights that a drawing of this point reaches."""
        return [value for value in (self.y, self.low, self.high) if value is not None]


@dataclass(frozen=True)
class Scale:
    """A straight line from numbers (low to high) to pixels (start to end); y axes have their start below."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def holds(self, value: float) -> bool:
        slack = 1e-9 * (self.high - self.low)
        return self.low - slack <= value <= self.high + slack


@dataclass(frozen=True)
class Axis:
    """How an axis runs. Without bounds it takes them from the data; `zero` makes it reach down (or up) to 0."""

    label: str = ""
    low: float | None = None
    high: float | None = None
    zero: bool = False
    whole: bool = False  # counts: no ticks between whole numbers
    percent: bool = False

    def text(self, value: float) -> str:
        """A value as the read-out shows it: four significant digits, no more."""
        if self.whole:
            value = round(value)
        return f"{number_text(100 * value)} %" if self.percent else number_text(value)


def step_between(low: float, high: float, count: int, whole: bool = False) -> float:
    """The smallest of 1, 2, 5, 10, 20 ... that needs at most about `count` steps from low to high."""
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
    return max(1.0, step) if whole else step


def ticks_at(low: float, high: float, step: float) -> list[float]:
    """The multiples of step from low to high, both included."""
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    digits = 1 - math.floor(math.log10(step))  # what 3 * 0.1 has beyond these is noise
    return [round(index * step, digits) for index in range(first, last + 1)]


def bounds(axis: Axis, values: Sequence[float]) -> tuple[float, float]:
    """From where to where an axis must run to show these values; never an empty stretch."""
    seen = [*values, 0.0] if axis.zero or not values else values
    low = min(seen) if axis.low is None else axis.low
    high = max(seen) if axis.high is None else axis.high
    if high - low <= 1e-9 * max(abs(low), abs(high)) or low == high == 0:
        room = max(abs(low) / 10, 1.0 if axis.whole or low == 0 else 0.0)
        low, high = (low if axis.low is not None or (axis.zero and low >= 0) else low - room), high + room
    return low, high


def rounded(axis: Axis, low: float, high: float, count: int) -> tuple[float, float, float]:
    """(low, high, step) widened to whole steps, except where the axis has a bound of its own."""
    step = step_between(low, high, count, axis.whole)
    return (
        low if axis.low is not None else math.floor(low / step + 1e-9) * step,
        high if axis.high is not None else math.ceil(high / step - 1e-9) * step,
        step,
    )


def tick_text(value: float, step: float, axis: Axis) -> str:
    """A tick's label with just the digits that the step calls for: 0.25, 40 %, 1.5k, 2M."""
    if axis.percent:
        value, step = value * 100, step * 100
    size = max(abs(value), step)
    if value and step < 1e-4:
        return number_text(value)
    for unit, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        # 1,000 stays 1000 unless its neighbours are far off: short labels only where they save something.
        if value and size >= unit and (unit > 1e3 or size >= 1e4 or step >= 1e3):
            return _plain(value / unit, step / unit) + suffix
    return _plain(value, step) + (" %" if axis.percent else "")


def _plain(value: float, step: float) -> str:
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    return f"{value:.{digits}f}".replace("-", MINUS) if value else "0"


def number_text(value: float) -> str:
    """For reading: 4 significant digits, thousands apart, a true minus sign."""
    if value and (abs(value) < 1e-4 or abs(value) >= 1e12):
        text = f"{value:.3g}".replace("e-0", "e-").replace("e+0", "e+")
    elif abs(value) >= 1000:
        text = f"{value:,.0f}"
    else:
        text = f"{value:.4g}"
    return text.replace("-", MINUS)


def thin(points: Sequence[Point], limit: int, pick: Callable[[list[Point]], Point] | None = None) -> list[Point]:
    """At most `limit` points: each the mean of as many neighbours as it takes, with their lowest and highest.

    The spread keeps visible what a mean hides, such as one loss far above the others. `pick` takes one of the
    neighbours in place of the mean.
    """
    group = math.ceil(len(points) / limit)
    if group <= 1:
        return list(points)
    parts = [list(points[first : first + group]) for first in range(0, len(points), group)]
    return [pick(part) if pick else _mean(part) for part in parts]


def _mean(part: list[Point]) -> Point:
    x = sum(point.x for point in part) / len(part)
    known = [point.y for point in part if point.y is not None]
    if not known:
        return Point(x, None)
    ends = [end for point in part for end in point.ends]
    return Point(x, sum(known) / len(known), min(ends), max(ends))
