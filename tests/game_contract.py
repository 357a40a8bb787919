"""What every game must keep. Call `check_game` from a test of any game, also of one that is not in this repository."""

from itertools import pairwise

import numpy as np
import pytest

from alphazero import IllegalBoard, IllegalMove


def random_game(game, rng):
    """All positions of one random game, the final one included."""
    positions = [game.start()]
    while positions[-1].winner is None:
        positions.append(positions[-1].play(int(rng.choice(positions[-1].legal_moves()))))
    return positions


def check_game(game, games=20, seed=0):
    rng = np.random.default_rng(seed)
    check_start(game)
    for _ in range(games):
        positions = random_game(game, rng)
        check_end(positions[-1])
        for before, after in pairwise(positions):
            check_step(before, after)
        for position in rng.permutation(len(positions))[:6]:
            check_immutable(positions[position], rng)
            check_symmetries(positions[position], rng)
            check_round_trip(positions[position])
            check_planes(positions[position])
            check_bad_moves(positions[position])
    check_bad_boards(game)


def check_start(game):
    start = game.start()
    assert start == game.start()
    assert hash(start) == hash(game.start())
    assert (start.to_move, start.winner, start.plies, start.moves) == (1, None, 0, ())
    assert start.board.shape == (game.rows, game.cols)
    assert not start.board.any()
    assert start.legal_moves()
    assert game.num_actions == game.rows * game.cols
    assert sorted(game.players) == [-1, 1]
    assert set(game.levels) == {"beginner", "easy", "medium", "hard", "master"}


def check_step(before, after):
    assert after.to_move == -before.to_move
    assert after.plies == before.plies + 1
    assert after.moves == (*before.moves, after.last_action)
    assert after.last_action in before.legal_moves()
    assert after.moves_since(before) == (after.last_action,)
    assert before.moves_since(after) is None
    assert np.isin(after.board, list(before.game.symbols)).all()


def check_end(last):
    assert last.winner in (1, -1, 0)
    assert last.legal_moves() == []
    assert last.winner in (0, -last.to_move), "only the player who has just moved can have won"
    with pytest.raises(IllegalMove, match="over"):
        last.play(0)


def check_immutable(position, rng):
    before = position.state
    board = position.board
    board[:] = 1
    position.state[:] = 1
    position.legal_moves().clear()
    for action in position.legal_moves():
        position.play(action)
    assert (position.state == before).all()
    assert position.legal_moves() or position.winner is not None


def check_symmetries(position, rng):
    game = position.game
    assert len(game.symmetries) == (8 if game.rows == game.cols else 4)
    for s, table in enumerate(game.symmetries):
        turned = position.transform(s)
        assert turned.transform(int(game.inverses[s])) == position
        assert (turned.to_move, turned.winner, turned.plies) == (position.to_move, position.winner, position.plies)
        assert turned.legal_moves() == sorted(int(table[a]) for a in position.legal_moves())
        planes = position.planes().reshape(-1, game.num_actions)
        assert (turned.planes().reshape(-1, game.num_actions)[:, table] == planes).all()
        if position.winner is None:
            action = int(rng.choice(position.legal_moves()))
            assert position.play(action).transform(s) == turned.play(int(table[action]))


def check_round_trip(position):
    again = None
    try:
        again = position.game.from_board(position.board.tolist(), position.to_move)
    except IllegalBoard as error:
        pytest.fail(f"a board of a real game was refused: {error}\n{position}")
    assert (again.board == position.board).all()
    assert again.to_move == position.to_move
    assert again.plies <= position.plies
    # A draw by length is history that a board does not show; every other result must be seen in it.
    by_length = position.winner == 0 and again.winner is None
    assert by_length or again.winner == position.winner
    assert by_length or again.legal_moves() == position.legal_moves()


def check_planes(position):
    planes = position.planes()
    assert planes.dtype == np.float32
    assert planes.shape == (position.game.network.planes, position.game.rows, position.game.cols)
    assert np.abs(planes).max(initial=0) <= 1
    # Compiled code does not check array bounds; the same function in plain Python does.
    game = position.game
    slow = np.zeros((game.network.planes, game.num_actions), np.float32)
    last = -1 if position.last_action is None else position.last_action
    game.encode.py_func(position.board.ravel(), position.to_move, last, slow)
    assert (slow.reshape(planes.shape) == planes).all()


def check_bad_moves(position):
    count = position.game.num_actions
    for bad in (-1, count, 10**9, 1.5, "0", None, True, [0]):
        with pytest.raises(IllegalMove, match=f"0 to {count - 1}"):
            position.play(bad)
    if position.winner is None:
        for action in set(range(count)) - set(position.legal_moves()):
            with pytest.raises(IllegalMove, match=rf"cell {action}\) .+\.$"):
                position.play(action)


def check_bad_boards(game):
    empty = np.zeros((game.rows, game.cols), int).tolist()
    for board, to_move in (
        (empty[:-1], 1),
        ([row[:-1] for row in empty], 1),
        ([*empty[:-1], empty[-1][:-1]], 1),
        ([[None] * game.cols for _ in range(game.rows)], 1),
        ([["0"] * game.cols for _ in range(game.rows)], 1),
        ([[0.5] * game.cols for _ in range(game.rows)], 1),
        ([[float("nan")] * game.cols for _ in range(game.rows)], 1),
        ([[True] * game.cols for _ in range(game.rows)], 1),
        ([[99] * game.cols for _ in range(game.rows)], 1),
        ([[10**30] * game.cols for _ in range(game.rows)], 1),
        (None, 1),
        ("board", 1),
        ({}, 1),
        (empty, 0),
        (empty, 2),
        (empty, "1"),
        (empty, None),
        (empty, True),
        (empty, [1]),
    ):
        with pytest.raises(IllegalBoard):
            game.from_board(board, to_move)
