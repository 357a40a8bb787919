"""The page of a report: headline, cards of curves, settings and log, as one HTML text.

Whatever comes from a file goes through escape(): a log may hold anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from html import escape
from pathlib import Path
from typing import Any

from alphazero import charts
from alphazero.axes import number_text
from alphazero.report_curves import MARKS, POINTS, Line, card_html, error_of_sum, number, sections
from alphazero.report_run import Event, Run, split_log_line
from alphazero.train_settings import TrainSettings
from alphazero.training.progress import duration

LAST_LINES = 40
LAST_ITERATIONS = 15
EVENTS = 20
LINE_LENGTH = 600  # of a log line; more than any of ours has


def page(run: Run) -> str:
    """The whole HTML page."""
    css = charts.style() + Path(__file__).with_name("report.css").read_text("utf-8")
    parts = [_headline(run)]
    for title, cards in sections(run.lines):
        body = "".join(map(card_html, cards))
        parts.append(f'<section><h2>{escape(title)}</h2><div class="cards">{body}</div></section>')
    parts += [_last_iterations(run.lines), _settings(run), _log(run), _foot(run.lines)]
    html = (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        # An empty icon, or a browser would ask the host for one.
        f'<title>{escape(run.title)}: training report</title><link rel="icon" href="data:,">'
        f"<style>{css}</style></head>\n<body><main>{''.join(parts)}</main>\n<script>{charts.script()}</script>"
        "</body></html>\n"
    )
    return html.encode("utf-8", "replace").decode("utf-8")  # JSON may hold halves of characters; files may not


def _headline(run: Run) -> str:
    lines, last = run.lines, run.lines[-1]
    planned = run.settings.get("iterations")
    matches = sum(line.get("gate") is not None for line in lines)
    promotions = [line["iteration"] for line in lines if line.get("promoted")]
    elo = max((value for line in lines if (value := number(line, "elo")) is not None), default=None)
    error = error_of_sum(lines)
    clock = sum(number(line, "seconds", "total") or 0.0 for line in lines)
    hours = number(last, "cpu_hours")
    tiles = [
        ("Iterations", number_text(last["iteration"]), f"of {planned:,} planned" if isinstance(planned, int) else ""),
        ("Games", _value(number(last, "games")), f"{_value(number(last, 'steps'))} steps of learning"),
        ("CPU-hours", "–" if hours is None else number_text(float(f"{hours:.3g}")), f"{duration(clock)} by the clock"),
        (
            "Best Elo",
            "–" if elo is None else ("+" if elo > 0 else "") + number_text(round(elo)),
            "over the untrained network" + (f", ±{error:.0f}" if error else ""),
        ),
        (
            "Promotions",
            f"{len(promotions):,}",
            f"of {matches:,} candidates" + (f"; last in iteration {promotions[-1]:,}" if promotions else ""),
        ),
    ]
    cells = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd><dd>{escape(more)}</dd></div>"
        for name, value, more in tiles
    )
    span = " to ".join(dict.fromkeys(str(line.get("time", "")).replace("T", " ") for line in (lines[0], last)))
    return (
        f"<header><p>Training report</p><h1>{escape(run.title)}</h1>"
        f'<p>{escape(run.folder.name)} · {escape(span)}</p><dl class="tiles">{cells}</dl></header>'
    )


def _last_iterations(lines: Sequence[Line]) -> str:
    heads = ("iteration", "games", "policy loss", "value loss", "KL", "score", "Elo", "gate")
    rows = []
    for line in reversed(lines[-LAST_ITERATIONS:]):
        gate = line.get("gate")
        score = number(line, "win_rate")
        verdict = gate.get("verdict", "") if isinstance(gate, dict) else "no match"
        keys = ("iteration", "games", "policy_loss", "value_loss", "policy_kl")
        numbers = [_value(number(line, key)) for key in keys]
        rows.append([*numbers, "–" if score is None else f"{score:.1%}", _value(number(line, "elo")), str(verdict)])
    table = _table(heads, rows, "numbers")
    count = "iteration" if len(rows) == 1 else f"{len(rows)} iterations"
    return f"<section><details><summary>The last {count} in figures</summary>{table}</details></section>"


def _settings(run: Run) -> str:
    if not run.settings:
        return ""
    help_texts = {knob.name: str(knob.metadata.get("help", "")) for knob in fields(TrainSettings)}
    changed = run.changed()
    if run.game is None:
        words = "<p>Which game it is, the files don't say; so there are no defaults to compare with.</p>"
    elif changed:
        rows = [(name, here, usual, help_texts.get(name, "")) for name, (here, usual) in changed.items()]
        words = _table(("setting", "this run", f"default of {run.title}", ""), rows)
    else:
        words = f"<p>All as {escape(run.title)} has them by default.</p>"
    every = _table(
        ("setting", "this run", ""), [(name, value, help_texts.get(name, "")) for name, value in run.settings.items()]
    )
    return (
        f"<section><h2>Settings</h2>{words}"
        f"<details><summary>All {len(run.settings)} settings</summary>{every}</details></section>"
    )


def _log(run: Run) -> str:
    if not run.log:
        return ""
    events = run.events()
    warnings = sum(event.warning for event in events)
    items = "".join(
        f'<li class="{_css(event)}"><time>{escape(event.time)}</time> '
        f"{escape(event.text[:LINE_LENGTH])}{_times(event)}</li>"
        for event in reversed(events[-EVENTS:])
    )
    kinds = "no warnings" if not warnings else "1 kind of warning" if warnings == 1 else f"{warnings} kinds of warnings"
    tail = "\n".join(" ".join(filter(None, split_log_line(line)))[:LINE_LENGTH] for line in run.log[-LAST_LINES:])
    return (
        f"<section><h2>Events</h2><p>{kinds} in the log, the latest first; ×N counts lines that differ in their "
        f'numbers alone.</p><ul class="events">{items}</ul>'
        f"<details><summary>The end of the log</summary><pre>{escape(tail)}</pre></details></section>"
    )


def _css(event: Event) -> str:
    return "warning" if event.warning else "usual"


def _times(event: Event) -> str:
    return f" <b>×{event.times:,}</b>" if event.times > 1 else ""


def _foot(lines: Sequence[Line]) -> str:
    group = -(-len(lines) // POINTS)
    thinned = (
        f" {len(lines):,} iterations are drawn as means of up to {group} each, with a band from their lowest to their "
        f"highest; of matches, {MARKS} of a kind."
        if group > 1
        else ""
    )
    return (
        f"<footer>Made by <code>python -m alphazero report</code> from metrics.jsonl.{thinned} Point at a chart, or "
        "focus it and use the arrow keys, to read its values.</footer>"
    )


def _table(heads: Iterable[str], rows: Iterable[Sequence[Any]], css: str = "") -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    body = "".join("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="scroll"><table class="{css}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _value(value: float | None) -> str:
    return "–" if value is None else number_text(value)
