"""The three games: the contract, the independent slow rules, and the examples that DESIGN spells out."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from alphazero import IllegalBoard, UnknownGame, game_names, get_game
from alphazero.text import draw, parse, parse_cell
from tests.game_contract import check_game, random_game
from tests.slow_rules import SLOW_RULES

GAMES = ["chain_reaction", "gomoku", "tictactoe"]
PLIES = 100_000


@pytest.mark.parametrize("name", GAMES)
def test_contract(name):
    check_game(get_game(name), games=30)


@pytest.mark.slow
@pytest.mark.parametrize("name", GAMES)
def test_agrees_with_slow_rules(name):
    game = get_game(name)
    rng = np.random.default_rng(1)
    plies = 0
    while plies < PLIES:
        fast, slow = game.start(), SLOW_RULES[name]()
        while True:
            assert fast.legal_moves() == slow.moves()
            assert fast.board.tolist() == slow.board()
            assert (fast.winner, fast.to_move) == (slow.winner, slow.to_move)
            if slow.winner is not None:
                break
            action = int(rng.choice(slow.moves()))
            fast = fast.play(action)
            slow.play(action)
            plies += 1


def chain(text, to_move=1):
    return parse(get_game("chain_reaction"), text + ("\nRed to move" if to_move == 1 else "\nBlue to move"))


def test_chain_reaction_first_moves_bring_three_atoms():
    start = get_game("chain_reaction").start()
    assert start.play(12).play(0).board.tolist() == [[-3, 0, 0, 0, 0], [0] * 5, [0, 0, 3, 0, 0], [0] * 5, [0] * 5]


def test_chain_reaction_waves_are_simultaneous():
    # Two full neighbours: one explodes, lifts the other to 4, and that one's explosion gives an atom back.
    before = chain("""
        . .  .  . .
        . .  .  . .
        . +3 +3 . .
        . .  .  . .
        . .  .  . -3""")
    assert draw(before.play(11)).split("\n")[1:6] == [
        "1  .  .  .  .  .",
        "2  . +1 +1  .  .",
        "3 +1 +1  . +1  .",
        "4  . +1 +1  .  .",
        "5  .  .  .  . -3",
    ]


def test_chain_reaction_five_atoms_explode_to_none_and_neighbours_keep_one():
    # The corner's neighbours both explode in wave 1 and both hit the corner, which then holds 5.
    before = chain("""
        +3 +3 .  . .
        +3 -3 .  . .
        .  .  .  . .
        .  .  .  . .
        .  .  .  . -3""")
    after = before.play(0)
    slow = SLOW_RULES["chain_reaction"]()
    slow.grid = {(r, c): (int(np.sign(v)), abs(int(v))) for (r, c), v in np.ndenumerate(before.board)}
    slow.ply = 10
    slow.play(0)
    assert after.board.tolist() == slow.board()


def test_chain_reaction_corner_is_critical_at_four():
    before = chain("+3 . . . .\n. . . . .\n. . . . .\n. . . . .\n. . . . -3")  # after both first moves
    assert before.play(0).board[0].tolist() == [0, 1, 0, 0, 0]
    assert before.play(0).winner is None


def test_chain_reaction_takes_the_last_cell_and_wins():
    before = chain("+3 -1 . . .\n. . . . .\n. . . . .\n. . . . .\n. . . . +1")
    after = before.play(0)
    assert after.winner == 1
    assert after.legal_moves() == []
    assert chain("-3 +1 . . .\n. . . . .\n. . . . .\n. . . . .\n. . . . -1", -1).play(0).winner == -1


def test_chain_reaction_is_a_draw_after_200_plies():
    rng = np.random.default_rng(0)
    game = get_game("chain_reaction")
    while True:
        last = random_game(game, rng)[-1]
        assert last.plies <= 200
        if last.winner == 0:
            break
    assert last.plies == 200


@pytest.mark.parametrize(
    ("board", "to_move"),
    [
        ("empty", -1),  # red moves first
        ({0: 3}, 1),  # blue has not moved yet
        ({0: 2}, -1),  # a first move is 3 atoms
        ({0: -3}, 1),  # red moves first
        ({0: -3, 1: -1}, -1),  # red is dead, so red would be to move
        ({0: 3, 1: 1}, 1),
        ({0: 3, 24: -3}, -1),  # after both first moves it is red's turn
        ({0: 1, 24: -1}, 1),  # an explosion leaves its maker two cells
    ],
)
def test_chain_reaction_impossible_boards(board, to_move):
    cells = np.zeros(25, int)
    for cell, count in {} if board == "empty" else board.items():
        cells[cell] = count
    with pytest.raises(IllegalBoard):
        get_game("chain_reaction").from_board(cells.reshape(5, 5), to_move)


def test_gomoku_five_and_more_win():
    game = get_game("gomoku")
    for count, at in ((5, 4), (6, 2)):  # the stone at `at` joins two pieces to a row of `count`
        board = np.zeros((9, 9), int)
        board[4, [c for c in range(count) if c != at]] = 1
        board[[0, 1, 2, 6, 7][: count - 1], 8] = -1
        position = game.from_board(board, 1)
        assert position.play(4 * 9 + at).winner == 1


def test_gomoku_impossible_boards():
    game = get_game("gomoku")
    two_black = np.zeros((9, 9), int)
    two_black[0, :2] = 1
    both_five = np.zeros((9, 9), int)
    both_five[0, :5], both_five[1, :5] = 1, -1
    two_fives = np.zeros((9, 9), int)
    two_fives[0, :5], two_fives[2, :5] = 1, 1
    two_fives[4, :4], two_fives[6, :4], two_fives[8, 0] = -1, -1, -1
    for board, to_move, why in (
        (two_black, 1, "There are 2"),
        (two_black, -1, "There are 2"),
        (both_five, 1, "already has five"),
        (two_fives, -1, "two rows of five"),
    ):
        with pytest.raises(IllegalBoard, match=why):
            game.from_board(board, to_move)


def test_gomoku_crossing_fives_by_one_stone_are_fine():
    board = np.zeros((9, 9), int)
    board[4, :5], board[:5, 4] = 1, 1
    board[8, :4], board[7, :4] = -1, -1
    assert get_game("gomoku").from_board(board, -1).winner == 1


def test_full_gomoku_board_is_a_draw():
    board = np.fromfunction(lambda r, c: np.where((c + 2 * r) % 4 < 2, 1, -1), (9, 9)).astype(int)
    position = get_game("gomoku").from_board(board, -1 if (board == 1).sum() == 41 else 1)
    assert position.winner == 0
    assert position.legal_moves() == []


def test_tictactoe_impossible_boards():
    game = get_game("tictactoe")
    for board, to_move in (
        ([[1, 1, 0], [0, 0, 0], [0, 0, 0]], 1),
        ([[1, 1, 1], [-1, -1, -1], [0, 0, 0]], 1),
        ([[1, 1, 1], [-1, -1, 0], [0, 0, 0]], 1),
        ([[0, 0, 0], [0, 0, 0], [0, 0, 0]], -1),
    ):
        with pytest.raises(IllegalBoard):
            game.from_board(board, to_move)


@pytest.mark.parametrize("name", GAMES)
def test_text_round_trip_and_pickle(name):
    game = get_game(name)
    for position in random_game(game, np.random.default_rng(3)):
        assert (parse(game, str(position)).board == position.board).all()
        assert pickle.loads(pickle.dumps(position)) == position
        assert pickle.loads(pickle.dumps(position)).moves == position.moves


def test_cell_names():
    game = get_game("gomoku")
    assert game.start().cell_name(0) == "A1"
    for action in range(81):
        assert parse_cell(game, game.start().cell_name(action)) == action
        assert parse_cell(game, str(action)) == action
    for bad in ("", "J1", "A0", "A10", "81", "é5", "A", "-1"):
        with pytest.raises(ValueError, match="A1"):
            parse_cell(game, bad)


def test_games_are_found_by_name():
    assert set(GAMES) <= set(game_names())  # and whatever a reader has added
    for bad in ("chess", "os", "antigravity", "alphazero", "../gomoku", "gomoku.x", "", None, 5, [], "Gomoku"):
        with pytest.raises(UnknownGame, match="gomoku"):
            get_game(bad)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"play": lambda *_: 0}, "@njit"),
        ({"symbols": {0: ".", 1: "X"}}, "both players"),
        ({"players": {1: "A"}}, "players"),
        ({"levels": {}}, "beginner"),
        ({"rows": 0}, "rows"),
        ({"rules_version": "1"}, "rules_version"),
    ],
)
def test_a_game_with_a_hole_says_so(change, words):
    with pytest.raises(ValueError, match=words):
        replace(get_game("gomoku"), **change)


def test_positions_are_immutable():
    position = get_game("gomoku").start()
    for name in ("game", "moves", "board", "to_move", "winner"):
        with pytest.raises(AttributeError):
            setattr(position, name, None)
    for wrong in (-1, 8, 1.5):
        with pytest.raises(ValueError, match="symmetry must be"):
            position.transform(wrong)
    with pytest.raises(ValueError, match="0 to 80"):
        position.cell_name(81)
