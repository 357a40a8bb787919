"""`prove` for Gomoku: what it claims holds against full defence, and it keeps to its effort."""

import threading
from collections import Counter

import numpy as np
import pytest

from alphazero.proof import Effort
from gomoku.prover import prove
from gomoku.tactics_set import load, play_game
from tests.prover_slow import CELLS, SlowProver, to_bits
from tests.test_gomoku_threats import GAME, advise, clustered


@pytest.mark.slow
def test_every_tactic_is_solved_within_the_budget():
    for tactic in load():
        proof = prove(tactic.position(), Effort(nodes=400_000))
        assert proof.result == "win", tactic
        assert proof.plies >= tactic.plies
        assert proof.moves[proof.line[0]] == "win"


@pytest.mark.slow
def test_no_false_proof_by_the_prover():
    """Every claim about position and moves; the slow prover needs the solver's advice, which may run out of nodes."""
    rng = np.random.default_rng(8)
    checked = Counter()
    for _ in range(250):
        position = clustered(rng) if rng.random() < 0.5 else (game := play_game(rng))[int(rng.integers(len(game)))]
        proof = prove(position, Effort(nodes=4_000))
        own, other = to_bits(position.board.ravel().tolist(), position.to_move)
        slow = SlowProver(advise)
        if proof.result == "win":
            checked["claims"] += 1
            checked["verified"] += slow.wins(own, other, proof.plies)
        if proof.result == "loss":
            assert len(proof.moves) == len(position.legal_moves())
        sample = rng.permutation(sorted(proof.moves))[:8]
        for move in sample:
            after = own | CELLS[move]
            checked["claims"] += 1
            if proof.moves[move] == "win":
                checked["verified"] += position.play(int(move)).winner is not None or slow.beats_all(after, other, 48)
            else:
                plies = proof.plies - 1 if proof.result == "loss" else 48
                checked["verified"] += slow.wins(other, after, plies)
    assert checked["claims"] > 300
    assert checked["verified"] / checked["claims"] >= 0.99, checked


def test_the_line_leads_to_the_end_and_the_bound_holds():
    for tactic in load()[::9]:
        position = tactic.position()
        proof = prove(position, Effort(nodes=2_000_000))
        assert len(proof.line) <= proof.plies
        for action in proof.line:
            position = position.play(action)
        assert position.winner == tactic.to_move


def test_a_deadline_that_has_passed_and_a_cancelled_question_cost_next_to_nothing():
    position = load()[-1].position()
    for effort in (Effort(10**9, deadline=0.0), Effort(10**9, cancelled=lambda: True)):
        proof = prove(position, effort)
        assert proof.result is None
        assert proof.nodes <= 1


def test_it_asks_every_few_thousand_nodes_whether_to_go_on():
    asked = []
    position = GAME.start().play(40).play(41).play(31)
    proof = prove(position, Effort(10**9, cancelled=lambda: len(asked) > 20 or bool(asked.append(1))))
    assert proof.nodes < 21 * 30_000
    assert prove(position, Effort(30_000)).nodes < 40_000


def test_threads_do_not_disturb_each_other():
    positions = [tactic.position() for tactic in load()[::20]]
    alone = [prove(position, Effort(20_000)) for position in positions]
    together = [[None] * len(positions) for _ in range(4)]

    def work(row):
        for k, position in enumerate(positions):
            row[k] = prove(position, Effort(20_000))

    workers = [threading.Thread(target=work, args=(row,)) for row in together]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert all(row == alone for row in together)


def test_the_end_of_the_game():
    won = GAME.start()
    for action in (0, 9, 1, 10, 2, 11, 3, 12, 4):
        won = won.play(action)
    assert prove(won, Effort(1000)).result == "loss"
    assert prove(won, Effort(1000)).plies == 0
