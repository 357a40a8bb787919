"""Provers beside the search: what a player makes of a proof, and that nobody waits for another's question."""

import asyncio
import contextlib
import gc
import subprocess
import sys
import threading
from concurrent.futures import CancelledError
from dataclasses import replace
from queue import PriorityQueue

import numpy as np
import pytest

from alphazero import Engine, SearchSettings, get_game, proving
from alphazero.agents import make_agents
from alphazero.game import PROJECT
from alphazero.knowledge import LAST_STAND, Knowledge
from alphazero.match import play_match
from alphazero.player import Player
from alphazero.pool import LOSS, OPEN, WIN
from alphazero.proof import Effort, Proof
from alphazero.settings import Level
from gomoku.tactics_set import load
from tests.helpers import UniformEvaluator, fixed_model, random_position, search, uniform_model
from tests.prover_slow import SlowProver, to_bits
from tests.test_gomoku_threats import advise

CHAIN, GOMOKU = get_game("chain_reaction"), get_game("gomoku")
MASTER = {"level": "master", "simulations": 40}  # by simulations alone, so that everything can be repeated


# -- what is made of a proof ------------------------------------------------------------------------------------------


def play_out(blue, red):
    """A game of Chain Reaction from the empty board, red a function of the position; the winner."""
    position = CHAIN.start()
    while position.winner is None:
        action = red(position) if position.to_move == 1 else blue.search(position, **MASTER).action
        position = position.play(action)
    return position.winner


def test_blue_never_loses_from_the_empty_board_whatever_the_network():
    rng = np.random.default_rng(5)
    blue = Player(fixed_model(CHAIN), seed=0)  # a network of random numbers
    master = Player(fixed_model(CHAIN, seed=1), seed=1)
    assert play_out(blue, lambda position: master.search(position, **MASTER).action) == -1
    for _ in range(12):
        assert play_out(blue, lambda position: int(rng.choice(position.legal_moves()))) == -1


def test_the_master_says_what_is_proven_and_lower_levels_do_not_ask():
    player = Player(fixed_model(CHAIN), seed=0)
    red = player.search(CHAIN.start(), **MASTER)
    assert (red.proven, red.proven_plies, red.value_to_move) == ("loss", 44, -1)
    blue = player.search(CHAIN.start().play(12), **MASTER)
    assert (blue.proven, blue.proven_plies, blue.value_to_move) == ("win", 43, 1)
    assert blue.proven_moves[blue.action] == "win"
    assert blue.line[0] == blue.action
    assert blue.probs[blue.action] == 1
    for level in ("beginner", "easy", "medium", "hard"):
        assert player.search(CHAIN.start().play(12), level=level, simulations=40).proven is None


def test_red_takes_a_chance_that_is_proven():
    """After a reply beside Red's cell, Red wins; the network of random numbers does not know."""
    player = Player(fixed_model(CHAIN), seed=0)
    position = CHAIN.start().play(12).play(0)  # within 35 plies, says the table of openings
    result = player.search(position, **MASTER)
    assert result.proven == "win"
    while position.winner is None:
        action = player.search(position, **MASTER).action if position.to_move == 1 else position.legal_moves()[-1]
        position = position.play(action)
    assert position.winner == 1


@pytest.mark.parametrize("game", [CHAIN, GOMOKU], ids=lambda game: game.name)
def test_a_turned_position_gets_the_turned_answer(game):
    rng = np.random.default_rng(1)
    player = Player(fixed_model(game), seed=3)
    for _ in range(3):
        position = random_position(game, rng, 9)
        one = player.search(position, **MASTER)
        for symmetry in (3, 6):
            other = player.search(position.transform(symmetry), **MASTER)
            assert other.action == game.symmetries[symmetry][one.action]
            assert other.proven == one.proven


def test_the_tactics_set_at_the_top_level():
    """Every forced win of the project's own set is proven and played, whatever the network."""
    player = Player(uniform_model(GOMOKU), seed=0)
    for tactic in load()[::6]:
        result = player.search(tactic.position(), **MASTER)
        assert result.proven == "win"
        assert result.proven_moves[result.action] == "win"
        assert result.line[0] == result.action


