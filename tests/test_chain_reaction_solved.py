"""Blue wins 5x5 Chain Reaction: the stored strategy against the slow rules, and the prover against brute force."""

import copy
import json
import subprocess
import sys
import threading
from functools import cache

import numpy as np
import pytest

from alphazero.game import PLIES, Position
from alphazero.proof import Effort
from chain_reaction import GAME, openings, prover, strategy
from chain_reaction.prover import SLICE, View, prove, search
from chain_reaction.table import new_table
from tests.slow_rules import SlowChainReaction

PICTURE = strategy.PROJECT / "docs" / "images" / "chain-reaction-solved.svg"


def after(state, action):
    state = copy.copy(state)
    state.grid = dict(state.grid)
    state.play(action)
    return state


def turns(board):
    """The eight symmetries of a board, in plain Python."""
    for _ in range(4):
        board = tuple(zip(*reversed(board), strict=True))
        yield board
        yield tuple(row[::-1] for row in board)


def same_for_symmetries(state):
    return state.to_move, min(turns(tuple(map(tuple, state.board()))))


def fast(state):
    """The same position for the real rules."""
    cells = np.array(state.board(), np.int16).ravel()
    return Position(GAME, GAME._state(cells, state.to_move, state.ply, 2))


def random_states(count, seed, low, high):
    """Positions of random games, in the middle of them: a share of low to high of the plies."""
    rng = np.random.default_rng(seed)
    found = []
    while len(found) < count:
        states = [SlowChainReaction()]
        while states[-1].winner is None:
            states.append(after(states[-1], int(rng.choice(states[-1].moves()))))
        found.append(states[int((len(states) - 1) * rng.uniform(low, high))])
    return found


def test_blue_wins_against_every_move_of_red_by_the_slow_rules():
    with np.load(strategy.BLUE_WINS, allow_pickle=False) as file:
        moves = iter(file["moves"].tolist())
    view = View(strategy.load(strategy.BLUE_WINS), -1)
    bounds = {}  # of finished positions: Blue has won within so many plies
    begun = set()

    def walk(state):
        if state.winner is not None:
            assert state.winner == -1
            return 0
        key = same_for_symmetries(state)
        if key not in bounds:
            assert key not in begun, "a circle"
            begun.add(key)
            legal = state.moves()
            played = legal if state.to_move == 1 else [legal[next(moves)]]
            bounds[key] = 1 + max([walk(after(state, action)) for action in played])
            assert view.look(fast(state))[1] == bounds[key], "the bound that the prover tells"
        return bounds[key]

    longest = walk(SlowChainReaction())
    assert next(moves, None) is None, "every stored move is needed"
    assert longest <= 200
    proof = prove(GAME.start(), Effort(1))
    assert (proof.result, proof.plies, proof.nodes) == ("loss", longest, 0)
    assert len(proof.line) == longest, "Red can hold out that long, and Blue's line is complete"
    assert proof.moves == dict.fromkeys(range(25), "loss")


def test_the_prover_plays_the_strategy_from_any_side_of_the_board():
    for symmetry in range(8):
        position = GAME.start().play(int(GAME.symmetries[symmetry, 7]))
        bounds = []
        while position.winner is None:
            proof = prove(position, Effort(1))
            assert proof.result == ("win" if position.to_move == -1 else "loss")
            bounds.append(proof.plies)
            position = position.play(proof.line[0])
        assert position.winner == -1
        assert bounds == list(range(bounds[0], 0, -1))


@cache
def brute_force(key, plies):
    """1 if the player to move wins within so many plies, -1 if he loses, 0 if neither. A position is its text."""
    board, to_move = key
    state = SlowChainReaction()
    state.ply, state.to_move = 2, to_move
    for r, row in enumerate(board):
        for c, count in enumerate(row):
            state.grid[r, c] = ((count > 0) - (count < 0), abs(count))
    results = []
    for action in state.moves() if plies else ():
        child = after(state, action)
        if child.winner is not None:
            return 1
        results.append(-brute_force((tuple(map(tuple, child.board())), child.to_move), plies - 1))
        if results[-1] == 1:
            return 1
    return -1 if results and max(results) == -1 else 0


@pytest.mark.slow
def test_prover_agrees_with_brute_force_late_in_random_games():
    decided = 0
    for state in random_states(120, seed=1, low=0.7, high=1.0):
        if state.winner is not None or state.ply < 2:
            continue
        key = (tuple(map(tuple, state.board())), state.to_move)
        truth = brute_force(key, 3)
        proof = search(fast(state), Effort(200_000), new_table(200_000, 64))
        if truth:
            decided += 1
            assert proof.result == prover.WORDS[truth]
        if proof.result is not None and proof.plies <= 3:
            assert brute_force(key, proof.plies) == (1 if proof.result == "win" else -1)
    assert decided > 25


