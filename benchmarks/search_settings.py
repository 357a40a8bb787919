"""Which search settings are strongest: `python benchmarks/search_settings.py gomoku` prints one JSON object last.

The same network with the same simulations, one setting changed at a time, against the game's own settings; from sampled
openings in colour-swapped pairs. Elo is the change's, with its 95 % interval.
"""

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that it runs as a script, from anywhere

from alphazero import get_game
from alphazero.agents import NetAgent
from alphazero.match import play_match
from alphazero.model import Model
from alphazero.openings import sampled
from alphazero.player import checkpoint_for


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("game")
    parser.add_argument("--checkpoint", help="a folder; the shipped network by default")
    parser.add_argument("--simulations", type=int, default=200)
    parser.add_argument("--pairs", type=int, default=50)
    parser.add_argument("--plies", type=int, default=6, help="of the sampled openings")
    parser.add_argument("--c-puct", type=float, nargs="*", default=[], help="values to try")
    parser.add_argument("--fpu-reduction", type=float, nargs="*", default=[], help="values to try")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    game = get_game(options.game)
    model = Model.of(checkpoint_for(game, options.checkpoint))
    openings = sampled(game, options.plies, options.pairs, options.seed)
    own = NetAgent(model, simulations=options.simulations)
    changes = [{"c_puct": value} for value in options.c_puct]
    changes += [{"fpu_reduction": value} for value in options.fpu_reduction]
    about = {"game": game.name, "simulations": options.simulations, "openings": f"sampled:{options.plies}"}
    tried = []
    for change in changes:
        other = NetAgent(model, simulations=options.simulations, settings=replace(game.search, **change), name="other")
        tally = play_match(game, other, own, openings, seed=options.seed).tally
        tried.append({**change, **tally.as_dict()})
        print(tried[-1], file=sys.stderr, flush=True)
    print(json.dumps({**about, "tried": tried}))


if __name__ == "__main__":
    main()