def test_a_move_that_parries_nothing_is_not_played():
    """White has an open three; the mover's win is far away, so all but a few moves lose."""
    cells = np.zeros((9, 9), int)
    cells[4, 3:6] = -1
    cells[0, 0] = cells[0, 8] = cells[8, 0] = 1
    position = GOMOKU.from_board(cells, 1)
    result = Player(uniform_model(GOMOKU), seed=0).search(position, **MASTER)
    assert result.proven is None
    losing = {move for move, word in result.proven_moves.items() if word == "loss"}
    assert len(losing) > 60
    assert result.action not in losing
    assert not any(result.probs[move] for move in losing)


# -- tactics in the tree ----------------------------------------------------------------------------------------------


def test_tactics_at_the_leaves_prove_more_and_nothing_wrong():
    plain, sharp = SearchSettings(), SearchSettings(leaf_nodes=50)
    evaluator = UniformEvaluator(GOMOKU)
    tactics = [tactic for tactic in load() if tactic.plies <= 9][::4]
    proven = dict.fromkeys((plain, sharp), 0)
    for tactic in tactics:
        for settings in proven:
            root = search(GOMOKU, evaluator, tactic.position(), 300, settings)
            assert root.proof in (OPEN, WIN)
            proven[settings] += root.proof == WIN
            if root.proof == WIN:
                own, other = to_bits(tactic.cells().tolist(), tactic.to_move)
                assert SlowProver(advise).wins(own, other, root.proof_plies)
    assert proven[sharp] > proven[plain] + len(tactics) // 3


def test_tactics_agree_with_the_plain_search_where_that_proves():
    rng = np.random.default_rng(8)
    evaluator = UniformEvaluator(GOMOKU)
    seen = set()
    for _ in range(60):
        position = random_position(GOMOKU, rng, int(rng.integers(20, 60)))
        plain = search(GOMOKU, evaluator, position, 400, SearchSettings())
        sharp = search(GOMOKU, evaluator, position, 400, SearchSettings(leaf_nodes=50))
        if plain.proof != OPEN and sharp.proof != OPEN:
            assert plain.proof == sharp.proof
            seen.add(plain.proof)
    assert seen >= {WIN, LOSS}


def test_leaf_nodes_need_the_solver():
    with pytest.raises(ValueError, match="solver"):
        SearchSettings(leaf_nodes=5, solver=False)


# -- a verdict of two sources -----------------------------------------------------------------------------------------


class FakeRoot:
    def __init__(self, visits, proofs=None, proof=OPEN, plies=0, best=None):
        self.actions = np.arange(len(visits)) + 10
        self.visits = np.array(visits)
        self.priors = np.full(len(visits), 1 / len(visits))
        self.proofs = np.array(proofs or [OPEN] * len(visits))
        self.proof, self.proof_plies = proof, plies
        self.best = int(np.argmax(visits)) if best is None else best
        self.line = [int(self.actions[self.best])]
        self.values = np.zeros(len(visits))
        self.value_to_move = 0.25


def test_without_a_proof_the_search_stands():
    knowledge = Knowledge(FakeRoot([5, 3, 2]), Proof())
    assert (knowledge.best, knowledge.proof, knowledge.plies, knowledge.value_to_move) == (0, OPEN, None, 0.25)
    assert knowledge.probs.tolist() == [0.5, 0.3, 0.2]


def test_a_proven_mistake_gives_way_to_the_next_best():
    knowledge = Knowledge(FakeRoot([5, 3, 2]), Proof(moves={10: "loss"}))
    assert (knowledge.best, knowledge.line) == (1, [11])
    assert knowledge.probs.tolist() == [0, 0.6, 0.4]
    assert knowledge.values.tolist() == [-1, 0, 0]


def test_the_quicker_of_two_wins_is_played():
    root = FakeRoot([5, 3], proofs=[WIN, OPEN], proof=WIN, plies=9)
    assert Knowledge(root, Proof("win", 5, (11, 7, 8), {11: "win"})).line == [11, 7, 8]
    assert Knowledge(root, Proof("win", 11, (11, 7, 8), {11: "win"})).line == [10]


