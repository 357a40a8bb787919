"""What the threat kernel costs at a leaf: `python benchmarks/tactics.py` prints one JSON object last.

Positions: from games of random moves, and of the noisy heuristic of gomoku/tactics_set.py, which look like self-play.
For each budget of nodes: microseconds a call, called from compiled code as the search does, the median of five rounds,
and the share of positions decided (a win, or a loss) or forced. Then what `prove` takes, in milliseconds a position.
"""

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that it runs as a script, from anywhere

import numpy as np
from numba import njit

from alphazero.game import FORCED, LOSES, WINS
from alphazero.proof import Effort
from gomoku import GAME
from gomoku.prover import prove
from gomoku.tactics import tactics
from gomoku.tactics_set import play_game


@njit(nogil=True)
def run(boards, players, budget, rounds, counts):
    for _ in range(rounds):
        counts[:] = 0
        for k in range(boards.shape[0]):
            result, _, _ = tactics(boards[k], players[k], budget)
            counts[result] += 1


def random_game(rng):
    position, game = GAME.start(), []
    while position.winner is None:
        game.append(position)
        position = position.play(int(rng.choice(position.legal_moves())))
    return game


def measure(positions, budget, rounds):
    boards = np.array([position.board.ravel() for position in positions])
    players = np.array([position.to_move for position in positions])
    counts = np.zeros(4, np.int64)
    run(boards, players, budget, 1, counts)
    seconds = []
    for _ in range(5):
        begin = time.perf_counter()
        run(boards, players, budget, rounds, counts)
        seconds.append(time.perf_counter() - begin)
    share = {
        name: round(int(counts[k]) / len(boards), 4) for name, k in (("win", WINS), ("loss", LOSES), ("forced", FORCED))
    }
    return {"us": round(1e6 * statistics.median(seconds) / rounds / len(boards), 3), **share}


def measure_prover(positions, nodes):
    seconds, results = [], []
    for position in positions:
        begin = time.perf_counter()
        results.append(prove(position, Effort(nodes)).result)
        seconds.append(time.perf_counter() - begin)
    seconds.sort()
    return {
        "ms_mean": round(1e3 * statistics.mean(seconds), 3),
        "ms_p95": round(1e3 * seconds[int(0.95 * len(seconds))], 3),
        "win": round(results.count("win") / len(results), 4),
        "loss": round(results.count("loss") / len(results), 4),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--games", type=int, default=100, help="of each kind")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--budgets", type=int, nargs="*", default=[0, 20, 50, 100, 200, 1000])
    parser.add_argument("--nodes", type=int, nargs="*", default=[2_000, 20_000], help="for the prover")
    options = parser.parse_args()
    rng = np.random.default_rng(1)
    report = {}
    for name, play in (("random", random_game), ("sampled", play_game)):
        positions = [position for _ in range(options.games) for position in play(rng)]
        report[name] = {"positions": len(positions)}
        for budget in options.budgets:
            report[name][f"budget_{budget}"] = measure(positions, budget, options.rounds)
            print(name, budget, report[name][f"budget_{budget}"], file=sys.stderr)
        sample = positions[:: max(len(positions) // 300, 1)]
        prove(sample[0], Effort(10_000))
        for nodes in options.nodes:
            report[name][f"prove_{nodes}"] = measure_prover(sample, nodes)
            print(name, "prove", nodes, report[name][f"prove_{nodes}"], file=sys.stderr)
    print(json.dumps(report))


if __name__ == "__main__":
    main()
