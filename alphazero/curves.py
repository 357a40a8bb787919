"""A training run's curves as a piece of a page, for pages other than the report: the web's monitor shows them live.

    find_runs("runs")           # {"gomoku": PosixPath("runs/gomoku"), ...}, or the one run if the folder is one itself
    training_curves(folder)     # the cards of all charts, as HTML; RunError says why there are none
    curves_style()              # the CSS and the JavaScript that a page with such pieces has once; after putting in a
    curves_script()             # new piece, dispatch a bubbling "charts" event on the element that holds it

The imports wait until they are needed: who only plays does not load the training code.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path

METRICS = "metrics.jsonl"


@dataclass(frozen=True)
class TrainingCurves:
    """`html` is safe to put into a page, whatever was in the files."""

    title: str
    iterations: int
    html: str


def find_runs(folder: str | Path) -> dict[str, Path]:
    """Runs that have finished an iteration, by the name of their folder, the latest first."""
    folder = Path(folder)
    metrics = [folder / METRICS, *folder.glob(f"*/{METRICS}")]
    there = [path for path in metrics if path.is_file()]
    return {path.parent.resolve().name: path.parent for path in sorted(there, key=_changed, reverse=True)}


def _changed(path: Path) -> float:
    return path.stat().st_mtime


def training_curves(folder: str | Path) -> TrainingCurves:
    from alphazero.report_curves import card_html, sections
    from alphazero.report_run import read_run

    run = read_run(Path(folder))
    parts = [
        f'<section><h3>{escape(title)}</h3><div class="cards">{"".join(map(card_html, cards))}</div></section>'
        for title, cards in sections(run.lines)
    ]
    html = "".join(parts).encode("utf-8", "replace").decode("utf-8")  # JSON may hold halves of characters
    return TrainingCurves(run.title, run.lines[-1]["iteration"], html)


def curves_style() -> str:
    from alphazero import charts

    return charts.style() + Path(__file__).with_name("report.css").read_text("utf-8")


def curves_script() -> str:
    from alphazero import charts

    return charts.script()