@pytest.mark.parametrize(("plies", "best"), [(LAST_STAND, 1), (LAST_STAND + 2, 0)])
def test_a_lost_position_is_played_on(plies, best):
    """Near the end the longest defence; before, what the search likes best, for the other side may err."""
    proof = Proof("loss", plies, (11, 4), dict.fromkeys((10, 11), "loss"))
    knowledge = Knowledge(FakeRoot([5, 3]), proof)
    assert (knowledge.best, knowledge.proof, knowledge.value_to_move) == (best, LOSS, -1)


# -- whose time it takes ----------------------------------------------------------------------------------------------


class StubbornProver:
    """Proves nothing, and only stops when it is told to. Not the first looks: those are done at once."""

    def __init__(self):
        self.began, self.ended = threading.Semaphore(0), threading.Semaphore(0)
        self.asked = []

    def __call__(self, position, effort):
        self.asked.append(effort.nodes)
        if effort.nodes:
            self.began.release()
            while not effort.is_over():
                threading.Event().wait(0.002)
            self.ended.release()
        return Proof()


@pytest.fixture
def stubborn(monkeypatch):
    prover = StubbornProver()
    monkeypatch.setitem(GOMOKU.__dict__, "prove", prover)
    yield prover
    gc.collect()


LONG = Level(simulations=8, proof_nodes=10**9)


def patient(**options):
    return Player(uniform_model(GOMOKU), seed=0, level=LONG, **options)


def acquire(semaphore):
    assert semaphore.acquire(timeout=60)


def test_cancelling_frees_the_prover(stubborn):
    thinking = patient().start(GOMOKU.start())
    acquire(stubborn.began)
    thinking.cancel()
    acquire(stubborn.ended)


def test_dropping_the_search_frees_the_prover(stubborn):
    thinking = patient().start(GOMOKU.start())
    acquire(stubborn.began)
    del thinking
    gc.collect()
    acquire(stubborn.ended)


def test_a_cancelled_task_frees_the_prover(stubborn):
    async def ask():
        task = asyncio.ensure_future(patient().search_async(GOMOKU.start()))
        await asyncio.to_thread(acquire, stubborn.began)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(ask())
    acquire(stubborn.ended)


def test_time_is_up_for_the_prover_too(stubborn):
    result = patient().search(GOMOKU.start(), seconds=0.05, level=LONG)
    assert result.proven is None
    acquire(stubborn.ended)


def test_cancelling_wakes_whoever_waits_in_the_queue(stubborn):
    first = patient().start(GOMOKU.start())
    acquire(stubborn.began)
    second = patient().start(GOMOKU.start())

    def wait():
        with contextlib.suppress(CancelledError):  # or an answer without a proof, if the search itself was done before
            second.result()

    waiter = threading.Thread(target=wait)
    waiter.start()
    second.cancel()
    waiter.join(60)
    assert not waiter.is_alive()
    assert not stubborn.ended.acquire(blocking=False), "the first goes on"
    first.cancel()
    acquire(stubborn.ended)


def test_a_timeout_covers_the_proof_too(stubborn):
    thinking = patient().start(GOMOKU.start())
    acquire(stubborn.began)
    assert not thinking.done()
    assert thinking.result(timeout=0.5).proven is None
    assert thinking.done()
    assert thinking.result().seconds == thinking.result().seconds
    acquire(stubborn.ended)


def test_small_questions_go_first(stubborn):
    first = patient().start(GOMOKU.start())
    acquire(stubborn.began)
    large = patient().start(GOMOKU.start().play(0), proof_nodes=10**8)
    small = patient().start(GOMOKU.start().play(1), proof_nodes=10**3)
    for thinking in (first, small, large):
        thinking.cancel()
        acquire(stubborn.ended)
        if thinking is not large:
            acquire(stubborn.began)
    assert [nodes for nodes in stubborn.asked if nodes] == [10**9, 10**3, 10**8]


