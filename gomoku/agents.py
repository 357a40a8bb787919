"""Players of Gomoku that the arena does not have by itself: alpha-beta, and engines that speak the Gomocup protocol.

alphabeta@DEPTH             a fixed depth, no network
gomocup:COMMAND             one second a move
gomocup@SECONDS:COMMAND     so many seconds a move
"""

from __future__ import annotations

import asyncio
from typing import Any

from alphazero.agents import Agent, Contestant, Forfeit, Seat, alphabeta
from alphazero.game import Position
from alphazero.settings import short
from gomoku.alphabeta import MAX_DEPTH, best_moves
from gomoku.gomocup import EngineFailure, ExternalEngine, split_command

DEFAULT_SECONDS = 1.0


class GomocupAgent(Agent):
    """An external engine; every game is played by a process of its own. What it does wrong loses it the game."""

    external = True
    at_once = 1  # it plays by the clock, and may use every core: games beside would take its time

    def __init__(self, command: str, *, seconds: float = DEFAULT_SECONDS):
        split_command(command)  # says at once what is wrong with it
        self.command = command
        self.seconds = seconds
        self.name = f"gomocup:{command}" if seconds == DEFAULT_SECONDS else f"gomocup@{seconds:g}:{command}"
        self._started = False

    async def sit_down(self, seat: Seat) -> Contestant:
        engine = ExternalEngine(self.command, seconds=self.seconds)
        try:
            await asyncio.to_thread(engine.start)
        except BaseException as error:
            await _close(engine)
            if not isinstance(error, EngineFailure):
                raise
            if self._started:
                raise Forfeit(str(error)) from None
            raise ValueError(str(error)) from None  # it never played: a slip in the command, and no match at all
        self._started = True
        return _EngineInGame(engine)

    def describe(self) -> dict[str, Any]:
        return {"name": self.name, "command": self.command, "seconds": self.seconds}


class _EngineInGame(Contestant):
    def __init__(self, engine: ExternalEngine):
        self._engine = engine

    async def choose(self, position: Position) -> int:
        try:
            return await asyncio.to_thread(self._engine.choose, position)
        except EngineFailure as error:
            raise Forfeit(str(error)) from None

    async def close(self) -> None:
        await _close(self._engine)


async def _close(engine: ExternalEngine) -> None:
    """In a thread, as it may take seconds; shielded, as a process must not outlive a cancelled match."""
    await asyncio.shield(asyncio.to_thread(engine.close))


def gomocup(seconds: str, command: str) -> GomocupAgent:
    """The agent written `gomocup[@SECONDS]:COMMAND`."""
    if seconds:  # a command may hold colons; the seconds do not
        seconds, _, command = f"{seconds}:{command}".partition(":")
    try:
        number = float(seconds) if seconds else DEFAULT_SECONDS
    except ValueError:
        number = 0.0
    if not 0.001 <= number <= 600.0:
        raise ValueError(f"SECONDS a move must be a number from 0.001 to 600, not {short(seconds)}")
    return GomocupAgent(command, seconds=number)


AGENTS = {"alphabeta@DEPTH": alphabeta(best_moves, MAX_DEPTH), "gomocup[@SECONDS]:COMMAND": gomocup}
