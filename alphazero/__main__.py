"""The commands: `python -m alphazero COMMAND GAME ...`; report alone takes a run in place of a game."""

from __future__ import annotations

import argparse
import importlib
import sys

from alphazero.checkpoint import CheckpointError
from alphazero.engine import EngineFull
from alphazero.game import UnknownGame, game_names, get_game
from alphazero.training import TrainingError

COMMANDS = {
    "arena": "let players meet and say which is stronger, with error bars",
    "bench": "measure how close the search comes to the speed of the bare network",
    "export": "write a checkpoint as a folder ready for the Hugging Face Hub",
    "play": "play against the AI in this terminal",
    "report": "draw a training run as one page of curves",
    "train": "train a network from nothing, or go on with it",
}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m alphazero", description="AlphaZero for small board games.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, what in COMMANDS.items():
        module = importlib.import_module(f"alphazero.{name}")
        command = commands.add_parser(name, help=what, description=(module.__doc__ or "").partition("\n")[0])
        if getattr(module, "TAKES_GAME", True):
            command.add_argument("game", metavar="GAME", type=_game, help=f"one of: {', '.join(game_names())}")
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    args = parser.parse_args(arguments)
    try:
        return args.run(args)
    except (ValueError, CheckpointError, EngineFull, TrainingError, OSError) as error:
        print(f"{parser.prog} {args.command}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def _game(name: str) -> str:
    try:
        return get_game(name).name
    except UnknownGame as error:
        raise argparse.ArgumentTypeError(str(error)) from None


if __name__ == "__main__":
    sys.exit(main())
