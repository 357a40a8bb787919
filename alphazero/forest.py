"""Many search trees of one game, stepped together.

One step: `gather` walks every given tree to the next position that needs the network and writes them all as one
batch; the caller evaluates the batch; `scatter` takes the answers in. The rules of the game are compiled into
`gather`, once per game, and the machine code is cached on disk beside this file.

Looking ahead. A lone search would send the network one position at a time. So a tree may be asked for more: with
virtual visits (`pending`) its likely next leaves are found and evaluated in the same batch, then the virtual visits
are taken back. When the search gets to such a leaf its evaluation is already there. The search itself stays
strictly one simulation after another: visits are the same, bit for bit, whatever the batch size, so nothing of its
strength is lost. Wrong guesses cost only the time of a larger batch.
"""

from __future__ import annotations

import zlib
from functools import lru_cache
from typing import Any

import numpy as np

from alphazero import pool as pools
from alphazero import tree as steps
from alphazero.game import EXTRA, FORCED, LAST, NOTHING, PLIES, TO_MOVE, UNDECIDED, WINNER, WINS, Game, Position
from alphazero.kernel import bind
from alphazero.pool import (
    DRAW,
    LOSS,
    NEW,
    NO_MEMORY,
    NONE,
    READY,
    WAITING,
    WIN,
    close_tree,
    forget_visits,
    new_node,
    reroot,
)
from alphazero.settings import SearchSettings
from alphazero.tree import add_pending, back_up, descend, is_done, set_edges

# How many simulations in a row one tree may finish without the network (results already known) before others' turn.
FREE_SIMULATIONS = 64

# Stand-ins for what `bind` puts in their place, one set per game: the rules, and the templates below once bound.
rules_play: Any = None
rules_legal: Any = None
rules_encode: Any = None
rules_tactics: Any = None  # stays None for a game without
play_on: Any = None
expand: Any = None
write_row: Any = None
look_ahead: Any = None
plant: Any = None


def _play_on(state, action):
    """Make a move on a state, in place; the winner or UNDECIDED."""
    player = state[TO_MOVE]
    winner = rules_play(state[: state.size - EXTRA], player, action, state[PLIES])
    state[TO_MOVE] = -player
    state[LAST] = action
    state[WINNER] = winner
    state[PLIES] += 1
    return winner


def _expand(pool, tree, index):
    """Compute a new node's state from its parent's; then its edges, or its result if the game is over.

    Where the game's tactics know the result, the node counts as finished too; where they know the only move, it has no
    other edge.
    """
    node = pool.nodes[index]
    state = pool.states[index]
    state[:] = pool.states[node.parent]
    winner = play_on(state, node.action)
    cells = state[: state.size - EXTRA]
    if winner == UNDECIDED:
        mask = np.empty(cells.size, np.bool_)
        rules_legal(cells, state[TO_MOVE], state[PLIES], mask)
        set_edges(pool, index, mask)
        node.status = WAITING
        if rules_tactics is not None:
            leaf_nodes = pool.trees[tree].leaf_nodes
            if leaf_nodes > 0:
                result, action, plies = rules_tactics(cells, state[TO_MOVE], leaf_nodes)
                if result == FORCED:
                    mask[:] = False
                    mask[action] = True
                    set_edges(pool, index, mask)
                elif result != NOTHING:
                    node.proof = WIN if result == WINS else LOSS
                    node.proof_plies = plies
                    node.value = 1.0 if result == WINS else -1.0
                    node.edge_count = 0
                    node.status = READY
    else:
        node.proof = DRAW if winner == 0 else (WIN if winner == state[TO_MOVE] else LOSS)
        node.value = 0.0 if winner == 0 else float(winner * state[TO_MOVE])
        node.status = READY


def _plant(pool, tree, state):
    """A root with this state, its edges ready, the network not asked yet."""
    index = new_node(pool, tree, NONE, -1)
    if index == NO_MEMORY:
        return False
    pool.states[index, :] = state
    cells = pool.states[index][: state.size - EXTRA]
    mask = np.empty(cells.size, np.bool_)
    rules_legal(cells, state[TO_MOVE], state[PLIES], mask)
    set_edges(pool, index, mask)
    pool.nodes[index].status = WAITING
    pool.trees[tree].root = index
    return True


