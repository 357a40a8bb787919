"""A fourth game from nothing: the one in docs/add-a-game.md, taken from there, and a smaller one defined here."""

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from alphazero import Checkpoint, get_game, load_player
from alphazero.game import PROJECT
from tests.game_contract import check_game

PAGE = (PROJECT / "docs" / "add-a-game.md").read_text("utf-8")

# Put a stone on an empty cell with no neighbour taken; who can't move has lost. On 3x4, so only 4 symmetries.
KAYLES = """
from numba import njit

from alphazero.game import UNDECIDED, Game, count_stones
from alphazero.settings import NetworkShape


@njit(cache=True)
def free(cells, cell):
    row, col = divmod(cell, 4)
    return (
        cells[cell] == 0
        and (row == 0 or cells[cell - 4] == 0)
        and (row == 2 or cells[cell + 4] == 0)
        and (col == 0 or cells[cell - 1] == 0)
        and (col == 3 or cells[cell + 1] == 0)
    )


@njit(cache=True)
def legal(cells, player, plies, mask):
    for cell in range(12):
        mask[cell] = free(cells, cell)


@njit(cache=True)
def play(cells, player, action, plies):
    cells[action] = player
    for cell in range(12):
        if free(cells, cell):
            return UNDECIDED
    return player


@njit(cache=True)
def encode(cells, player, last, planes):
    for cell in range(12):
        planes[0, cell] = abs(cells[cell])


def check_board(cells, to_move):
    stones = count_stones(cells, to_move)
    return stones, UNDECIDED if any(free(cells, cell) for cell in range(12)) else -to_move


GAME = Game(
    name="kayles", title="Kayles", rows=3, cols=4, rules_version=1, symbols={0: ".", 1: "X", -1: "O"},
    play=play, legal=legal, encode=encode, check_board=check_board,
    network=NetworkShape(planes=1, channels=4, blocks=1),
)
"""


def code_of_the_page():
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    return next(block for block in blocks if "GAME = Game(" in block), next(b for b in blocks if "load_player(" in b)


@pytest.fixture(params=["snort", "kayles"])
def game(request, tmp_path, monkeypatch):
    name = request.param
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text(code_of_the_page()[0] if name == "snort" else KAYLES)
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    yield get_game(name)
    sys.modules.pop(name, None)
    importlib.import_module("alphazero.game")._load_game.cache_clear()


def value_to_move(position, known):
    if position not in known:
        known[position] = (
            position.winner * position.to_move
            if position.winner is not None
            else max(-value_to_move(position.play(action), known) for action in position.legal_moves())
        )
    return known[position]


def test_it_keeps_the_contract(game):
    check_game(game, games=10)


def test_it_is_played_well_at_once(game, tmp_path):
    """The untrained network's search proves what the full tree says, from a position small enough for that."""
    player = load_player(Checkpoint.fresh(game).save(tmp_path / "net"), simulations=20_000)
    position, known = game.start(), {}
    for _ in range(4 if game.name == "snort" else 0):
        position = position.play(position.legal_moves()[0])
    result = player.search(position)
    assert result.proven == {1: "win", -1: "loss"}[value_to_move(position, known)]
    assert value_to_move(position.play(result.action), known) == -value_to_move(position, known)


def test_the_commands_take_it(game, tmp_path):
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{PROJECT}"}
    folder = Checkpoint.fresh(game).save(tmp_path / "net")

    def command(*arguments, stdin=""):
        line = [sys.executable, "-m", "alphazero", *arguments]
        return subprocess.run(line, capture_output=True, text=True, timeout=300, env=env, input=stdin)

    played = command("play", game.name, "--checkpoint", str(folder), "--simulations", "50", stdin="A1\nquit\n")
    assert played.returncode == 0, played.stderr
    assert "The AI plays" in played.stdout
    bench = command("bench", game.name, "--untrained", "--rounds", "1", "--slice", "0.02", "--simulations", "10")
    assert bench.returncode == 0, bench.stderr


def test_the_page_keeps_its_word(tmp_path):
    """Its two listings, run as they stand, in a copy of the project."""
    for item in ("alphazero", "checkpoints"):
        (tmp_path / item).symlink_to(PROJECT / item) if item == "alphazero" else (tmp_path / item).mkdir()
    (tmp_path / "snort").mkdir()
    (tmp_path / "snort" / "__init__.py").write_text(code_of_the_page()[0])
    listing = code_of_the_page()[1].replace('load_player("snort"', 'load_player("./checkpoints/snort"')
    done = subprocess.run(
        [sys.executable, "-c", listing], cwd=tmp_path, capture_output=True, text=True, timeout=300,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "to move" in done.stdout


def test_every_file_that_the_page_names_is_there():
    for path in re.findall(r"`((?:tests|docs|gomoku|alphazero)/[\w/]+\.(?:py|md))`", PAGE):
        assert Path(PROJECT / path).is_file(), path
