"""The search: equal to the textbook, unchanged by batching, proofs that hold, memory that is bounded, golden trees."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from alphazero import SearchSettings, get_game
from alphazero.pool import DRAW, LOSS, OPEN, WIN
from alphazero.root import Root
from alphazero.text import parse
from tests.helpers import FixedEvaluator, UniformEvaluator, make_forest, random_position, run, search
from tests.textbook import Textbook

GAMES = ["chain_reaction", "gomoku", "tictactoe"]
PROOFS = {None: OPEN, "win": WIN, "loss": LOSS, "draw": DRAW}


def positions(game, count, seed=0):
    rng = np.random.default_rng(seed)
    longest = {"gomoku": 30, "chain_reaction": 40, "tictactoe": 6}[game.name]
    return [random_position(game, rng, int(rng.integers(longest + 1))) for _ in range(count)]


@pytest.mark.parametrize("solver", [False, True])
@pytest.mark.parametrize("name", GAMES)
def test_visits_equal_the_textbook(name, solver):
    game = get_game(name)
    settings = replace(game.search, solver=solver)
    for number, position in enumerate(positions(game, 12)):
        evaluator = FixedEvaluator(game, seed=number, sharpness=0.2 + 0.1 * number)
        simulations = 150 + 50 * number
        book = Textbook(evaluator, settings).search(position, simulations)
        ours = search(game, evaluator, position, simulations, settings)
        visits = {int(a): int(n) for a, n in zip(ours.actions, ours.visits, strict=True) if n}
        assert visits == {a: child.visits for a, child in book.children.items()}
        assert ours.proof == (PROOFS[book.proof] if solver else OPEN)
        if ours.proof == OPEN:
            assert ours.value_to_move == pytest.approx(book.total / book.visits, abs=1e-9)


@pytest.mark.parametrize("name", GAMES)
def test_looking_ahead_changes_no_visit(name):
    game = get_game(name)
    for position in positions(game, 6, seed=1):
        alone = search(game, FixedEvaluator(game), position, 400, game.search)
        for rows in (2, 5, 16):
            evaluator = FixedEvaluator(game)
            ahead = search(game, evaluator, position, 400, game.search, rows=rows)
            assert (ahead.spread(ahead.visits) == alone.spread(alone.visits)).all()
            assert ahead.value_to_move == alone.value_to_move
            assert ahead.line == alone.line
            assert max(evaluator.calls) <= rows


def test_looking_ahead_saves_network_calls():
    game = get_game("gomoku")
    evaluator = UniformEvaluator(game)
    calls = []
    evaluate = evaluator.evaluate
    evaluator.evaluate = lambda planes: (calls.append(len(planes)), evaluate(planes))[1]
    search(game, evaluator, game.start(), 400, game.search, rows=8)
    assert len(calls) < 401 / 2


@pytest.mark.parametrize("name", GAMES)
def test_many_trees_at_once_equal_each_alone(name):
    game = get_game(name)
    evaluator = FixedEvaluator(game)
    starts = positions(game, 40, seed=2)
    forest = make_forest(game)
    for tree, position in enumerate(starts):
        forest.begin(tree, position, 100 + tree, game.search, seed=0)
    run(forest, evaluator, list(range(len(starts))))
    for tree, position in enumerate(starts):
        alone = search(game, evaluator, position, 100 + tree, game.search)
        assert (Root(forest, tree).visits == alone.visits).all()


@pytest.mark.parametrize("name", GAMES)
def test_simulations_are_counted_exactly(name):
    game = get_game(name)
    for count in (1, 2, 77):
        root = search(game, FixedEvaluator(game), game.start(), count, game.search)
        assert root.visits.sum() == count == root.simulations


def perfect(position, known):
    """The game's value for the player to move, by the full tree."""
    if position not in known:
        if position.winner is not None:
            known[position] = position.winner * position.to_move
        else:
            known[position] = max(-perfect(position.play(a), known) for a in position.legal_moves())
    return known[position]


def test_proofs_in_tictactoe_are_true_everywhere():
    game = get_game("tictactoe")
    known = {}
    perfect(game.start(), known)
    evaluator = FixedEvaluator(game)
    meaning = {WIN: 1, LOSS: -1, DRAW: 0}
    proven = 0
    for position in [p for p in known if p.winner is None]:
        root = search(game, evaluator, position, 60, game.search)
        if root.proof != OPEN:
            proven += 1
            assert meaning[root.proof] == known[position]
            assert known[position] == -known[position.play(int(root.actions[root.best]))]
        for action, proof in zip(root.actions, root.proofs, strict=True):
            if proof != OPEN:
                assert meaning[int(proof)] == -known[position.play(int(action))]
    assert proven > 2000