def _gather(pool, active, want, planes, leaf_nodes, leaf_trees, ahead):
    """Write up to want[i] positions of each tree active[i] into `planes`; how many rows were written.

    The first row of a tree is where its next simulation ends; the others are looked ahead (ahead[row] True).
    """
    rows = 0
    for i in range(active.size):
        tree = active[i]
        leaf = NONE
        for _ in range(FREE_SIMULATIONS):
            if is_done(pool, tree):
                break
            found = descend(pool, tree)
            if found == NO_MEMORY:
                break
            if pool.nodes[found].status == NEW:
                expand(pool, tree, found)
            if pool.nodes[found].status == WAITING:
                leaf = found
                break
            back_up(pool, tree, found)
        if leaf == NONE:
            continue
        first_row = rows
        rows = write_row(pool, tree, leaf, rows, planes, leaf_nodes, leaf_trees)
        ahead[first_row] = False
        if want[i] > 1:
            rows = look_ahead(pool, tree, leaf, want[i], rows, planes, leaf_nodes, leaf_trees, ahead)
    return rows


def _write_row(pool, tree, leaf, row, planes, leaf_nodes, leaf_trees):
    state = pool.states[leaf]
    planes[row, :, :] = 0.0
    rules_encode(state[: state.size - EXTRA], state[TO_MOVE], state[LAST], planes[row])
    leaf_nodes[row] = leaf
    leaf_trees[row] = tree
    return row + 1


def _look_ahead(pool, tree, leaf, want, rows, planes, leaf_nodes, leaf_trees, ahead):
    """Likely next leaves of one tree, found with virtual visits that are taken back at the end."""
    stops = np.empty(want, np.int64)  # where each virtual visit ended
    stops[0] = leaf
    add_pending(pool, leaf, 1)
    count = 1
    while count < want:
        found = descend(pool, tree)
        if found == NO_MEMORY:
            pool.trees[tree].out_of_memory = False  # looking ahead is a luxury; the search itself has not run dry
            break
        if pool.nodes[found].status == NEW:
            expand(pool, tree, found)
        if pool.nodes[found].status == WAITING and pool.nodes[found].pending == 0:
            ahead[rows] = True
            rows = write_row(pool, tree, found, rows, planes, leaf_nodes, leaf_trees)
        add_pending(pool, found, 1)
        stops[count] = found
        count += 1
    for k in range(count):
        add_pending(pool, stops[k], -1)
    return rows


def _advance(pool, tree, action):
    """Make a move in the game that a tree searches; the winner or UNDECIDED.

    The tree goes on as one without visits; if the game is over it is closed.
    """
    state = pool.states[pool.trees[tree].root].copy()
    winner = play_on(state, action)
    if winner != UNDECIDED:
        close_tree(pool, tree)
    elif reroot(pool, tree, action):
        forget_visits(pool, tree)
    else:
        close_tree(pool, tree)
        plant(pool, tree, state)
    return winner


@lru_cache(maxsize=64)
def _compile(game: Game) -> tuple[Any, Any, Any]:
    """(plant, gather, advance) for one game."""
    rules = {"rules_play": game.play, "rules_legal": game.legal, "rules_encode": game.encode}
    if game.tactics is not None:
        rules["rules_tactics"] = game.tactics
    names = bind([_play_on, _expand, _write_row, _look_ahead, _gather, _plant, _advance], rules, game.name)
    return names["plant"], names["gather"], names["advance"]


class EvaluationError(Exception):
    """An evaluator gave an answer that no search can use."""


def draw_noise(rng: np.random.Generator, settings: SearchSettings, size: int | tuple[int, ...]) -> np.ndarray:
    """Draws for root noise: Gumbel, or Gamma, which normalised over the legal moves by mix_noise is Dirichlet."""
    return rng.gumbel(size=size) if settings.candidates else rng.standard_gamma(settings.noise_alpha, size)


