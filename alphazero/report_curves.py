"""Which curves a report has, and what each says: lines of metrics in, cards with charts out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

from alphazero.axes import Axis, Point, number_text, thin
from alphazero.charts import INK, MUTED, Frame, Series, legend, line_chart, stacked_chart
from alphazero.elo import expected_score

Line = dict[str, Any]
POINTS = 240  # in a curve, at most: about one in two pixels
MARKS = 80  # dots with whiskers in a chart, at most
WIDE, NARROW = (552, 300), (360, 250)
PHASES = (("self_play", "self-play"), ("learn", "learning"), ("gate", "gate"), ("anchors", "anchors"))


@dataclass(frozen=True)
class Card:
    """A chart and its words. `html` is safe to put into a page; the rest is plain text."""

    title: str
    says: str
    latest: str
    html: str
    wide: bool = False


def number(line: Line, *keys: str, most: float = 1e15) -> float | None:
    """The number under these keys; None for whatever is no number that could be drawn."""
    value: Any = line
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    usable = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < most  # NaN is not, either
    return float(value) if usable else None


def sections(lines: Sequence[Line]) -> list[tuple[str, list[Card]]]:
    """All cards, under their headings."""
    plot = Curves(lines)
    return [
        ("Strength", [plot.elo(), plot.elo(by_hours=True), plot.anchor_scores(), plot.anchor_elo()]),
        ("Learning", plot.learning()),
        ("Self-play", plot.self_play()),
        ("Speed", plot.speed()),
    ]


class Curves:
    def __init__(self, lines: Sequence[Line]):
        self.lines = lines
        # Half an iteration at both ends, so that bars fit and all charts of iterations are in line.
        first, last = lines[0]["iteration"], lines[-1]["iteration"]
        self.iterations = Axis("iteration", low=first - 0.5, high=last + 0.5, whole=True)

    # -- strength -----------------------------------------------------------------------------------------------------

    def elo(self, by_hours: bool = False) -> Card:
        """The best network's Elo, and where each candidate was measured to stand, with its error."""
        place: Callable[[Line], float | None] = lambda line: number(line, "cpu_hours" if by_hours else "iteration")  # noqa: E731
        placed = [(x, line) for line in self.lines if (x := place(line)) is not None]
        best = Series(
            "best network", thin([Point(x, number(line, "elo")) for x, line in placed], POINTS, _last), 1, "step"
        )
        promoted = [_candidate(x, line) for x, line in placed if line.get("promoted")]
        refused = [_candidate(x, line) for x, line in placed if not line.get("promoted")]
        series = [
            Series("refused", _some(refused, MARKS), MUTED, "dots", "whiskers", hollow=True),
            best,
            Series("promoted", _some(promoted, MARKS), 2, "dots", "whiskers"),
        ]
        x_axis = Axis("CPU-hours", zero=True) if by_hours else self.iterations
        title = "Elo over CPU-hours" if by_hours else "Elo over iterations"
        says = (
            "The same climb by what it cost: processor time of self-play, learning and gate matches."
            if by_hours
            else "Over the untrained network, summed from gate matches. Each candidate stands where its match put it; "
            "whiskers are 95 % intervals. Such sums run high: the anchors are the check."
        )
        return self._card(
            title, says, series, Axis("Elo"), x_axis, wide=True, latest=_latest(best, Axis(), signed=True)
        )

    def _anchors(self, measure: Callable[[Line], Point | None]) -> list[Series]:
        names = list(dict.fromkeys(name for line in self.lines for name in _anchor_tallies(line)))
        found = []
        for index, name in enumerate(names):
            points = []
            for line in self.lines:
                point = measure(_anchor_tallies(line).get(name, {}))
                if point is not None:
                    points.append(replace(point, x=line["iteration"]))
            found.append(Series(name, thin(points, MARKS, _last), index % 6 + 1, errors="whiskers", dots=True))
        return [one for one in found if one.points]

    def anchor_scores(self) -> Card:
        def score(tally: Line) -> Point | None:
            value, games = number(tally, "score"), number(tally, "games")
            note = f"in {games:.0f} games" if games else ""
            if value is None:
                return None
            # The tally has its interval in Elo; beyond 4000 a score is 0 or 1 to all the digits there are.
            low, high = (number(tally, key, most=4000) for key in ("elo_low", "elo_high"))
            if low is None and high is None:
                return Point(0, value, note=note)
            return Point(
                0,
                value,
                0.0 if low is None else expected_score(low),
                1.0 if high is None else expected_score(high),
                note,
            )

        says = "Points won against opponents that never change, draws half; whiskers are 95 % intervals."
        return self._card(
            "Score against anchors", says, self._anchors(score), Axis("points won", 0, 1, percent=True), wide=True
        )

    def anchor_elo(self) -> Card:
        def elo(tally: Line) -> Point | None:
            value, low, high = (number(tally, key) for key in ("elo", "elo_low", "elo_high"))
            return _measured(0, 0, value, low, high)

        says = "The same matches as Elo, with 95 % intervals. A triangle is a clean sweep: at least this far ahead."
        return self._card("Elo over anchors", says, self._anchors(elo), Axis("Elo", zero=True), wide=True)

    # -- the rest, by iteration ---------------------------------------------------------------------------------------

    def learning(self) -> list[Card]:
        return [
            self._curve(
                "Policy loss", "Cross-entropy with the search's policy, on what is learnt from.", "policy_loss"
            ),
            self._curve("Value loss", "Squared error of the value, on what is learnt from.", "value_loss", zero=True),
            self._curve(
                "Policy KL, held out",
                "How far the network still is from the search, KL(search || network), in games it never saw.",
                "policy_kl",
                zero=True,
            ),
            self._curves(
                "Value error, held out",
                "Mean squared error against the outcome, and against the search's own value.",
                {"against outcome": "value_mse_outcome", "against search": "value_mse_search"},
                Axis("MSE", zero=True),
            ),
            self._curve(
                "First choice shared",
                "How often the network's favourite move is the search's, held out.",
                "policy_top1",
                percent=True,
            ),
            self._curve("Learning rate", "Falls as planned; a roll-back halves it.", "learning_rate", zero=True),
        ]

    def self_play(self) -> list[Card]:
        first, draws = self._points("first_win_rate"), self._points("draw_rate")
        ends = [
            Series("first mover wins", thin(first, POINTS), 1),
            Series("second wins", thin([_rest(a, b) for a, b in zip(first, draws, strict=True)], POINTS), 2),
            Series("draws", thin(draws, POINTS), 3),
        ]
        says = "Shares of the self-play games of each iteration."
        return [
            self._curve("Game length", "Plies a self-play game, on average.", "game_length", label="plies"),
            self._card("How games end", says, ends, Axis("of games", 0, 1, percent=True)),
            self._curve(
                "Simulations a move", "What a recorded self-play move is searched with.", "simulations", zero=True
            ),
        ]

    def speed(self) -> list[Card]:
        return [
            self._curve("Games a second", "Self-play, all workers.", "games_per_second", zero=True),
            self._curve("Evaluations a second", "Positions the network saw.", "evaluations_per_second", zero=True),
            self.phases(),
        ]

    def phases(self) -> Card:
        layers = [
            Series(name, thin(self._seconds(key), POINTS), colour, "area")
            for colour, (key, name) in enumerate(PHASES, 1)
        ]
        layers = [layer for layer in layers if any(point.y for point in layer.points)]
        # Without the spread: the lowest and highest of a sum would say little over bars of means.
        clock = self._points("seconds", "total")
        total = Series("by the clock", [Point(p.x, p.y) for p in thin(clock, POINTS)], INK)
        frame = Frame("Seconds by phase", describe([*layers, total]), self.iterations, Axis("seconds", zero=True))
        says = "Self-play and learning run side by side, so the stack may stand above the clock."
        chart = legend([*layers, total]) + stacked_chart(frame, layers, total)
        latest = _latest(Series("", clock), Axis())
        return Card(frame.title, says, latest and f"{latest} s", chart)

    def _seconds(self, phase: str) -> list[Point]:
        """A phase that an iteration did not have took no time: it counts in the mean of a thinned-out curve."""
        points = self._points("seconds", phase)
        return [Point(p.x, p.y or 0.0) for p in points] if any(p.y for p in points) else points

    def _points(self, *keys: str) -> list[Point]:
        return [Point(line["iteration"], number(line, *keys)) for line in self.lines]

    def _curve(
        self, title: str, says: str, key: str, label: str = "", zero: bool = False, percent: bool = False
    ) -> Card:
        return self._curves(title, says, {title.lower(): key}, Axis(label, zero=zero, percent=percent))

    def _curves(self, title: str, says: str, keys: dict[str, str], axis: Axis) -> Card:
        raw = [Series(name, self._points(key), colour) for colour, (name, key) in enumerate(keys.items(), 1)]
        latest = _latest(raw[0], axis) if len(raw) == 1 else ""
        return self._card(
            title, says, [replace(one, points=thin(one.points, POINTS)) for one in raw], axis, latest=latest
        )

    def _card(
        self,
        title: str,
        says: str,
        series: list[Series],
        y: Axis,
        x: Axis | None = None,
        *,
        wide: bool = False,
        latest: str = "",
    ) -> Card:
        series = [one for one in series if one.points]
        sizes = {"wide": WIDE, "narrow": NARROW} if wide else {"small": (360, 220)}
        charts = [
            f'<div class="{css}">'
            + line_chart(Frame(title, describe(series), x or self.iterations, y, *size), series)
            + "</div>"
            for css, size in sizes.items()
        ]
        return Card(title, says, latest, legend(series) + "".join(charts), wide)


