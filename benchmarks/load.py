"""How many people can play at once: starts the real server and plays whole games against it over HTTP.

    python benchmarks/load.py --players 40 --seconds 60

Each person plays one legal game after another, `--think` seconds apart on average (from half to one and a half times
that), some through the event that the page sends (first "show", then "reply", as the board does), the others through
REST. Every answer is checked against the rules here. "Busy" answers are waited for, as the page does, and the wait is
part of the time that the move took. All come from one address, as a class behind one router does, unless --addresses.

Prints one JSON object last. `errors` are failed requests and wrong boards; `busy` are polite refusals; times are from a
person's move to the reply to it. With --games N the run ends after so many games and says how memory grew.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that it runs as a script, from anywhere

from alphazero import DEFAULT_LEVEL, LEVELS, Game, Position, get_game
from benchmarks.running import RunningApp

PATIENCE = 60.0  # seconds for one answer; more is an error
GAMES = ("chain_reaction", "gomoku", "tictactoe")


class Wrong(Exception):
    """An answer that can't be: the rules say otherwise."""


@dataclass
class Tally:
    """What all people together saw."""

    seconds: list[float] = field(default_factory=list)  # of each move, waiting included
    games: int = 0
    busy: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    memory: list[tuple[int, float]] = field(default_factory=list)  # (games finished, MB)

    def failed(self, error: Exception) -> None:
        self.errors[type(error).__name__] += 1
        if sum(self.errors.values()) <= 5:
            print(f"error: {type(error).__name__}: {error}", file=sys.stderr)


class Connection:
    """HTTP/1.1 with as little work as possible: whoever measures should not be what takes the time."""

    def __init__(self, port: int, address: str | None):
        self.port = port
        self.forwarded = f"X-Forwarded-For: {address}\r\n" if address else ""
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def request(self, method: str, path: str, body: Any = None) -> tuple[int, dict[str, str], bytes]:
        """(status, headers, body). A connection that the server closed meanwhile is opened anew, once."""
        sent = json.dumps(body).encode() if body is not None else b""
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nContent-Type: application/json\r\n"
            f"{self.forwarded}Content-Length: {len(sent)}\r\n\r\n"
        )
        kept = self._streams is not None
        try:
            return await asyncio.wait_for(self._exchange(head.encode() + sent), PATIENCE)
        except (ConnectionError, asyncio.IncompleteReadError):
            self.close()
            if not kept:
                raise
            return await asyncio.wait_for(self._exchange(head.encode() + sent), PATIENCE)

    async def _exchange(self, sent: bytes) -> tuple[int, dict[str, str], bytes]:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self._streams
        writer.write(sent)
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        if headers.get("connection") == "close":
            self.close()
        return int(lines[0].split()[1]), headers, body

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


class Person:
    """Plays one game after another. `by_rest`: through the API, otherwise as the page does."""

    def __init__(self, connection: Connection, tally: Tally, level: str, think: float, by_rest: bool, seed: int):
        self.connection, self.tally, self.level, self.think, self.by_rest = connection, tally, level, think, by_rest
        self.random = random.Random(seed)

    async def play(self, stop: asyncio.Event, games: int | None) -> None:
        await asyncio.sleep(self.random.random() * self.think)  # people do not all begin in the same instant
        while not stop.is_set():
            try:
                await self._game(get_game(self.random.choice(GAMES)), stop)
            except (Wrong, OSError, ValueError, KeyError, asyncio.IncompleteReadError, TimeoutError) as error:
                self.tally.failed(error)
                self.connection.close()
                await asyncio.sleep(1)
            if games is not None and self.tally.games >= games:
                stop.set()

    async def _game(self, game: Game, stop: asyncio.Event) -> None:
        position, side = game.start(), self.random.choice((1, -1))
        while position.winner is None and not stop.is_set():
            if position.to_move == side:
                await asyncio.sleep(self.think * self.random.uniform(0.5, 1.5))
                moved = position.play(self.random.choice(position.legal_moves()))
                begin = time.perf_counter()
                if not self.by_rest:
                    check_view(moved, await self._event(moved, "show"))
                position = moved
            else:
                begin = time.perf_counter()
            if position.winner is None:
                position = await (self._rest_reply(position) if self.by_rest else self._page_reply(position))
            self.tally.seconds.append(time.perf_counter() - begin)
        self.tally.games += position.winner is not None

    async def _page_reply(self, position: Position) -> Position:
        answer = await self._event(position, "reply")
        moves = [*position.moves, *answer["moves"][len(position.moves) :]]
        if len(moves) != len(position.moves) + 1:
            raise Wrong(f"a reply must add one move; sent {list(position.moves)}, got {answer['moves']}")
        after = position.play(moves[-1])
        check_view(after, answer)
        return after

    async def _event(self, position: Position, ask: str) -> dict[str, Any]:
        request = {"game": position.game.name, "moves": list(position.moves), "ask": ask, "level": self.level}
        while True:
            answer = (await self._post("/gradio_api/run/ask", {"data": [request]}))["data"][0]
            if answer["ok"]:
                return answer
            if answer["code"] != "busy":
                raise Wrong(f"{ask} was answered by {answer['code']}")
            await self._wait(answer["seconds"])

    async def _rest_reply(self, position: Position) -> Position:
        request = {"board": position.board.tolist(), "currentPlayer": position.to_move, "level": self.level}
        answer = await self._post(f"/api/v1/{position.game.name}/move", request)
        if abs(sum(answer["probs"]) - 1) > 1e-3 or len(answer["probs"]) != position.game.num_actions:
            raise Wrong("probs must be one per cell and sum to 1")
        return position.play(answer["action"])  # IllegalMove is a ValueError

    async def _post(self, path: str, body: Any) -> Any:
        while True:
            status, headers, answer = await self.connection.request("POST", path, body)
            if status == 200:
                return json.loads(answer)
            if status not in (429, 503) or "retry-after" not in headers:
                raise Wrong(f"{path} answered {status}: {answer[:200]!r}")
            await self._wait(float(headers["retry-after"]))

    async def _wait(self, seconds: float) -> None:
        self.tally.busy += 1
        await asyncio.sleep(seconds * self.random.uniform(1, 1.5))