def check(position, table_effort, plies):
    """Follow a claim down to the end: the winner by the proof, the loser every way he has; the bound falls."""
    if position.winner is not None:
        assert position.winner == -position.to_move
        return
    assert plies > 0
    proof = search(position, Effort(table_effort), new_table(table_effort, 64))
    assert proof.result is not None
    if proof.result == "win":
        assert proof.moves[proof.line[0]] == "win"
        check(position.play(proof.line[0]), table_effort, plies - 1)
    else:
        for action in position.legal_moves():
            check(position.play(action), table_effort, plies - 1)


def test_short_claims_hold_to_the_end_by_every_way():
    followed = 0
    for state in random_states(300, seed=2, low=0.5, high=1.0):
        if state.winner is not None:
            continue
        proof = search(fast(state), Effort(5_000), new_table(5_000, 64))
        # Each step proves anew, and may find another, longer way: so only follow what is short, with room to spare.
        if proof.result is not None and proof.plies <= 4:
            followed += 1
            check(fast(state), 5_000, 40)
    assert followed > 50


def test_claims_fit_the_claims_about_the_moves():
    for state in random_states(60, seed=3, low=0.3, high=0.9):
        if state.winner is not None or state.ply < 4:
            continue
        position = fast(state)
        proof = search(position, Effort(50_000), new_table(50_000, 64))
        assert proof.nodes <= 50_000
        if proof.result == "win":
            assert "win" in proof.moves.values()
        if proof.result == "loss":
            assert proof.moves == dict.fromkeys(position.legal_moves(), "loss")
        if proof.result is None:
            assert "win" not in proof.moves.values()
            assert set(proof.moves) < set(position.legal_moves())
        if proof.result is not None:
            assert 0 < len(proof.line) <= proof.plies
            end = position
            for action in proof.line:
                end = end.play(action)
            assert end.winner == position.to_move * (1 if proof.result == "win" else -1)
        for action, word in proof.moves.items():
            child = position.play(action)
            if child.winner is None:
                found = search(child, Effort(500_000), new_table(500_000, 64)).result
                assert found in (None, {"win": "loss", "loss": "win"}[word])


def test_symmetric_positions_get_the_same_answer():
    decided = 0
    for state in random_states(20, seed=4, low=0.75, high=1.0):
        if state.winner is None and state.ply >= 4:
            position = fast(state)
            results = {search(position.transform(s), Effort(50_000), new_table(50_000, 64)).result for s in range(8)}
            # The order of the moves differs, so one way round may be decided sooner; but never otherwise.
            assert len(results - {None}) <= 1
            decided += results != {None}
    assert decided >= 6


def test_small_positions_by_hand():
    board = np.zeros((5, 5), int)
    board[0, 0], board[0, 1] = 3, -3  # Red's corner takes the other at once
    proof = prove(GAME.from_board(board, 1), Effort(100))
    assert (proof.result, proof.plies, proof.line, proof.moves) == ("win", 1, (0,), {0: "win"})
    board[0, 1], board[1, 1] = 0, -3  # Red's corner must go off, and Blue takes all of it
    proof = prove(GAME.from_board(board, 1), Effort(100))
    assert (proof.result, proof.plies, proof.line, proof.moves) == ("loss", 2, (0, 6), {0: "loss"})
    over = GAME.from_board(board, 1).play(0).play(6)
    assert over.winner == -1
    assert prove(over, Effort(100)).result is None


def late(position, plies):
    state = position.state
    state[PLIES] = plies
    return Position(GAME, state)


def test_a_win_after_the_last_ply_is_no_win():
    lost = GAME.start().play(0).play(6)  # in two plies
    assert prove(late(lost, 198), Effort(100)).result == "loss"
    assert prove(late(lost, 200 - 1), Effort(100)).result is None
    won = lost.play(0)
    assert prove(late(won, 199), Effort(100)).result == "win"
    start = prove(late(GAME.start().play(12).play(6), 190), Effort(100))
    assert start.result is None


def test_effort_is_kept_to():
    hard = GAME.start().play(0).play(24)
    assert prove(hard, Effort(10**7, deadline=0.0)).nodes == 0
    calls = []
    proof = prove(hard, Effort(10**7, cancelled=lambda: calls.append(1) or len(calls) > 3))
    assert proof.result is None
    assert proof.nodes == 3 * SLICE
    assert prove(hard, Effort(1000)).nodes == 1000


