"""What can be proved about a Gomoku position: `prove(position, effort) -> Proof`.

First fours, for the mover and against each of his moves, as they cost microseconds; then threats, in rounds of growing
size, where the mover's win and the moves that lose take turns. Whatever is claimed was searched with every defence.
"""

from __future__ import annotations

from dataclasses import dataclass

from alphazero.game import EXTRA, Position
from alphazero.proof import Effort, Proof
from gomoku.solver import Solver
from gomoku.vcf import LONGEST
from gomoku.vct import ANY, RUNNING

CHUNK = 4_000  # nodes between two looks at the clock: about a millisecond
FOUR_NODES = 20_000  # the most for one search of fours
MOST_THREATS = 12
FIRST_SLICE = 2_000  # nodes of the first round; every round has three times as many


class _Spent(Exception):
    """The effort is used up; what was proved so far stands."""


@dataclass
class _Question:
    """Does `side`, to move (after `cell` of the other's, if that is given), win by threats? Asked with ever more."""

    side: int
    cell: int | None = None
    threats: int = 1
    open: bool = True


class _Prover:
    def __init__(self, position: Position, effort: Effort):
        self.position = position
        self.effort = effort
        self.me = 0 if position.to_move == 1 else 1
        self.legal = position.legal_moves()
        self.solver = Solver(position.state[:-EXTRA], table_bits=min(max(effort.nodes.bit_length(), 10), 18))
        self.limit = effort.nodes - effort.nodes // 4  # the rest is for the line, and for more winning moves
        self.winning: dict[int, int] = {}  # move -> plies to the end, this move included
        self.losing: dict[int, int] = {}
        self.threats = 1  # that the wins found needed

    def run(self) -> Proof:
        if self.position.winner is not None:
            return Proof(result="draw" if self.position.winner == 0 else "loss", plies=0)
        if self.solver.fives(self.me)[0] > 0:
            self.winning = {cell: 1 for cell in self.legal if self.position.play(cell).winner is not None}
        if len(self.legal) == 1 and not self.winning:
            return Proof(result="draw", plies=1, line=tuple(self.legal), moves={self.legal[0]: "draw"})
        try:
            if not self.winning:
                self.fours_first()
            if not self.is_decided():
                self.rounds()
        except _Spent:
            pass
        return self.answer()

    def is_decided(self) -> bool:
        return bool(self.winning) or len(self.losing) == len(self.legal)

    # What everything else is made of.

    def left(self) -> int:
        return self.limit - int(self.solver.spent[0])

    def check(self) -> None:
        if self.left() <= 0 or self.effort.is_over():
            raise _Spent

    def fours(self, side: int, plies: int = LONGEST) -> tuple[int, ...]:
        """The moves of a win by a five or fours within so many plies, or nothing. The shortest, if there is time."""
        self.check()
        moves = self.solver.fours(side, plies, min(FOUR_NODES, self.left()))
        while len(moves) > 3 and self.left() > 0 and not self.effort.is_over():
            shorter = self.solver.fours(side, len(moves) - 2, min(FOUR_NODES, self.left()))
            if not shorter:
                break
            moves = shorter
        return moves

    def search(self, side: int, threats: int, plies: int, nodes: int, only: int = ANY) -> int:
        """Plies of a win of `side`, to move, by so many threats; 0 if there is none, RUNNING if the nodes ran out."""
        self.check()
        end = int(self.solver.spent[0]) + min(nodes, self.left())
        self.solver.begin(side, threats, plies, only)
        while (value := self.solver.advance(min(CHUNK, end - int(self.solver.spent[0])))) == RUNNING:
            if int(self.solver.spent[0]) >= end or self.effort.is_over():
                self.solver.stop()
                break
        return value

    def ask(self, question: _Question, nodes: int) -> int:
        """Go on with a question for so many nodes: plies of the win, or 0."""
        end = int(self.solver.spent[0]) + nodes
        if question.cell is not None:
            self.solver.put(1 - question.side, question.cell)
        try:
            while question.open and (left := end - int(self.solver.spent[0])) > 0:
                value = self.search(question.side, question.threats, LONGEST, left)
                if value > 0:
                    question.open = False
                    return value
                if value == RUNNING:
                    break
                question.threats += 1
                question.open = question.threats <= MOST_THREATS
            return 0
        finally:
            if question.cell is not None:
                self.solver.put(1 - question.side, question.cell, -1)

    # The proof, from the cheap to the dear. Nobody has a five to make now but the other side.

    def fours_first(self) -> None:
        me, other = self.me, 1 - self.me
        if moves := self.fours(me):
            self.winning[moves[0]] = len(moves)
        threats, forced = self.solver.fives(other)
        if threats == 0 and not self.fours(other):
            return  # a stone of one's own never harms: what the other side can't win after a pass, no move loses
        for cell in self.legal:
            if threats >= 2 or (threats == 1 and cell != forced):
                self.losing[cell] = 2
            elif cell not in self.winning:
                self.check()
                self.solver.put(me, cell)
                moves = self.solver.fours(other, LONGEST, min(FOUR_NODES, self.left()))
                self.solver.put(me, cell, -1)
                if moves:
                    self.losing[cell] = 1 + len(moves)

    def rounds(self) -> None:
        me, other = self.me, 1 - self.me
        win, danger = _Question(me), _Question(other)
        replies = [_Question(other, cell) for cell in self.legal if cell not in self.losing]
        in_danger, nodes = bool(self.losing), FIRST_SLICE
        while not self.is_decided():
            if plies := self.ask(win, nodes):
                self.winning[self.solver.first_move()] = plies
                self.threats = win.threats
                return self.shorten(plies)
            in_danger = in_danger or self.ask(danger, nodes // 2) > 0
            for reply in replies if in_danger else ():
                if reply.cell is not None and (plies := self.ask(reply, max(nodes // len(replies), 200))):
                    self.losing[reply.cell] = 1 + plies
                    self.threats = max(self.threats, reply.threats)
            if not win.open and not any(question.open for question in (replies if in_danger else [danger])):
                return
            self.check()
            nodes *= 3

    def shorten(self, plies: int) -> None:
        """A win was found: look for quicker ones, for as many nodes as it took."""
        end = 2 * int(self.solver.spent[0])
        while plies > 5 and (nodes := end - int(self.solver.spent[0])) > 0:
            plies = self.search(self.me, self.threats + 1, plies - 2, nodes)
            if plies <= 0:
                break
            self.winning[self.solver.first_move()] = plies

    # What is said about it.

    def answer(self) -> Proof:
        self.limit = self.effort.nodes
        result: str | None = None
        plies: int | None = None
        line: tuple[int, ...] = ()
        if self.winning:
            result, plies = "win", min(self.winning.values())
            best = next(cell for cell in self.winning if self.winning[cell] == plies)
            line = (best,) if plies == 1 else self.line(self.me, plies) or (best,)
            self.winning[line[0]] = plies  # it may be another move as quick as the best known
            self.more_wins()
        elif self.legal and len(self.losing) == len(self.legal):
            result, plies = "loss", max(self.losing.values())
            stubborn = next(cell for cell in self.losing if self.losing[cell] == plies)
            self.solver.put(self.me, stubborn)
            line = (stubborn, *self.line(1 - self.me, plies - 1))
            self.solver.put(self.me, stubborn, -1)
        words = {**dict.fromkeys(self.losing, "loss"), **dict.fromkeys(self.winning, "win")}
        return Proof(result, plies, line, words, int(self.solver.spent[0]))

    def line(self, side: int, plies: int) -> tuple[int, ...]:
        """How `side`, to move, wins within `plies` as proven, the other side holding out for as long as it can.

        Found by searching again, mostly in the tables; it stops short if the effort ends.
        """
        moves: list[int] = []
        ending: tuple[int, ...] = ()
        try:
            while not (ending := self.fours(side, plies)):
                value = self.search(side, self.threats + 1, plies, self.left())
                if value <= 0:
                    break
                moves.append(self.solver.first_move())
                self.solver.put(side, moves[-1])
                reply, plies = self.best_defence(side, value - 2)
                if plies <= 0:
                    break
                moves.append(reply)
                self.solver.put(1 - side, reply)
        except _Spent:
            pass
        for k, cell in enumerate(moves):
            self.solver.put(side if k % 2 == 0 else 1 - side, cell, -1)
        return (*moves, *ending)

    def best_defence(self, side: int, plies: int) -> tuple[int, int]:
        """(reply, plies): what holds out longest against `side`, and for how long; plies 0 if this isn't known."""
        best = (-1, 0)
        for cell in self.legal:
            if self.solver.cells[cell]:
                continue
            self.solver.put(1 - side, cell)
            try:
                value = len(self.fours(side, plies)) or self.search(side, self.threats + 1, plies, self.left())
            finally:
                self.solver.put(1 - side, cell, -1)
            if value <= 0:
                return -1, 0
            best = max(best, (cell, value), key=lambda pair: pair[1])
        return best

    def more_wins(self) -> None:
        """Other moves that win, where a single threat shows it."""
        try:
            for cell in self.legal:
                if cell not in self.winning and cell not in self.losing and min(self.winning.values()) > 1:
                    value = self.search(self.me, 1, LONGEST, FIRST_SLICE // 4, cell)
                    if value > 0:
                        self.winning[cell] = value
        except _Spent:
            pass


def prove(position: Position, effort: Effort) -> Proof:
    """What is certain about an unfinished position, within the effort. Any number of threads may ask at a time."""
    return _Prover(position, effort).run()
