"""Plain MCTS without a network: UCT (Kocsis and Szepesvari 2006) with playouts of random moves to the game's end.

The yardstick that needs no training. The tree is a handful of flat arrays; a node's children stand side by side, so
the first one's number is enough to find them. Compiled once per game, runs without Python's lock.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from alphazero.game import EXTRA, PLIES, TO_MOVE, UNDECIDED, Game, Position
from alphazero.kernel import bind
from alphazero.settings import check_type, check_whole

EXPLORATION = 1.4  # UCB1's constant, for values from -1 to 1
MAX_PLAYOUTS = 1_000_000
MAX_NODES = 1 << 22  # 22 bytes each; a full tree still plays out, from its leaves, and grows no more
LONGEST_PATH = 4096  # plies from the root at which the tree ends in any case

# Stand-ins for what `bind` puts in their place, one set per game.
rules_play: Any = None
rules_legal: Any = None
play_out: Any = None
spread: Any = None


def _play_out(cells, player, plies, moves):
    """Random moves to the end; the winner. `moves` is scratch space, bool [cells]."""
    winner = UNDECIDED
    while winner == UNDECIDED:
        rules_legal(cells, player, plies, moves)
        count = 0
        for action in range(moves.size):
            count += moves[action]
        pick = np.random.randint(count)
        for action in range(moves.size):
            if moves[action]:
                if pick == 0:
                    winner = rules_play(cells, player, action, plies)
                    break
                pick -= 1
        player = -player
        plies += 1
    return winner


def _spread(cells, player, plies, used, first, count, action_of, node, moves):
    """Append the children of a node; how many nodes are in use then."""
    rules_legal(cells, player, plies, moves)
    first[node] = used
    for action in range(moves.size):
        if moves[action]:
            action_of[used] = action
            count[node] += 1
            used += 1
    return used


def _search(state, playouts, seed, exploration, visits, totals, first, count, action_of):
    """Grow a tree of `playouts` playouts from `state` and return the most visited move.

    Arrays [nodes], zeros before: visits; totals, the sum of results for the player who moved INTO the node; first
    and count, the node's children; action_of, the move that leads to it.
    """
    np.random.seed(seed)
    size = state.size - EXTRA
    cells = np.empty(size, state.dtype)
    moves = np.empty(size, np.bool_)
    path = np.empty(LONGEST_PATH, np.int64)
    used = spread(state[:size], state[TO_MOVE], state[PLIES], 1, first, count, action_of, 0, moves)
    for _ in range(playouts):
        cells[:] = state[:size]
        player, plies, winner = state[TO_MOVE], state[PLIES], UNDECIDED
        node, depth = 0, 0
        path[0] = 0
        while count[node] > 0 and depth + 1 < LONGEST_PATH:
            best, best_score, ties = first[node], -np.inf, 0
            log_visits = np.log(visits[node] + 1.0)
            for child in range(first[node], first[node] + count[node]):
                score = np.inf
                if visits[child] > 0:
                    score = totals[child] / visits[child] + exploration * np.sqrt(log_visits / visits[child])
                if score > best_score:
                    best, best_score, ties = child, score, 1
                elif score == best_score:  # children not tried yet come in random order
                    ties += 1
                    if np.random.randint(ties) == 0:
                        best = child
            node = best
            winner = rules_play(cells, player, action_of[node], plies)
            player, plies = -player, plies + 1
            depth += 1
            path[depth] = node
            if winner != UNDECIDED:
                break
        # A leaf gets its children when it is met again: half the nodes, and no worse.
        if winner == UNDECIDED and visits[node] > 0 and used + size <= visits.size:
            used = spread(cells, player, plies, used, first, count, action_of, node, moves)
        if winner == UNDECIDED:
            winner = play_out(cells, player, plies, moves)
        result = float(winner * state[TO_MOVE])
        for step in range(depth + 1):
            visits[path[step]] += 1
            totals[path[step]] += result if step % 2 == 1 else -result
    best = first[0]
    for child in range(first[0], first[0] + count[0]):
        if visits[child] > visits[best] or (visits[child] == visits[best] and totals[child] > totals[best]):
            best = child
    return action_of[best]


@lru_cache(maxsize=64)
def _compile(game: Game) -> Any:
    rules = {"rules_play": game.play, "rules_legal": game.legal}
    return bind([_play_out, _spread, _search], rules, game.name)["search"]


class Rollout:
    """Thread-safe: every search has arrays of its own, 22 bytes a node, at most 100 MB."""

    def __init__(self, game: Game, playouts: int):
        check_whole("playouts", playouts, 1, MAX_PLAYOUTS)
        self.game = game
        self.playouts = playouts
        # Every playout gives children to one leaf at the most.
        self._nodes = min(1 + game.num_actions * (playouts + 1), MAX_NODES)

    def choose(self, position: Position, seed: int) -> int:
        """The most visited move after `playouts` playouts; the same for the same seed."""
        check_type("position", position, Position)
        counts = [np.zeros(self._nodes, np.int32) for _ in range(3)]
        visits, first, count = counts
        totals = np.zeros(self._nodes, np.float64)
        actions = np.zeros(self._nodes, np.int16)
        search = _compile(self.game)
        return int(
            search(position.state, self.playouts, seed & 0xFFFFFFFF, EXPLORATION, visits, totals, first, count, actions)
        )