def test_threads_do_not_disturb_each_other():
    position = GAME.start().play(7).play(16)
    proofs = []
    threads = [threading.Thread(target=lambda: proofs.append(prove(position, Effort(200_000)))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(proofs) == 4
    assert all(proof == proofs[0] for proof in proofs)
    assert proofs[0].result == "win"


def test_without_the_file_the_search_proves_it_anew(tmp_path, monkeypatch):
    monkeypatch.setattr(strategy, "BLUE_WINS", tmp_path / "none.npz")
    proof = prove(GAME.start(), Effort(500_000))
    assert proof.result == "loss"
    assert proof.nodes > 0


def test_a_damaged_file_is_left_aside_with_a_word(tmp_path, monkeypatch):
    path = tmp_path / "blue.npz"
    blob = strategy.BLUE_WINS.read_bytes()
    path.write_bytes(blob[: len(blob) // 2])
    monkeypatch.setattr(strategy, "BLUE_WINS", path)
    with pytest.warns(UserWarning, match=r"blue\.npz is no strategy file"):
        proof = prove(GAME.start().play(0), Effort(500_000))
    assert proof.result == "win"
    assert proof.nodes > 0


def test_no_damage_makes_a_false_proof(tmp_path):
    with np.load(strategy.BLUE_WINS, allow_pickle=False) as file:
        moves = file["moves"]
    rng = np.random.default_rng(5)
    path = tmp_path / "blue.npz"
    faults = [moves[:-1], np.append(moves, np.uint8(0)), moves[:0], moves[::-1], moves.astype(np.int64)]
    for place in rng.integers(len(moves), size=30):
        wrong = moves.copy()
        wrong[place] = 25
        faults.append(wrong)
    for wrong in faults:
        strategy.save(wrong, path)
        with pytest.raises(strategy.StrategyError, match=r"blue\.npz"):
            strategy.load(path)
    np.savez(path, format=1, rules_version=2, moves=moves)
    with pytest.raises(strategy.StrategyError, match="rules 2"):
        strategy.load(path)
    np.savez(path, moves=np.array([{}]))
    with pytest.raises(strategy.StrategyError, match="no strategy file"):
        strategy.load(path)


def test_the_table_of_openings_is_complete_and_its_quick_results_come_out_again():
    rows = openings.read(openings.TABLE)["openings"]
    positions = list(openings.all_openings())
    assert len(rows) == len(positions) == 85
    for position, row in zip(positions, rows, strict=True):
        assert row["moves"] == [position.cell_name(action) for action in position.moves]
        if row["winner"] is not None and row["nodes"] <= 100_000:
            assert openings._search(position, 100_000, 64) == row
    assert {row["moves"][0] for row in rows if row["winner"] == "blue"} == {row["moves"][0] for row in rows}


def test_the_picture_shows_the_table(tmp_path):
    openings.draw(openings.read(openings.TABLE), tmp_path / "picture.svg")
    assert (tmp_path / "picture.svg").read_text("utf-8") == PICTURE.read_text("utf-8")


def command(*arguments):
    done = subprocess.run(
        [sys.executable, "-m", "chain_reaction.solve", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    return done, json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 and "{" in done.stdout else None


def test_the_command_solves_the_game(tmp_path):
    done, figures = command("--rounds", 0, "--out", tmp_path / "blue.npz", "--nodes", 500_000)
    assert done.returncode == 0, done.stderr
    assert figures["winner"] == "blue"
    assert figures["bytes"] == (tmp_path / "blue.npz").stat().st_size
    assert len(strategy.load(tmp_path / "blue.npz")) > figures["moves"]


def test_the_command_answers_for_one_position():
    done, figures = command("--start", "A1 B2")
    assert done.returncode == 0, done.stderr
    assert (figures["winner"], figures["plies"], figures["line"]) == ("blue", 2, "A1 B2")


def test_the_command_for_openings_goes_on_where_it_stopped(tmp_path):
    options = ("--openings", "--table", tmp_path / "table.json", "--picture", tmp_path / "picture.svg", "--nodes")
    done, figures = command(*options, 50)
    assert done.returncode == 0, done.stderr
    assert figures["openings"] == 85
    assert (tmp_path / "picture.svg").read_text("utf-8").startswith("<svg")
    again, same = command(*options, 50)
    assert again.stderr == ""
    assert same["open"] == figures["open"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--help"], "Blue, who moves second"),
        (["--nodes", "100"], "give it more with --nodes"),
        (["--nodes", "0"], "must be 1 or more"),
        (["--nodes", "many"], "invalid whole number"),
        (["--start", "Z9"], "A1 to E5"),
        (["--start", "A1 A1"], "taken"),
        (["--start", "A1 A2 A1"], "over"),
        (["--start", "", "--openings"], "not allowed with"),
    ],
)
def test_the_command_says_what_is_wrong(arguments, words, tmp_path):
    done, _ = command(*arguments, "--out", tmp_path / "blue.npz")
    assert done.returncode == (0 if "--help" in arguments else 2)
    assert words in " ".join((done.stdout + done.stderr).split())
    assert "Traceback" not in done.stderr
