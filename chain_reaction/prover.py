"""What is certain about a position of Chain Reaction: from Blue's strategy for the whole game, else by df-pn.

`prove` never guesses. It may be called from several threads: every call has a table of its own, and the strategy is
only read.
"""

from __future__ import annotations

import threading
import warnings
from functools import cache
from pathlib import Path

import numpy as np

from alphazero.game import EXTRA, Position
from alphazero.proof import Effort, Proof
from chain_reaction import PLY_LIMIT, strategy
from chain_reaction.dfpn import Search, lookup
from chain_reaction.table import new_table

SLICE = 4096  # positions between two looks at the clock: some 4 ms
MEGABYTES = 64
BOOK_LINE = 12  # plies of a line for whoever has no nodes to spend: a look must cost next to nothing
WORDS = {1: "win", -1: "loss"}
_loading = threading.Lock()


class View:
    """Results in a table whose attacker is `attacker` (1 red, -1 blue), told for positions and players of the game."""

    def __init__(self, table: np.ndarray, attacker: int):
        self.table, self.attacker = table, attacker

    def look(self, position: Position) -> tuple[int, int]:
        """(result, plies) for the player to move: 1 a win, -1 a loss, 0 unknown or too late for the ply limit."""
        if position.winner is not None:
            return position.winner * position.to_move, 0
        cells, mover = position.state[:-EXTRA] * self.attacker, position.to_move * self.attacker
        result, plies = lookup(self.table, cells, mover)
        return (result * mover, plies) if position.plies + plies <= PLY_LIMIT else (0, 0)

    def moves(self, position: Position) -> dict[int, tuple[int, int]]:
        """action -> (result, plies) for the player to move, of all moves whose result is known."""
        found = {}
        for action in position.legal_moves():
            result, plies = self.look(position.play(action))
            if result:
                found[action] = -result, plies + 1
        return found

    def line(self, position: Position, most: int) -> tuple[int, ...]:
        """From a decided position: the winner wins as soon as he can, the loser holds out, both by the bounds known.

        It ends early if the table had no room for all of the proof.
        """
        actions: list[int] = []
        result, bound = self.look(position)
        while result and position.winner is None and len(actions) < most:
            plies_of = {action: plies for action, (found, plies) in self.moves(position).items() if found == result}
            if not plies_of:
                break
            pick = min if result > 0 else max
            action = pick(plies_of, key=lambda action: plies_of[action])
            if plies_of[action] > bound:
                break
            actions.append(action)
            position, result, bound = position.play(action), -result, plies_of[action] - 1
        return tuple(actions)


def prove(position: Position, effort: Effort) -> Proof:
    """What can be proven about a position within the effort."""
    if position.winner is not None:
        return Proof()
    known = blue_wins()
    if known is not None:
        view = View(known, -1)
        if view.look(position)[0]:
            return _report(position, view, 0, PLY_LIMIT if effort.nodes else BOOK_LINE)
    return search(position, effort, new_table(effort.nodes, MEGABYTES))


def search(position: Position, effort: Effort, table: np.ndarray) -> Proof:
    """df-pn alone, with this table.

    One search answers both questions, "does the mover win?" and "does he lose?", unless a repetition stands in the
    way of the second. Then the other side becomes the attacker, and the rest of the effort goes there.
    """
    nodes = 0
    views = [View(table, attacker) for attacker in (position.to_move, -position.to_move)]
    for view in views:
        cells, mover = position.state[:-EXTRA] * view.attacker, position.to_move * view.attacker
        one = Search(cells, mover, table)
        decided = False
        while not decided and nodes + one.nodes < effort.nodes and not effort.is_over():
            decided = one.run(min(SLICE, effort.nodes - nodes - one.nodes))
        nodes += one.nodes
        if not decided or view.look(position)[0]:
            return _report(position, view, nodes)
    return _report(position, views[0], nodes)


def _report(position: Position, view: View, nodes: int, most: int = PLY_LIMIT) -> Proof:
    result, plies = view.look(position)
    known = view.moves(position)
    moves = {action: WORDS[found] for action, (found, _) in known.items()}
    wins = [(bound, action) for action, (found, bound) in known.items() if found > 0]
    if wins and not result:  # a win in sight, before anybody has asked about the position itself
        plies, action = min(wins)
        return Proof("win", plies, (action,), moves, nodes)
    if not result:
        return Proof(moves=moves, nodes=nodes)
    if result < 0:
        moves = dict.fromkeys(position.legal_moves(), "loss")
    line = view.line(position, most)
    if result > 0 and not line:  # the table had no room for the winning move: nothing that one could play
        return Proof(moves=moves, nodes=nodes)
    return Proof(WORDS[result], plies, line, moves, nodes)


def blue_wins() -> np.ndarray | None:
    """The positions of Blue's strategy for the whole game; None without a usable file."""
    with _loading:  # once for all threads
        return _load(strategy.BLUE_WINS)


@cache
def _load(path: Path) -> np.ndarray | None:
    try:
        return strategy.load(path)
    except FileNotFoundError:
        return None  # the search does without
    except (OSError, strategy.StrategyError) as error:
        warnings.warn(f"Playing without Blue's winning strategy: {error}", stacklevel=3)
        return None
