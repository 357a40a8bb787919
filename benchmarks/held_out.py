"""How near the network comes to its own search: `python benchmarks/held_out.py gomoku` prints one JSON object last.

New games of the network against itself, which nothing has learnt from: plain PUCT, from sampled openings, moves drawn
by visits at first and the best ones later. In every position: KL from the shares of the visits to the bare network's
policy, the squared error of the bare network's value (value_to_move) to the search's and to the game's outcome, and
whether both prefer the same move. Positions that the search has proven are counted apart: a proof leaves no shares.
Intervals are of 95 %, over games.
"""

import argparse
import json
import sys
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that it runs as a script, from anywhere

import numpy as np

from alphazero import get_game, load_player
from alphazero.openings import replay, sampled

LOOSE_PLIES = 8  # after the opening, with moves drawn at temperature 1
AT_ONCE = 32  # games, so that the network is asked in batches
Z95 = 1.96


def play(player, opening, seed):
    """One game, as rows of what was found in each of its positions."""
    position, rows, sides = replay(player.game, opening), [], []
    while position.winner is None:
        loose = position.plies < len(opening) + LOOSE_PLIES
        # Told by ply and seed alone: the same games, however many run at once.
        result = player.search(position, temperature=1.0 if loose else 0.0, seed=seed * 1000 + position.plies)
        if result.proven is None:
            sides.append(position.to_move)
            rows.append(compare(player, result))
        position = position.play(result.action)
    for row, side in zip(rows, sides, strict=True):
        row["value_mse_outcome"] = (row.pop("network_value") - position.winner * side) ** 2
    return rows, position.plies - len(opening) - len(rows)


def compare(player, result):
    policy, value = player.evaluate(result.position)
    seen = result.probs > 0
    return {
        "policy_kl": float((result.probs[seen] * np.log(result.probs[seen] / np.maximum(policy[seen], 1e-30))).sum()),
        "policy_top1": float(policy.argmax() == result.probs.argmax()),
        "value_mse_search": (value - result.value_to_move) ** 2,
        "network_value": value,
    }


def summary(games):
    """Name -> mean over positions and the half width of its interval, games being what is independent."""
    report, sizes = {}, np.array([len(rows) for rows in games])
    columns = defaultdict(list)
    for rows in games:
        for name in rows[0]:
            columns[name].append(np.mean([row[name] for row in rows]))
    for name, means in columns.items():
        mean = float(np.average(means, weights=sizes))
        spread = np.sqrt((sizes**2 * (np.array(means) - mean) ** 2).sum()) / sizes.sum()
        report[name] = {"mean": round(mean, 4), "margin": round(Z95 * float(spread), 4)}
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("game")
    parser.add_argument("--checkpoint", help="a folder; the shipped network by default")
    parser.add_argument("--simulations", type=int, default=400)
    parser.add_argument("--games", type=int, default=60)
    parser.add_argument("--plies", type=int, default=3, help="of the sampled openings")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    game = get_game(options.game)
    player = load_player(options.checkpoint or options.game, simulations=options.simulations)
    openings = sampled(game, options.plies, options.games, options.seed)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        played = list(pool.map(lambda k: play(player, openings[k], options.seed + k), range(options.games)))
    report = {
        "checkpoint": options.checkpoint or options.game,
        "simulations": options.simulations,
        "games": options.games,
        "positions": sum(len(rows) for rows, _ in played),
        "proven_positions": sum(proven for _, proven in played),
        **summary([rows for rows, _ in played if rows]),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
