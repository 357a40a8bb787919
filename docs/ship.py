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
from alphazero.checkpoint import CHECKPOINTS, CONFIG, write_atomically
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
    past = read_metrics(shipped / METRICS) if goes_on(run, shipped) else []
    metrics = [*past, *count_on(past, lines)]
    training = {**best.training, "iterations": metrics[-1]["iteration"], "games": metrics[-1]["games"]}
    training["cpu_hours"] = metrics[-1]["cpu_hours"]
    replace(best, training=training).save(shipped)
    write_atomically(shipped / METRICS, "".join(json.dumps(line) + "\n" for line in metrics).encode())
    return metrics


def goes_on(run: Path, shipped: Path) -> bool:
    """Did this run begin with the network that is in `shipped`, or with that grown to its own size?"""
    first = run / "snapshots" / "000000"
    if not (first / CONFIG).is_file():
        return False
    begun, seed = load_checkpoint(first), read_settings(run).get("seed", 0)
    try:
        there = grown(load_checkpoint(shipped), begun.shape, seed)
    except ValueError:  # nothing that could become the other
        return False
    return all(np.array_equal(array, begun.weights[name]) for name, array in there.weights.items())


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
