"""How long an engine may think: what the manager says with INFO, turned into a budget for the next move."""

from __future__ import annotations

import re

from alphazero.settings import MAX_SECONDS, MAX_SIMULATIONS, Budget

DEFAULT_SECONDS = 5.0  # a move, where neither the manager nor the command line says anything
NO_LIMIT_MS = 1_000_000_000  # managers write "no limit" as this or as 2^31 - 1

# Kept free of every limit, in seconds and as a part of it: answers came up to 32 ms after the planned time with eight
# other processes on two cores (benchmarks/gomocup_time.py; the figures are in docs/gomocup.md).
MARGIN, MARGIN_PART, MARGIN_MOST = 0.04, 0.05, 0.25

# "As fast as possible": enough to see a win or a loss within two plies, in about 10 ms.
FAST_SIMULATIONS = 32
FAST_SECONDS = 0.01

# Games on 9x9 take some 30 to 50 plies. While one goes on it is planned as if a few moves more were to come, so that
# the time of a match shrinks by a fixed share a move and never runs out.
USUAL_PLIES = 50
MOVES_AHEAD = 8


class Clock:
    """Keeps the manager's limits and the time spent, in seconds."""

    def __init__(self) -> None:
        self.turn: float | None = None
        self.match: float | None = None
        self.max_nodes: int | None = None
        self._told_left: float | None = None
        self._spent = 0.0  # in this game, or since the manager last said what is left

    def info(self, key: str, value: str) -> None:
        """Take in `INFO key value`. What is no number says nothing."""
        if not re.fullmatch(r"[+-]?[0-9]{1,18}", value):
            return
        number = int(value)
        seconds = None if number >= NO_LIMIT_MS else max(number, 0) / 1000
        if key == "timeout_turn":
            self.turn = seconds
        elif key == "timeout_match":
            self.match = seconds or None  # 0 is no limit here, unlike timeout_turn
        elif key == "time_left":
            self._told_left, self._spent = seconds, 0.0
        elif key == "max_node":
            self.max_nodes = number if number > 0 else None

    def new_game(self) -> None:
        self._told_left, self._spent = None, 0.0

    def spend(self, seconds: float) -> None:
        self._spent += seconds

    def left(self) -> float | None:
        """What is left of the match; None without a limit."""
        total = self.match if self._told_left is None else self._told_left
        return None if total is None else total - self._spent

    def plan(
        self, plies: int, simulations: int | None = None, seconds: float | None = None, late: float = 0.0
    ) -> Budget:
        """The budget for a move after so many plies.

        simulations, seconds: the most that the command line allows. late: how long ago the move was asked for.
        """
        limits = [] if seconds is None else [seconds]
        if self.turn is not None:
            limits.append(self.turn - margin(self.turn) - late)
        left = self.left()
        if left is not None:
            share = left / moves_to_come(plies)
            limits.append(share - margin(share) - late)
        if not limits and simulations is None:
            limits.append(DEFAULT_SECONDS)
        nodes = min((cap for cap in (simulations, self.max_nodes) if cap is not None), default=MAX_SIMULATIONS)
        if not limits:
            return Budget(simulations=min(nodes, MAX_SIMULATIONS))
        if min(limits) < FAST_SECONDS:
            return Budget(simulations=min(nodes, FAST_SIMULATIONS), seconds=FAST_SECONDS)
        return Budget(simulations=min(nodes, MAX_SIMULATIONS), seconds=min(*limits, MAX_SECONDS))


def margin(seconds: float) -> float:
    """How much of a limit is kept for everything but thinking."""
    return max(MARGIN, min(MARGIN_PART * seconds, MARGIN_MOST))


def moves_to_come(plies: int) -> int:
    """For how many moves of ours, this one among them, the rest of a match's time must last."""
    return max(MOVES_AHEAD, (USUAL_PLIES - plies) // 2)
