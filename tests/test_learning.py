"""From zero to perfect: tic-tac-toe, trained by the command with its defaults, against the complete game tree."""

import json
import subprocess
import sys

import numpy as np
import pytest

from alphazero import get_game
from alphazero.checkpoint import load_checkpoint
from alphazero.game import PROJECT
from alphazero.model import Model
from alphazero.player import Player

GAME = get_game("tictactoe")


def game_tree():
    """Every reachable unfinished position with its value_to_move: plain minimax, no search of ours."""
    values = {}

    def value(position):
        key = position.board.tobytes() + bytes([position.to_move & 255])
        if key not in values:
            if position.winner is not None:
                values[key] = (position, position.winner * position.to_move)
            else:
                values[key] = (position, max(-value(position.play(move)) for move in position.legal_moves()))
        return values[key][1]

    value(GAME.start())
    return values


TREE = game_tree()
OPEN = [(position, value) for position, value in TREE.values() if position.winner is None]


def value_after(position, move):
    """What a move is worth for who makes it."""
    after = position.play(move)
    return -TREE[after.board.tobytes() + bytes([after.to_move & 255])][1]


def policy_moves(model):
    """The bare network's choice in every position."""
    evaluator = model.make_evaluator()
    moves = []
    for first in range(0, len(OPEN), 64):
        part = [position for position, _ in OPEN[first : first + 64]]
        logits, _ = evaluator.evaluate(np.stack([position.planes() for position in part]))
        moves += [max(p.legal_moves(), key=lambda a, row=row: row[a]) for p, row in zip(part, logits, strict=True)]
    return moves


def mistakes(moves):
    """(moves that lose what was not lost, moves that give anything away)."""
    worse = [(value, value_after(p, move)) for (p, value), move in zip(OPEN, moves, strict=True)]
    return sum(after == -1 < before for before, after in worse), sum(after < before for before, after in worse)


def test_the_tree_is_complete():
    assert len(OPEN) == 4520
    assert TREE[GAME.start().board.tobytes() + b"\x01"][1] == 0


@pytest.mark.slow
def test_from_zero_to_no_losing_move_in_any_position(tmp_path):
    command = [sys.executable, "-m", "alphazero", "train", "tictactoe", "--run", str(tmp_path), "--anchor-every", "0"]
    result = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=500)
    assert result.returncode == 0, result.stderr
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert lines[-1]["policy_kl"] < 0.5 * lines[1]["policy_kl"]
    model = Model.of(load_checkpoint(tmp_path / "best"))
    losing, _ = mistakes(policy_moves(model))
    assert losing == 0  # the network alone, without a single simulation
    assert mistakes(search_moves(model, 25)) == (0, 0)


def search_moves(model, simulations):
    player = Player(model, simulations=simulations, seed=0)
    under_way, moves = [], []
    for position, _ in OPEN:  # some in flight at a time, so that they share batches
        under_way.append(player.start(position))
        if len(under_way) == 64:
            moves += [thinking.result().action for thinking in under_way]
            under_way = []
    return moves + [thinking.result().action for thinking in under_way]


@pytest.mark.slow
def test_the_shipped_network_makes_no_mistake_at_all():
    model = Model.of(load_checkpoint(PROJECT / "checkpoints" / "tictactoe"))
    assert mistakes(policy_moves(model)) == (0, 0)
    assert mistakes(search_moves(model, 50)) == (0, 0)


def test_an_untrained_network_does_make_mistakes():
    from alphazero.checkpoint import Checkpoint

    losing, _ = mistakes(policy_moves(Model.of(Checkpoint.fresh(GAME))))
    assert losing > 500
