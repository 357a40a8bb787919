"""How many of the project's forced wins a player finds: `python benchmarks/forced_wins.py` prints one JSON object last.

A win is found if the move played keeps it: it is among the quickest known (gomoku/tactics.json), or the threat prover
shows that the other side is lost after it. Network and search alone, unless --level asks for solvers, too.
"""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that it runs as a script, from anywhere

from alphazero import load_player
from alphazero.proof import Effort
from gomoku.prover import prove
from gomoku.tactics_set import load


def keeps_the_win(tactic, action, nodes):
    following = tactic.position().play(action)
    return action in tactic.wins or following.winner is not None or prove(following, Effort(nodes)).result == "loss"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--checkpoint", default="gomoku", help="a folder; the shipped network by default")
    parser.add_argument("--simulations", type=int, nargs="*", default=[100, 400, 1600])
    parser.add_argument("--level", help="with the solvers of this level, for so many simulations")
    parser.add_argument("--nodes", type=int, default=1_000_000, help="for the prover that judges other moves")
    options = parser.parse_args()
    player = load_player(options.checkpoint, simulations=1, seed=0)
    report = {"checkpoint": options.checkpoint, "level": options.level, "positions": len(load())}
    for simulations in options.simulations:
        searches = [player.start(t.position(), simulations=simulations, level=options.level) for t in load()]
        found, proven, total = Counter(), Counter(), Counter()
        for tactic, search in zip(load(), searches, strict=True):
            result = search.result()
            total[tactic.plies] += 1
            found[tactic.plies] += keeps_the_win(tactic, result.action, options.nodes)
            proven[tactic.plies] += result.proven == "win"
        report[f"at_{simulations}"] = {
            "found": found.total(),
            "share": round(found.total() / total.total(), 4),
            "proven": proven.total(),
            "found_by_plies": {str(plies): f"{found[plies]}/{total[plies]}" for plies in sorted(total)},
        }
        print(simulations, report[f"at_{simulations}"], file=sys.stderr)
    print(json.dumps(report))


if __name__ == "__main__":
    main()