def test_a_program_ends_while_a_proof_runs():
    code = """
from alphazero import get_game, load_player
game = get_game("chain_reaction")
thinking = load_player("chain_reaction").start(game.start().play(0).play(24), simulations=2, proof_nodes=10**9)
while not thinking._ticket.done():
    pass
print("the end")
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, timeout=300)
    assert (done.stdout, done.returncode) == ("the end\n", 0), done.stderr


def test_nobody_waits_for_anothers_proof(stubborn):
    """While the prover is taken, a search with a time limit and one without a prover are answered."""
    first = patient().start(GOMOKU.start())
    acquire(stubborn.began)
    assert patient().search(GOMOKU.start(), seconds=0.05, level=LONG).simulations >= 1
    assert patient().search(GOMOKU.start(), level="medium", simulations=8).simulations == 8
    assert not stubborn.ended.acquire(blocking=False)
    first.cancel()
    acquire(stubborn.ended)


def test_a_prover_that_fails_costs_no_move(monkeypatch):
    def fail(position, effort):
        raise MemoryError("no room for a table")

    monkeypatch.setitem(GOMOKU.__dict__, "prove", fail)
    assert patient().search(GOMOKU.start()).simulations == 8


def test_a_proven_win_ends_a_search_by_the_clock_and_no_other(monkeypatch):
    monkeypatch.setitem(GOMOKU.__dict__, "prove", lambda *_: Proof("win", 9, (40, 1), {40: "win"}))
    level = replace(LONG, simulations=100_000, seconds=500.0)
    result = patient().search(GOMOKU.start(), level=level)
    assert (result.action, result.stopped, result.proven_plies) == (40, "proven", 9)
    result = patient().search(GOMOKU.start(), level=replace(level, simulations=20, seconds=None))
    assert (result.action, result.stopped, result.simulations) == (40, "simulations", 20)


def test_a_tree_cut_by_tactics_is_not_gone_on_with():
    player = Player(uniform_model(GOMOKU), seed=0)
    position = load()[0].position()
    sharp = player.search(position, level=Level(simulations=50, leaf_nodes=50))
    after = position.play(sharp.action)
    plain = player.search(after, simulations=20, previous=sharp)
    assert (plain.priors > 0).sum() == len(after.legal_moves())


@pytest.mark.parametrize("game", [CHAIN, GOMOKU], ids=lambda game: game.name)
def test_a_master_by_simulations_can_be_repeated(game):
    rng = np.random.default_rng(4)
    player = Player(fixed_model(game), seed=1)
    for position in [random_position(game, rng, plies) for plies in (4, 12, 20)]:
        one, other = player.search(position, **MASTER), player.search(position, **MASTER)
        assert (one.action, one.proven, one.proven_plies, one.line) == (
            other.action, other.proven, other.proven_plies, other.line
        )  # fmt: skip
        assert (one.visits == other.visits).all()


def test_a_win_at_once_is_played_even_if_the_prover_is_taken(monkeypatch):
    """A first look knows it, with two simulations and no time for the prover."""
    monkeypatch.setattr("alphazero.proving._questions", lambda process: PriorityQueue())  # nobody answers
    rng = np.random.default_rng(2)
    player = Player(fixed_model(CHAIN), seed=0)
    proving.warm_up(CHAIN)
    found = 0
    while found < 10:
        position = random_position(CHAIN, rng, int(rng.integers(4, 40)))
        wins = [m for m in position.legal_moves() if position.play(m).winner == position.to_move]
        if wins:
            found += 1
            result = player.search(position, level=Level(simulations=2, seconds=0.02, proof_nodes=1000))
            assert result.action in wins
            assert (result.proven, result.proven_plies) == ("win", 1)


def test_the_provers_own_effort_is_heard():
    """A cancelled effort ends both provers long before their nodes do."""
    calls = 0

    def soon():
        nonlocal calls
        calls += 1
        return calls > 3

    for game, moves in ((CHAIN, (12, 4)), (GOMOKU, (40, 41, 31))):
        calls, position = 0, game.start()
        for move in moves:
            position = position.play(move)
        assert game.prove(position, Effort(10**9, cancelled=soon)).nodes < 10**6


def test_levels_and_solvers_play_matches():
    agents = make_agents(GOMOKU, ["net+@8", "level:beginner"])
    engine = Engine()
    try:
        result = play_match(GOMOKU, *agents, [(40, 41)], seed=1, engine=engine, threads=1)
    finally:
        engine.close()
    assert result.tally.games == 2
    assert agents[0].describe()["level"]["proof_nodes"] > 0
    with pytest.raises(ValueError, match="no level"):
        make_agents(GOMOKU, ["level:god"])
