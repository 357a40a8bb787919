"""What solvers are worth: `python benchmarks/solvers.py gomoku` prints one JSON object last.

The same network and simulations with and without: at the root (the game's prover), at the leaves (its tactics), both.
Each variant meets plain search from sampled openings in colour-swapped pairs. Then what each costs: seconds a move of a
lone search, taken turn by turn on the same positions of the games just played.
"""

import argparse
import json
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that it runs as a script, from anywhere

import numpy as np

from alphazero import get_game
from alphazero.agents import LevelAgent
from alphazero.match import play_match
from alphazero.model import Model
from alphazero.openings import replay, sampled
from alphazero.player import Player, checkpoint_for
from alphazero.settings import Level


def variants(game, simulations):
    master = game.levels["master"]
    root, leaf = master.proof_nodes, master.leaf_nodes
    wanted = {"plain": (0, 0), "root": (root, 0), "leaf": (0, leaf), "both": (root, leaf)}
    if not leaf:
        wanted = {"plain": (0, 0), "root": (root, 0)}
    return {name: Level(simulations, proof_nodes=a, leaf_nodes=b) for name, (a, b) in wanted.items()}


def seconds_a_move(model, levels, positions):
    players = {name: Player(model, level=level, seed=0) for name, level in levels.items()}
    seconds = {name: [] for name in players}
    for position in positions:
        for name, player in players.items():
            seconds[name].append(player.search(position).seconds)
    return {name: round(statistics.mean(taken[2:]), 4) for name, taken in seconds.items()}  # two to warm up


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("game", help="gomoku or chain_reaction")
    parser.add_argument("--simulations", type=int, default=200)
    parser.add_argument("--pairs", type=int, default=50)
    parser.add_argument("--plies", type=int, default=3, help="of the sampled openings")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    game = get_game(options.game)
    model = Model.of(checkpoint_for(game, None))
    levels = variants(game, options.simulations)
    openings = sampled(game, options.plies, options.pairs, options.seed)
    report = {"game": game.name, "simulations": options.simulations, "openings": f"sampled:{options.plies}"}
    plain = LevelAgent(model, levels["plain"], "plain")
    positions = []
    for name, level in levels.items():
        if name == "plain":
            continue
        result = play_match(game, LevelAgent(model, level, name), plain, openings, seed=options.seed)
        report[name] = result.tally.as_dict()
        positions += [replay(game, record.moves[: record.plies // 2]) for record in result.games]
        print(name, report[name], file=sys.stderr)
    rng = np.random.default_rng(options.seed)
    some = [positions[k] for k in rng.permutation(len(positions))[:60]]
    report["seconds_a_move"] = seconds_a_move(model, levels, some)
    print(json.dumps(report))


if __name__ == "__main__":
    main()
