"""Getting players ready on two cores.

Numba compiles one function at a time in a process. So another process compiles the games' provers meanwhile, and
leaves them in the cache on the disk, where this one finds them. From a fresh clone on two slow cores that took 24
seconds instead of 40 (`python benchmarks/start.py`).
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable

import numpy as np

from alphazero import proving
from alphazero.game import PROJECT, get_game
from alphazero.player import Player

PATIENCE = 120.0  # seconds for the other process; whatever is missing then is compiled here


def warm_up(players: Iterable[Player]) -> None:
    """Load and compile everything these players need, so that the first search is not slower than the tenth."""
    players = list(players)
    # From the end: this process needs the last game's tactics last.
    with_provers = [player.game.name for player in reversed(players) if player.uses_prover]
    helper = subprocess.Popen(
        [sys.executable, "-m", "alphazero.warming", *with_provers],
        cwd=PROJECT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for player in players:
            player.engine.warm_up(player.model)
        helper.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        pass
    finally:
        helper.kill()
        helper.wait()
    for player in players:
        player.warm_up()


def compile_solvers(name: str) -> None:
    game = get_game(name)
    if game.tactics is not None:  # with the types that the tree calls it with
        game.tactics(np.zeros(game.num_actions, np.int16), np.int16(1), np.int32(1))
    proving.warm_up(game)


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        compile_solvers(argument)
