"""Train a network from nothing, or go on with a run: the same command does both."""

from __future__ import annotations

import argparse
import os
import sys
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

from alphazero.agents import make_agents
from alphazero.game import PROJECT, Game, get_game
from alphazero.grow import grown
from alphazero.model import PRECISION
from alphazero.player import checkpoint_for
from alphazero.train_settings import TrainSettings

RUNS = PROJECT / "runs"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--run", dest="folder", metavar="FOLDER", type=Path, help="folder of the run (default: runs/GAME)"
    )
    parser.add_argument("--config", type=Path, help="TOML file with settings; flags stand above it")
    parser.add_argument(
        "--start-from",
        metavar="FOLDER",
        help="begin with this checkpoint's network, not from nothing; --channels and --blocks may let it grow",
    )
    parser.add_argument(
        "--games-from", metavar="RUN", type=Path, help="begin with the games of this run, not with none: copies them"
    )
    parser.add_argument("--at-most", metavar="N", type=int, help="stop after N more iterations; the plan stays")
    parser.add_argument("--ray", metavar="ADDRESS|local", help="run self-play and matches on a Ray cluster")
    knobs = parser.add_argument_group("settings", "defaults are the game's own; a run that goes on keeps its settings")
    for knob in fields(TrainSettings):
        kind = {"int": int, "float": float}.get(str(knob.type), str)
        knobs.add_argument(
            f"--{knob.name.replace('_', '-')}",
            type=kind,
            choices=knob.metadata.get("choices"),
            metavar={int: "N", float: "X"}.get(kind) if "choices" not in knob.metadata else None,
            help=knob.metadata["help"].replace("%", "%%"),
        )


def run(args: argparse.Namespace) -> int:
    # Here and not above: `python -m alphazero --help` should not wait for torch.
    from alphazero.training.crew import Crew, LocalCrew
    from alphazero.training.interrupt import interrupts_at_safe_points
    from alphazero.training.loop import Trainer
    from alphazero.training.replay import Replay
    from alphazero.training.run_folder import RunFolder

    if args.at_most is not None and args.at_most < 1:
        raise ValueError(f"--at-most must be 1 or more, not {args.at_most}")
    game = get_game(args.game)
    folder = RunFolder(args.folder or RUNS / game.name, game)
    settings = folder.settings(read_settings(game, args, folder))
    if args.start_from is not None and folder.state.best is None:
        folder.start_from(grown(checkpoint_for(game, args.start_from), settings.network(game.network), settings.seed))
    if args.games_from is not None and not folder.state.games:
        folder.bring_games(args.games_from, folder.log)
    make_agents(game, settings.anchors.split())  # a slip there should not wait for the first measurement
    state = folder.state
    if state.iteration >= settings.iterations:
        print(f"{folder.path}: all {settings.iterations} iterations are done; more with --iterations", file=sys.stderr)
        return 0
    begins = f"goes on after iteration {state.iteration}" if state.iteration else "begins"
    folder.log(f"training {begins}: {vars(settings)}")
    print(f"{game.title}: training {begins} in {folder.path}; Ctrl-C stops, the same command goes on", file=sys.stderr)
    # Another start, other games: otherwise a resumed run would play again what it has played.
    seed = [settings.seed, state.iteration, Replay(folder.path / "replay", game, print, state.first_shard).next_number]
    crew: Crew
    if args.ray:
        from alphazero.training.ray_crew import RayCrew

        crew = RayCrew(game, settings, settings.workers, seed, args.ray)
    else:
        crew = LocalCrew(game, settings, settings.workers, seed)
    try:
        with interrupts_at_safe_points():
            Trainer(folder, settings, crew).run(min(settings.iterations, state.iteration + (args.at_most or 10**9)))
    except KeyboardInterrupt:
        folder.log("stopped by the user")
        print("\nstopped; the same command goes on from the last whole iteration and its games", file=sys.stderr)
        return 130
    finally:
        crew.close()
        folder.close()
    return 0


def read_settings(game: Game, args: argparse.Namespace, folder: Any) -> TrainSettings:
    """The game's defaults, or the run's own if it has begun; then the TOML file; then the flags."""
    path = folder.path / "settings.json"
    base = folder.settings(None) if path.exists() else game.training
    values: dict[str, Any] = dict(vars(base))
    if args.config is not None:
        try:
            values |= _checked(tomllib.loads(args.config.read_text("utf-8")), args.config)
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise ValueError(f"{args.config} can't be read as TOML: {error}") from None
    values |= {k.name: getattr(args, k.name) for k in fields(TrainSettings) if getattr(args, k.name) is not None}
    if values["precision"] == "auto":  # settled here, so that it is on record, and the same for workers elsewhere
        values["precision"] = os.environ.get(PRECISION, "auto")
    return TrainSettings.from_dict(values)


def _checked(values: dict[str, Any], path: Path) -> dict[str, Any]:
    known = {knob.name for knob in fields(TrainSettings)}
    unknown = sorted(set(values) - known)
    if unknown:
        raise ValueError(f"{path}: unknown setting {unknown[0]!r}; known: {', '.join(sorted(known))}")
    return values
