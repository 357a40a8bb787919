"""The threat solver of Gomoku: shapes by hand, symmetry, a set of tactics, and no claim that full defence refutes."""

from collections import Counter

import numpy as np
import pytest

import gomoku
from alphazero import get_game
from alphazero.game import FORCED, LOSES, NOTHING, WINS
from gomoku import lines
from gomoku.solver import Solver
from gomoku.tactics import tactics
from gomoku.tactics_set import LENGTHS, generate, load, play_game, shape_of
from gomoku.vct import RUNNING
from tests.prover_slow import CELLS, SlowProver, completing, four_making, to_bits, to_cells

GAME = get_game("gomoku")


def board(*rows, to_move=1):
    """(cells, player) from rows such as "..XX.O"; what is missing is empty. Counts need not be those of a game."""
    cells = np.zeros(81, np.int16)
    for row, text in enumerate(rows):
        for col, cell in enumerate(text.replace(" ", "")):
            cells[row * 9 + col] = {"X": 1, "O": -1, ".": 0}[cell]
    return cells, to_move


def fours(cells, player):
    """The line of a win by fours alone."""
    return Solver(cells, 10).fours(0 if player == 1 else 1)


def threats(cells, player, most=3, nodes=200_000):
    """Plies of a win by up to so many threats; 0 if there is none."""
    solver = Solver(cells, 14)
    for count in range(most + 1):
        solver.begin(0 if player == 1 else 1, count)
        value = solver.advance(nodes)
        assert value != RUNNING
        if value > 0:
            return value
    return 0


def advise(own, other, plies):
    """The solver's own first move, for the slow prover to try; nothing if it has none."""
    solver = Solver(np.array(to_cells(own, other), np.int16), 12)
    for count in range(1, 9):
        solver.begin(0, count, plies)
        value = solver.advance(300_000)
        if value > 0:
            return CELLS[solver.first_move()]
        if value == RUNNING:
            break
    return 0


def clustered(rng):
    """An unfinished position after 6 to 45 moves, each near to those before it, so that there are threats."""
    grid = np.array([divmod(cell, 9) for cell in range(81)])
    away = np.abs(grid[:, None] - grid[None]).max(axis=2)
    near = np.where(away > 0, 1.0 / np.maximum(away, 1) ** 3, 0.0)
    position, weights = GAME.start(), np.full(81, 1e-3)
    for _ in range(int(rng.integers(6, 45))):
        free = weights * (position.board.ravel() == 0)
        action = int(rng.choice(81, p=free / free.sum()))
        following = position.play(action)
        if following.winner is None:
            position, weights = following, weights + near[action]
    return position


def test_the_lines_are_those_of_the_rules():
    assert (lines.SIZE, lines.CELLS) == (gomoku.SIZE, gomoku.CELLS)
    assert lines.LINES == 36
    rng = np.random.default_rng(1)
    for _ in range(300):
        cells = rng.choice([0, 0, 1, -1], 81).astype(np.int16)
        own, other = to_bits(cells.tolist(), 1)
        empty = sum(CELLS) & ~own & ~other
        solver = Solver(cells, 4)
        for side, stones in ((0, own), (1, other)):
            marked = Counter()
            for line in range(lines.LINES):
                value = int(lines.TABLE[solver.lines[side, line]])
                for place, cell in enumerate(lines.LINE_CELLS[line]):
                    for field in (lines.FIVE, lines.FOUR):
                        if value >> field + place & 1:
                            marked[field] |= CELLS[cell]
            assert marked[lines.FIVE] == completing(stones, empty)
            if not marked[lines.FIVE]:  # with five to complete, every other cell leaves a completing one
                assert marked[lines.FOUR] == four_making(stones, empty)


# Shapes. X attacks and is to move unless it says otherwise.

ROW = "........."


@pytest.mark.parametrize(
    ("rows", "plies"),
    [
        (["XXXX"], 1),
        (["XX.XX"], 1),
        (["OXXXX.XXX"], 1),  # eight in a row: more than five win, too
        ([ROW, "..XXX"], 3),  # an open three becomes an open four
        ([ROW, ".X.XX"], 3),  # a broken one
        ([".X.X.X.X."], 3),  # E1: two fours on one line, which C1 and G1 complete
        ([".X.X.X..."], 0),
        (["X.XX..XX."], 3),  # the same with six in a row at one end
        (["OXXX.....", "....X", "....X", "....X", "....O"], 0),  # the column is closed at both ends
        (["OXXX.....", "....X", "....X", "....X"], 3),  # E1 makes two fours at once
        (["OXXX.O"], 0),  # no room for five
        (["XXX", ".O", "O.O"], 0),  # at the edge: a four that is blocked
        ([ROW, "..XX"], 0),
    ],
)
def test_wins_by_fours(rows, plies):
    cells, player = board(*rows)
    assert len(fours(cells, player)) == plies
    assert (tactics(cells, player, 100)[0] == WINS) == (plies > 0)


FOUR_THREE = [ROW, ROW, ROW, ROW, "OXX.X", "...X", "...X"]
DOUBLE_THREE = [ROW, ROW, ROW, "....X", "....X", "..XX"]


def test_four_three_wins_and_the_four_alone_does_not():
    # D5 makes a four, closed on the left, and in the column an open three; F5 is the forced reply.
    assert fours(board(*FOUR_THREE)[0], 1)[:2] in ((39, 41), (41, 39))
    assert len(fours(board(*FOUR_THREE)[0], 1)) == 5
    assert threats(board(*FOUR_THREE[:5])[0], 1, most=1) == 0


def test_double_three_wins_in_five():
    cells = board(*DOUBLE_THREE)[0]
    assert not fours(cells, 1)
    assert threats(cells, 1, most=1) == 5
    assert threats(board(*DOUBLE_THREE[:5])[0], 1, most=1) == 0  # a two alone


