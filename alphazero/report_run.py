"""What the files of a training run say, for a report: a run's folder, its metrics.jsonl, or a checkpoint folder with a
copy of that. Only the metrics must be there; settings and log are taken if they are.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from alphazero.game import Game, game_names, get_game
from alphazero.training.run_folder import RunError, read_metrics

LOG_BYTES = 4 << 20  # of a longer log only the end is read
# What the log has of every iteration and every start; anything else is worth a look.
ITERATION = re.compile(r"iteration \d+: [\d,]+ games, ")
EXPECTED = re.compile(r"training (begins|goes on)|stopped by the user|setting \w+: ")


@dataclass(frozen=True)
class Event:
    """A kind of line in the log, other than the reports of iterations: the last of it, and how often it came."""

    time: str
    text: str
    warning: bool
    times: int = 1


@dataclass(frozen=True)
class Run:
    """What the files of a run say. `lines`: the metrics, one dict an iteration, in order; at least one."""

    folder: Path
    lines: list[dict[str, Any]]
    game: Game | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)

    @property
    def title(self) -> str:
        return self.game.title if self.game else self.folder.name

    def changed(self) -> dict[str, tuple[Any, Any]]:
        """Settings that are not the game's own: name -> (here, by default)."""
        if self.game is None:
            return {}
        usual = vars(self.game.training)
        return {name: (value, usual.get(name)) for name, value in self.settings.items() if value != usual.get(name)}

    def events(self) -> list[Event]:
        """By kind, that is but for their numbers; the latest last. So a frequent warning does not bury a rare one."""
        kinds: dict[str, Event] = {}
        for line in self.log:
            moment, text = split_log_line(line)
            if not text or ITERATION.match(text):
                continue
            kind = re.sub(r"\d+(\.\d+)?", "0", text)
            earlier = kinds.pop(kind, None)
            kinds[kind] = Event(moment, text, not EXPECTED.match(text), 1 + (earlier.times if earlier else 0))
        return list(kinds.values())


def split_log_line(line: str) -> tuple[str, str]:
    """(time, text); a start's text without the settings, which stand elsewhere."""
    match = re.match(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) (.*)", line)
    moment, text = match.groups() if match else ("", line)
    return moment, text.partition(": {")[0] if text.startswith("training ") else text


def read_run(path: Path) -> Run:
    """Everything there is to know about a run from whichever of its files are there."""
    path = Path(os.path.abspath(path))  # so that "." has a name
    metrics = path / "metrics.jsonl" if path.is_dir() else path
    folder = metrics.parent
    if not metrics.is_file():
        known = any((folder / name).exists() for name in ("settings.json", "replay", "log.txt"))
        if path.is_dir() and known:
            raise RunError(f"{path} has no iteration yet; a report needs the first one to be finished")
        what = f"{path} has no metrics.jsonl" if path.is_dir() else f"there is no {path}"
        raise RunError(f"{what}; give the folder of a training run, such as runs/GAME")
    try:
        lines = _in_order(read_metrics(metrics))
    except UnicodeDecodeError as error:
        raise RunError(f"{metrics} is not a file of metrics: {error}") from None
    if not lines:
        raise RunError(f"{metrics} has no iteration yet; a report needs the first one to be finished")
    config = _json(folder / "config.json")
    trained = config.get("training")
    settings = _json(folder / "settings.json") or (trained.get("settings") if isinstance(trained, dict) else None)
    return Run(folder, lines, _game(folder, config), settings if isinstance(settings, dict) else {}, _log(folder))


def _in_order(lines: Iterable[Any]) -> list[dict[str, Any]]:
    """By iteration, the last word on each; what is no line of metrics is left out."""
    by_number = {
        line["iteration"]: line
        for line in lines
        if isinstance(line, dict) and type(line.get("iteration")) is int and 0 <= line["iteration"] < 1e9
    }
    return [by_number[number] for number in sorted(by_number)]


def _game(folder: Path, config: dict[str, Any]) -> Game | None:
    """From the state, a checkpoint's config or the folder's name, whichever names a game that we have."""
    names = [_json(folder / "state.json").get("game"), config.get("game")]
    names += [_json(folder / "best" / "config.json").get("game"), folder.name]
    return next((get_game(name) for name in names if isinstance(name, str) and name in game_names()), None)


def _json(path: Path) -> dict[str, Any]:
    """An object from a file; nothing if it is missing or damaged, for a report can do without."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _log(folder: Path) -> list[str]:
    try:
        with open(folder / "log.txt", "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - LOG_BYTES))
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return []
    return lines[1:] if size > LOG_BYTES else lines