def describe(series: Sequence[Series]) -> str:
    """For those who can't see the chart: where each curve begins and ends, and how far it reaches."""
    said = []
    for one in series:
        known = [point for point in one.points if point.y is not None]
        values = [point.y for point in known if point.y is not None]
        if known:
            said.append(
                f"{one.name}: {number_text(values[0])} at {number_text(known[0].x)}, {number_text(values[-1])} at "
                f"{number_text(known[-1].x)}, lowest {number_text(min(values))}, highest {number_text(max(values))}."
            )
    return " ".join(said) or "Nothing measured yet."


def _candidate(x: float, line: Line) -> Point:
    """Where a gate match puts the candidate: so far over the best that it met."""
    elo, change = number(line, "elo"), number(line, "elo_change")
    if elo is None or change is None:
        return Point(x, None)
    base = elo - change if line.get("promoted") else elo
    found = _measured(x, base, change, number(line, "elo_change_low"), number(line, "elo_change_high"))
    return found or Point(x, None)


def _measured(x: float, base: float, value: float | None, low: float | None, high: float | None) -> Point | None:
    """A measured difference, on top of base. If one end is open, the other stands for the whole."""
    if low is None or high is None:
        value = next((end for end in (low, high, value) if end is not None), None)
    if value is None:
        return None
    sign = f"{number_text(value) if value < 0 else '+' + number_text(value)}"
    if low is not None and high is not None:
        note = f"({sign}, {number_text(low)} to {number_text(high)})"
    else:
        note = (
            f"(at {'least' if high is None else 'most'} {sign})" if low is not None or high is not None else f"({sign})"
        )
    low, high = (None if end is None else base + end for end in (low, high))
    return Point(x, base + value, low, high, note)


