"""How well `python -m gomoku.pbrain` keeps a time limit, as the manager at the other end of its pipes sees it.

    python benchmarks/gomocup_time.py --limit 0.2 --games 3 --busy 2

Plays games of random replies, each in a fresh process, with `--busy` processes that do nothing but take the cores.
The last line is one JSON object: seconds from a question to its answer, over all moves and over first moves.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from gomoku import GAME
from gomoku.gomocup import ExternalEngine


def play(limit: float, rng: random.Random) -> list[float]:
    """The seconds of each of the engine's moves in one game, the first one first."""
    taken = []
    with ExternalEngine("python -m gomoku.pbrain", seconds=limit) as engine:
        position = GAME.start()
        while position.winner is None and len(taken) < 15:
            begin = time.perf_counter()
            position = position.play(engine.choose(position))
            taken.append(time.perf_counter() - begin)
            if position.winner is None:
                position = position.play(rng.choice(position.legal_moves()))
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--limit", type=float, default=0.2, help="seconds a move (default 0.2)")
    parser.add_argument("--games", type=int, default=3, help="games, each with a process of its own (default 3)")
    parser.add_argument("--busy", type=int, default=0, help="processes beside it that take the cores (default 0)")
    args = parser.parse_args()
    rng = random.Random(1)
    GAME.start().play(0).legal_moves()  # what is measured is the engine, not the loading of our own rules
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(args.busy)]
    try:
        games = [play(args.limit, rng) for _ in range(args.games)]
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    moves = sorted(seconds for game in games for seconds in game)
    report = {
        "limit": args.limit,
        "busy": args.busy,
        "moves": len(moves),
        "late": sum(seconds > args.limit for seconds in moves),
        "median": round(moves[len(moves) // 2], 4),
        "worst": round(moves[-1], 4),
        "worst_first": round(max(game[0] for game in games), 4),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