def test_tictactoe_is_solved_with_enough_simulations():
    """Every decided position from ply 3 on, and every drawn one from ply 5 on (draws take longer: all must be seen)."""
    game = get_game("tictactoe")
    known = {}
    perfect(game.start(), known)
    evaluator = UniformEvaluator(game)
    seen = set()
    for position, value in known.items():
        if position.winner is None and position.plies >= (3 if value else 5) and position.board.tobytes() not in seen:
            seen.add(position.board.tobytes())
            root = search(game, evaluator, position, 500, game.search)
            assert root.proof == {1: WIN, -1: LOSS, 0: DRAW}[value]
            assert root.value_to_move == value
    assert len(seen) > 2000


def gomoku_four(to_move):
    return parse(
        get_game("gomoku"),
        """
        . . . . . . . . .
        . . . . . . . . .
        . O O O . . . . .
        . . . . . . . . .
        . X X X X . . . .
        . . . . . . . . .
        . . . . . . . . .
        . . . . . O . . .
        . . . . . . . . .
        """
        + to_move,
    )


def test_a_win_in_one_is_found_and_proven():
    game = get_game("gomoku")
    root = search(game, UniformEvaluator(game), gomoku_four("Black to move"), 300, game.search)
    assert root.proof == WIN
    assert root.proof_plies == 1
    assert int(root.actions[root.best]) in (36, 41)
    assert root.value_to_move == 1.0
    assert root.simulations < 300, "a proven root ends the search"


def test_an_open_four_is_proven_lost_and_defence_is_the_longest():
    game = get_game("gomoku")
    board = gomoku_four("Black to move").board
    board[7, 5] = 0
    position = game.from_board(board, -1)
    root = search(game, UniformEvaluator(game), position, 20_000, game.search)
    assert root.proof == LOSS
    assert root.proof_plies == 2
    assert root.value_to_move == -1.0


def test_terminal_values_have_the_right_sign_without_solver():
    game = get_game("gomoku")
    settings = SearchSettings(solver=False)
    won = search(game, UniformEvaluator(game), gomoku_four("Black to move"), 2000, settings)
    assert won.value_to_move > 0.8
    assert int(won.actions[won.best]) in (36, 41)


def test_noise_depends_on_the_seed_and_only_at_the_root():
    game = get_game("gomoku")
    settings = SearchSettings(noise_fraction=0.5, noise_alpha=0.3)
    evaluator = UniformEvaluator(game)

    def priors(seed):
        root = search(game, evaluator, game.start(), 50, settings, seed=seed)
        return root.spread(root.priors), root.spread(root.visits)

    first, again, other = priors(1), priors(1), priors(2)
    assert (first[0] == again[0]).all()
    assert (first[1] == again[1]).all()
    assert (first[0] != other[0]).any()
    assert first[0].sum() == pytest.approx(1, abs=1e-5)
    assert (first[0] >= 0.5 / 81 - 1e-6).all(), "the network keeps its half"
    assert first[0].max() > 3 / 81, "the noise is alive"


def test_reuse_keeps_the_subtree_and_frees_the_rest():
    game = get_game("gomoku")
    evaluator = FixedEvaluator(game)
    forest = make_forest(game, trees=2)
    forest.begin(0, game.start(), 500, game.search, 0)
    run(forest, evaluator, [0])
    root = Root(forest, 0)
    move = int(root.actions[root.best])
    before = forest.used_bytes()
    kept = int(root.visits[root.best]) - 1
    assert forest.resume(0, (move,), 600, game.search, 0)
    assert forest.simulations(0) == kept > 0
    assert forest.used_bytes() < before
    assert forest.used_bytes() == (kept + 1) * forest.bytes_per_node
    run(forest, evaluator, [0])
    grown = Root(forest, 0)
    # A tree without proofs is a pure function of its visits: growing on equals a fresh search of the child.
    fresh = search(game, evaluator, game.start().play(move), 600, game.search)
    assert (grown.spread(grown.visits) == fresh.spread(fresh.visits)).all()
    forest.close(0)
    assert forest.used_bytes() == 0


def test_reuse_says_no_when_the_tree_does_not_reach():
    game = get_game("gomoku")
    forest = make_forest(game, trees=1)
    forest.begin(0, game.start(), 3, game.search, 0)
    run(forest, UniformEvaluator(game), [0])
    assert not forest.resume(0, (80,), 3, game.search, 0)