def check_view(position: Position, answer: dict[str, Any]) -> None:
    """The board that the server shows must be the one that the rules give."""
    expected = {
        "moves": list(position.moves),
        "cells": position.board.ravel().tolist(),
        "toMove": position.to_move,
        "winner": position.winner,
        "legal": sorted(position.legal_moves()) if position.winner is None else [],
    }
    shown = {name: sorted(answer[name]) if name == "legal" else answer[name] for name in expected}
    if shown != expected:
        raise Wrong(f"{position.game.name}: shown {shown}, but the rules say {expected}")


async def figures(connection: Connection) -> dict[str, Any]:
    _, _, body = await connection.request("GET", "/monitor/data")
    return json.loads(body)["now"]


async def watch_memory(connection: Connection, tally: Tally) -> None:
    while True:
        tally.memory.append((tally.games, round((await figures(connection))["rss_mb"], 1)))
        await asyncio.sleep(5)


async def run(port: int, args: argparse.Namespace) -> dict[str, Any]:
    tally, stop, observer = Tally(), asyncio.Event(), Connection(port, None)
    people = []
    for number in range(args.players):
        # Addresses of the benchmarking network (RFC 2544); the server believes a proxy on its own machine.
        address = f"198.18.0.{number % args.addresses + 1}" if args.addresses > 1 else None
        by_rest = number < round(args.players * args.mix)
        people.append(Person(Connection(port, address), tally, args.level, args.think, by_rest, args.seed + number))
    before, began = await figures(observer), time.perf_counter()
    tasks = [asyncio.create_task(person.play(stop, args.games)) for person in people]
    watching = asyncio.create_task(watch_memory(Connection(port, None), tally))
    try:
        await asyncio.wait_for(stop.wait(), args.seconds)
    except TimeoutError:
        stop.set()
    seconds = time.perf_counter() - began
    after = await figures(observer)
    watching.cancel()
    await asyncio.wait(tasks, timeout=PATIENCE)
    times = sorted(tally.seconds)
    return {
        "players": args.players,
        "moves": len(times),
        "games": tally.games,
        "errors": sum(tally.errors.values()),
        "busy": tally.busy,
        **{f"p{part}_ms": percentile(times, part) for part in (50, 95, 99)},
        "moves_per_s": round(len(times) / seconds, 2),
        "evals_per_s": round((after["evaluations"] - before["evaluations"]) / seconds, 1),
        "batch_size": round(after["batch_size"] or 0, 2),
        "rss_mb": round(after["rss_mb"], 1),
        "rss_start_mb": round(before["rss_mb"], 1),
        "rss_by_games": thinned(tally.memory, 12),
        "seconds": round(seconds, 1),
        "think": args.think,
        "level": args.level,
        "rest_share": args.mix,
        "addresses": args.addresses,
    }


def percentile(ordered: list[float], part: int) -> float | None:
    return round(1000 * ordered[min(len(ordered) - 1, len(ordered) * part // 100)], 1) if ordered else None


def thinned(items: list[Any], count: int) -> list[Any]:
    """At most about `count` of them, evenly, the last among them."""
    step = max(1, -(-len(items) // count))
    return items[::-1][::step][::-1]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--players", type=int, default=40, help="people at once (default 40)")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long, at most (default 60)")
    parser.add_argument("--think", type=float, default=4.0, help="seconds a person takes for a move (default 4)")
    parser.add_argument("--mix", type=float, default=0.25, help="share of people who come by REST (default 0.25)")
    parser.add_argument("--level", choices=LEVELS, default=DEFAULT_LEVEL)
    parser.add_argument("--games", type=int, help="end after so many games: a memory run; best with --think 0")
    parser.add_argument("--addresses", type=int, default=1, help="spread people over so many addresses (default 1)")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def main() -> int:
    args = arguments()
    with RunningApp() as app:
        app.wait_until_ready()
        report = asyncio.run(run(app.port, args))
    print(json.dumps(report))
    return 1 if report["errors"] else 0


if __name__ == "__main__":
    sys.exit(main())