class Forest:
    """A bounded pool of trees of one game. Not thread-safe: one thread owns it."""

    def __init__(self, game: Game, *, trees: int, memory_bytes: int, max_batch: int):
        self.game = game
        self.bytes_per_node = pools.node_bytes(game.num_actions, game.state_size)
        self.capacity = max(memory_bytes // self.bytes_per_node, trees * 4)
        self.pool = pools.make_pool(self.capacity, trees, game.num_actions, game.state_size)
        self._plant, self._gather, self._advance = _compile(game)
        self._planes = np.zeros((max_batch, game.network.planes, game.num_actions), np.float32)
        self._batch = self._planes.reshape(max_batch, game.network.planes, game.rows, game.cols)
        self._leaf_nodes = np.zeros(max_batch, np.int64)
        self._leaf_trees = np.zeros(max_batch, np.int64)
        self._ahead = np.zeros(max_batch, np.bool_)
        self._done = np.zeros(trees, np.bool_)
        # Views of every length, made once: slicing costs as much as a small tree's whole step.
        self._batches = [self._batch[:rows] for rows in range(max_batch + 1)]

    def begin(self, tree: int, position: Position, limit: int, settings: SearchSettings, seed: int) -> None:
        """Start a search of `limit` simulations in an unused tree."""
        self._plant(self.pool, tree, position.state)  # a tree's share is at least 2 nodes, so there is room
        self._set_up(tree, limit, settings, seed)

    def resume(self, tree: int, moves: tuple[int, ...], limit: int, settings: SearchSettings, seed: int) -> bool:
        """Follow the game by `moves` in a kept tree and search on there; False if the tree does not reach so far."""
        if not all(pools.reroot(self.pool, tree, move) for move in moves):
            return False
        self._set_up(tree, limit, settings, seed)
        if settings.noise_fraction > 0 and moves:  # a root that stays has its noise already
            steps.mix_noise(self.pool, tree)
        return True

    def advance(self, tree: int, action: int) -> int:
        """Make a move in the tree's game; the winner or UNDECIDED. For the next search `set_up` the tree again.

        That search runs exactly as in a new tree, but without asking the network twice about the same position.
        """
        return int(self._advance(self.pool, tree, action))

    def _set_up(self, tree: int, limit: int, settings: SearchSettings, seed: int) -> None:
        record = self.pool.trees[tree]
        record["limit"] = limit
        record["c_puct"] = settings.c_puct
        record["fpu_reduction"] = settings.fpu_reduction
        record["noise_fraction"] = settings.noise_fraction
        record["candidates"] = settings.candidates
        record["sigma_scale"] = settings.sigma_scale
        record["leaf_nodes"] = settings.leaf_nodes
        record["solver"] = settings.solver
        record["out_of_memory"] = False
        if settings.noise_fraction > 0 or settings.candidates > 0:
            # The position takes part in the seed, or a game would meet the same noise at every move.
            rng = np.random.default_rng([seed, zlib.crc32(self.pool.states[record["root"]].tobytes())])
            self.pool.noise[tree] = draw_noise(rng, settings, self.game.num_actions)

    def close(self, tree: int) -> None:
        """Forget this tree and give its nodes back."""
        pools.close_tree(self.pool, tree)

    def gather(self, active: np.ndarray, want: np.ndarray) -> np.ndarray:
        """The positions the trees `active` (int64) need next, at most want[i] of each: float32 [rows, planes, h, w]."""
        self._active = active
        self._rows = self._gather(
            self.pool, active, want, self._planes, self._leaf_nodes, self._leaf_trees, self._ahead
        )
        return self._batches[self._rows]

    def scatter(self, logits: np.ndarray, values: np.ndarray) -> np.ndarray | None:
        """Take in the answers to the last `gather`: float32 logits [rows, actions] and value_to_move [rows].

        Returns a mask over `active` of the searches that are done, or None while none is.
        """
        if logits.shape != (self._rows, self.game.num_actions) or values.shape != (self._rows,):
            raise EvaluationError(
                f"the evaluator answered {self._rows} positions with arrays {logits.shape} and {values.shape}"
            )
        finished = steps.scatter(
            self.pool,
            self._rows,
            self._leaf_nodes,
            self._leaf_trees,
            self._ahead,
            logits,
            values,
            self._active,
            self._done,
        )
        if finished == steps.NOT_A_NUMBER:
            raise EvaluationError("the network answered with NaN or infinity; its weights are damaged, use others")
        return self._done[: self._active.size] if finished else None

    def out_of_memory(self, tree: int) -> bool:
        return bool(self.pool.trees[tree]["out_of_memory"])

    def evaluated(self, tree: int) -> bool:
        """Has the network seen the root yet? Before that there is nothing to answer with."""
        return bool(self.pool.nodes[self.pool.trees[tree]["root"]]["status"] == READY)

    def total_simulations(self) -> int:
        """Simulations finished in all trees, ever."""
        return int(self.pool.counts[pools.SIMULATIONS])

    def simulations(self, tree: int) -> int:
        """Simulations of one search: visits of its root's moves."""
        return max(0, int(self.pool.nodes[self.pool.trees[tree]["root"]]["visits"]) - 1)

    def used_bytes(self) -> int:
        return (self.capacity - int(self.pool.counts[pools.AVAILABLE])) * self.bytes_per_node

    def is_large(self, tree: int) -> bool:
        """Does this tree hold more nodes than its own share?"""
        return bool(self.pool.trees[tree]["nodes"] > self.pool.counts[pools.SHARE])

    def spare(self) -> float:
        """The part of the pool that is neither used nor promised, 0 to 1."""
        counts = self.pool.counts
        return float(counts[pools.AVAILABLE] - counts[pools.PROMISED]) / self.capacity