def test_a_defender_with_an_open_three_is_quicker_than_a_double_three():
    cells = board(*DOUBLE_THREE, ROW, ROW, "..OOO")[0]
    assert threats(cells, 1, most=1) == 0
    assert fours(cells, -1)


def test_a_counter_four_takes_time_but_is_answered():
    # White's three is closed on one side: a four, which black must answer, and the double three still stands.
    cells = board(*DOUBLE_THREE, ROW, ROW, "XOOO")[0]
    assert 5 < threats(cells, 1, most=1) <= 9


def test_a_forced_block_that_completes_five_is_no_block_but_a_loss():
    # E1 would make a four that F1 blocks; F1 is five for white, so it must be taken first.
    cells = board("OXXX.....", ".....O", ".....O", ".....O", ".....O", ".....X")[0]
    assert fours(cells, 1) == ()
    assert tactics(cells, 1, 100)[:2] == (FORCED, 5)


def test_a_forced_block_that_makes_a_four_must_be_answered_first():
    # G3 is a four with a three below it; the block on H3 makes a white four that black must stop on H2.
    cells = board(ROW, ROW, "..OXXX...", "......X..", "......X..", ROW, ".......X.")[0]
    assert fours(cells, 1)[:2] == (24, 25)
    cells[[34, 43, 52]] = -1
    assert fours(cells, 1) == ()
    cells[[32, 40]] = 1  # with these, H2 makes an open four down the diagonal
    assert fours(cells, 1)[:3] == (24, 25, 16)


def test_tactics_knows_loss_and_the_forced_move():
    assert tactics(*board(".OOOO....", "XX", to_move=1), 50)[0] == LOSES
    assert tactics(*board("XOOOO....", "XX", to_move=1), 50)[:2] == (FORCED, 5)
    assert tactics(*board("XOOOO....", "XXXX", to_move=1), 50) == (WINS, 13, 1)
    assert tactics(*board(ROW), 50) == (NOTHING, -1, 0)


def test_all_symmetries_and_both_colours_agree():
    rng = np.random.default_rng(5)
    for _ in range(60):
        position = clustered(rng)
        cells, player = position.board.ravel(), position.to_move
        want = tactics(cells, player, 10_000)[0], threats(cells, player, most=0), threats(cells, player, most=1)
        for table in GAME.symmetries:
            for colour in (1, -1):
                seen = np.zeros(81, np.int16)
                seen[table] = cells * colour
                other = player * colour
                assert (tactics(seen, other, 10_000)[0], threats(seen, other, most=0) > 0) == (want[0], want[1] > 0)
                assert (threats(seen, other, most=1) > 0) == (want[2] > 0)


# The set of tactics.


def test_the_set_holds_every_length_and_nothing_twice():
    counts = Counter(tactic.plies for tactic in load())
    assert set(counts) == set(LENGTHS)
    assert min(counts.values()) >= 20
    assert len({shape_of(tactic.position()) for tactic in load()}) == len(load())


def test_the_set_is_made_anew_by_its_seed():
    assert generate(3, 2, 6) == generate(3, 2, 6)


@pytest.mark.slow
def test_every_tactic_wins_against_full_defence():
    rng = np.random.default_rng(2)
    for tactic in load():
        if tactic.plies > 9 and rng.random() > 0.25:  # a sample of the long ones
            continue
        own, other = to_bits(tactic.cells().tolist(), tactic.to_move)
        slow = SlowProver(advise)
        assert slow.wins(own, other, tactic.plies), tactic
        assert slow.wins_by_fours(own, other, tactic.plies) == (tactic.kind == "vcf")
        first = CELLS[int(rng.choice(tactic.wins))]
        assert slow.beats_all(own | first, other, tactic.plies - 1), tactic


# No false proof, nothing missed.


@pytest.mark.slow
def test_no_false_proof_in_random_positions():
    """10,000 positions; every win and loss by fours is checked, those by threats as far as the solver's advice goes."""
    rng = np.random.default_rng(7)
    claims = verified = 0
    for number in range(10_000):
        position = clustered(rng)
        own, other = to_bits(position.board.ravel().tolist(), position.to_move)
        slow = SlowProver(advise if number % 20 == 0 else lambda *_: 0)
        result, action, plies = tactics(position.board.ravel(), position.to_move, 100)
        if result == WINS:
            claims += 1
            following = position.play(action)
            verified += following.winner == position.to_move or slow.beats_all(own | CELLS[action], other, plies - 1)
        elif result == LOSES:
            claims += 1
            verified += slow.wins_by_fours(other, own | CELLS[action], 1)
            assert not completing(own, sum(CELLS) & ~own & ~other)
        elif result == FORCED:
            danger = completing(other, sum(CELLS) & ~own & ~other)
            assert danger == CELLS[action]
    assert claims > 3_000
    assert verified == claims


@pytest.mark.slow
def test_nothing_short_is_missed():
    """All wins by fours, and all wins in five plies whatever the moves are, by a prover that tries every move."""
    rng = np.random.default_rng(9)
    found = Counter()
    for number in range(240):
        position = clustered(rng) if number % 2 else (game := play_game(rng))[int(rng.integers(len(game)))]
        cells, player = position.board.ravel(), position.to_move
        own, other = to_bits(cells.tolist(), player)
        slow = SlowProver()
        by_fours = slow.wins_by_fours(own, other, 49)
        assert by_fours == bool(fours(cells, player))
        found["fours"] += by_fours
        if not by_fours and slow.wins(own, other, 5):
            found["five"] += 1
            assert threats(cells, player, most=1) > 0
    assert found["fours"] > 60
    assert found["five"] >= 3