def test_noise_on_a_reused_root_keeps_visited_edges_in_front():
    game = get_game("gomoku")
    evaluator = FixedEvaluator(game)
    settings = SearchSettings(noise_fraction=0.5, noise_alpha=0.3)
    forest = make_forest(game, trees=1)
    forest.begin(0, game.start(), 400, settings, 0)
    run(forest, evaluator, [0], rows=4)
    root = Root(forest, 0)
    assert forest.resume(0, (int(root.actions[root.best]),), 800, settings, 1)
    for _ in range(20):
        run(forest, evaluator, [0], rows=4, steps=20)
        visits = Root(forest, 0).visits
        assert not (np.diff((visits > 0).astype(int)) > 0).any()
    run(forest, evaluator, [0], rows=4)
    assert Root(forest, 0).visits.sum() == 800


def test_memory_is_bounded_and_the_search_answers_with_what_it_has():
    game = get_game("gomoku")
    forest = make_forest(game, trees=2, memory_bytes=200_000)
    evaluator = FixedEvaluator(game)
    for tree in (0, 1):
        forest.begin(tree, game.start(), 10_000, game.search, 0)
    run(forest, evaluator, [0, 1])
    assert forest.used_bytes() <= 200_000
    assert forest.out_of_memory(0)
    assert forest.out_of_memory(1)
    for tree in (0, 1):
        assert forest.simulations(tree) >= 200_000 // forest.bytes_per_node // 4 - 1, "each has its share at least"
        assert len(Root(forest, tree).line) > 0
        forest.close(tree)
    assert forest.used_bytes() == 0
    forest.begin(0, game.start(), 20, game.search, 0)  # and all is well afterwards
    run(forest, evaluator, [0])
    assert Root(forest, 0).visits.sum() == 20


def test_nodes_are_never_lost_or_shared():
    """Many searches begun, resumed and closed at random: what is used equals what the live trees hold."""
    game = get_game("chain_reaction")
    evaluator = FixedEvaluator(game)
    rng = np.random.default_rng(5)
    forest = make_forest(game, trees=8, memory_bytes=2_000_000)
    live = {}
    for _ in range(150):
        tree = int(rng.integers(8))
        if tree not in live:
            live[tree] = random_position(game, rng, int(rng.integers(10)))
            forest.begin(tree, live[tree], int(rng.integers(1, 400)), game.search, 0)
        elif rng.random() < 0.4:
            forest.close(tree)
            del live[tree]
        elif not forest.evaluated(tree):
            continue
        else:
            root = Root(forest, tree)
            move = int(root.actions[root.best])
            following = live[tree].play(move)
            if following.winner is None and forest.resume(tree, (move,), 300, game.search, 0):
                live[tree] = following
        if live:
            run(forest, evaluator, sorted(live), rows=int(rng.integers(1, 4)), steps=int(rng.integers(1, 60)))
        nodes = forest.pool.trees["nodes"]
        assert forest.used_bytes() == nodes.sum() * forest.bytes_per_node
        assert all(nodes[t] == 0 for t in range(8) if t not in live)
        seen = set()
        for t in live:
            index, count = int(forest.pool.trees[t]["oldest"]), 0
            while index != -1:
                assert index not in seen
                seen.add(index)
                count += 1
                index = int(forest.pool.nodes[index]["link"])
            assert count == nodes[t]
            root = Root(forest, t)
            assert root.visits.sum() == root.simulations
    for t in list(live):
        forest.close(t)
    assert forest.used_bytes() == 0


GOLDEN = Path(__file__).parent / "golden"


def tree_of(game, position, simulations):
    """The whole root as plain numbers, and the line, of a search with the fixed evaluator."""
    root = search(game, FixedEvaluator(game, seed=7), position, simulations, game.search)
    return {
        "moves": list(position.moves),
        "simulations": simulations,
        "visits": root.spread(root.visits).tolist(),
        "priors": [round(float(p), 5) for p in root.spread(root.priors)],
        "values": [None if np.isnan(v) else round(float(v), 5) for v in root.spread(root.values, np.nan)],
        "proofs": root.spread(root.proofs).tolist(),
        "value_to_move": round(root.value_to_move, 6),
        "proof": root.proof,
        "line": root.line,
    }


@pytest.mark.parametrize("name", GAMES)
def test_golden_trees(name):
    """Stored searches; `python -m tests.test_search` writes them anew after a change that is meant to change them."""
    game = get_game(name)
    stored = json.loads((GOLDEN / f"{name}.json").read_text())
    assert len(stored) >= 4
    for wanted in stored:
        position = game.start()
        for move in wanted["moves"]:
            position = position.play(move)
        assert tree_of(game, position, wanted["simulations"]) == wanted


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for name in GAMES:
        game = get_game(name)
        trees = [tree_of(game, p, 100 * (k + 1)) for k, p in enumerate([game.start(), *positions(game, 4, seed=9)])]
        (GOLDEN / f"{name}.json").write_text("[\n" + ",\n".join(json.dumps(tree) for tree in trees) + "\n]\n")