def _anchor_tallies(line: Line) -> dict[str, Line]:
    anchors = line.get("anchors")
    return {str(k): v for k, v in anchors.items() if isinstance(v, dict)} if isinstance(anchors, dict) else {}


def _rest(a: Point, b: Point) -> Point:
    return Point(a.x, None if a.y is None or b.y is None else max(0.0, 1 - a.y - b.y))


def _last(part: list[Point]) -> Point:
    return part[-1]


def _some(points: list[Point], limit: int) -> list[Point]:
    """At most so many of them, evenly, first and last among them."""
    points = [point for point in points if point.y is not None]
    if len(points) <= limit:
        return points
    return [points[round(index * (len(points) - 1) / (limit - 1))] for index in range(limit)]


def _latest(one: Series, axis: Axis, signed: bool = False) -> str:
    """The last value, to stand beside a title."""
    known = [point.y for point in one.points if point.y is not None]
    if not known:
        return ""
    return ("+" if signed and known[-1] > 0 else "") + axis.text(known[-1])


def error_of_sum(lines: Sequence[Line]) -> float | None:
    """Half the 95 % interval of a sum of promotions, taken as independent; None if one of them has an open end."""
    squares = 0.0
    for line in lines:
        if line.get("promoted"):
            low, high = number(line, "elo_change_low"), number(line, "elo_change_high")
            if low is None or high is None:
                return None
            squares += ((high - low) / 2) ** 2
    return math.sqrt(squares) if squares else None


def card_html(card: Card) -> str:
    latest = f'<span class="latest">{escape(card.latest)}</span>' if card.latest else ""
    return (
        f'<figure class="card{" big" if card.wide else ""}"><figcaption><h3>{escape(card.title)}{latest}</h3>'
        f"<p>{escape(card.says)}</p></figcaption>{card.html}</figure>"
    )
