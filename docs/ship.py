"""`python docs/ship.py gomoku runs/gomoku` makes the best network of a run the one that comes with the project.

Weights and config go to checkpoints/GAME. The run's metrics, up to the iteration that made this network, go on where
those of the shipped network end if the run began with it (iterations, games, steps and CPU-hours are counted on), and
stand in their place if it did not. What was proved of the old network is no evidence for the new one: afterwards comes
`python benchmarks/evidence.py GAME`, and then `python docs/strength.py`.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that it runs as a script, from anywhere

import numpy as np

from alphazero import load_checkpoint
from alphazero.checkpoint import CHECKPOINTS, CONFIG, Checkpoint, write_atomically
from alphazero.curves import METRICS
from alphazero.grow import grown
from alphazero.training.run_folder import read_metrics

COUNTED = ("iteration", "games", "steps", "cpu_hours")


def ship(run: Path, shipped: Path) -> list[dict[str, Any]]:
    """Put the run's best network into the folder `shipped`; the metrics that it has now."""
    best = load_checkpoint(run / "best")
    made_by = best.training["iterations"]
    lines = [line for line in read_metrics(run / METRICS) if line["iteration"] <= made_by]
    if not lines or not lines[-1]["promoted"]:
        raise SystemExit(f"{run} has promoted no network yet")
    past = history_before(run, shipped)
    metrics = [*past, *count_on(past, lines)]
    training = {**best.training, "iterations": metrics[-1]["iteration"], "games": metrics[-1]["games"]}
    training["cpu_hours"] = metrics[-1]["cpu_hours"]
    replace(best, training=training).save(shipped)
    write_atomically(shipped / METRICS, "".join(json.dumps(line) + "\n" for line in metrics).encode())
    return metrics


def history_before(run: Path, shipped: Path) -> list[dict[str, Any]]:
    """The shipped network's metrics, if the run went on from it; without the run's own, if it was shipped before."""
    if not (shipped / CONFIG).is_file():
        return []
    there, lines = load_checkpoint(shipped), read_metrics(shipped / METRICS)
    for path in sorted((run / "snapshots").iterdir()):
        snapshot = load_checkpoint(path)
        if int(path.name) == 0 and goes_on(there, snapshot, read_settings(run).get("seed", 0)):
            return lines
        if int(path.name) > 0 and lines and same(there, snapshot):
            return [line for line in lines if line.get("run", 1) < lines[-1].get("run", 1)]
    return []


def goes_on(shipped: Checkpoint, begun: Checkpoint, seed: int) -> bool:
    """Is what a run began with the shipped network, or that grown to the run's own size?"""
    try:
        return same(grown(shipped, begun.shape, seed), begun)
    except ValueError:  # nothing that could become the other
        return False


def same(a: Checkpoint, b: Checkpoint) -> bool:
    return a.shape == b.shape and all(np.array_equal(array, b.weights[name]) for name, array in a.weights.items())


def read_settings(run: Path) -> dict[str, Any]:
    path = run / "settings.json"
    return json.loads(path.read_text("utf-8")) if path.is_file() else {}


def count_on(past: list[dict[str, Any]], lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The lines of a later run, counted from where the earlier ones end."""
    before = {name: past[-1][name] if past else 0 for name in COUNTED}
    number = past[-1].get("run", 1) + 1 if past else 1
    return [{**line, "run": number, **{k: round(line[k] + before[k], 4) for k in COUNTED}} for line in lines]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("game")
    parser.add_argument("run", type=Path, metavar="RUN", help="folder of the run")
    options = parser.parse_args()
    metrics = ship(options.run, CHECKPOINTS / options.game)
    print(f"checkpoints/{options.game}: iteration {metrics[-1]['iteration']}, {metrics[-1]['games']} games")


if __name__ == "__main__":
    main()
