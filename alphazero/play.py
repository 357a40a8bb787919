"""Play against the AI in this terminal: a readable board, undo, hint, levels, either side."""

from __future__ import annotations

import argparse
import contextlib
import sys

from alphazero.game import IllegalMove, Position
from alphazero.player import Player, load_player
from alphazero.result import SearchResult
from alphazero.settings import DEFAULT_LEVEL, LEVELS
from alphazero.text import parse_cell

with contextlib.suppress(ImportError):  # not everywhere; gives input() line editing and history
    import readline  # noqa: F401

HELP = """\
  {cell:<10}  play at column {col}, row {row} (a cell number works, too)
  hint        what the AI would play in your place
  undo        take back your last move and the reply to it
  level NAME  {levels}
  swap        change sides: the AI moves for you now
  new         start again
  help        this text
  quit        leave (Ctrl-D works, too)"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--level", choices=LEVELS, help=f"how strong the AI plays (default {DEFAULT_LEVEL})")
    parser.add_argument("--simulations", type=int, help="network and search alone, with so many simulations a move")
    parser.add_argument("--seconds", type=float, help="think so long a move at the most")
    parser.add_argument("--side", choices=("first", "second"), default="first", help="which side you play")
    parser.add_argument("--checkpoint", help="folder or Hub repo id of another network")
    parser.add_argument("--seed", type=int, help="repeat the same choices at the levels that choose at random")


def run(args: argparse.Namespace) -> int:
    player = load_player(
        args.checkpoint or args.game,
        level=args.level,
        simulations=args.simulations,
        seconds=args.seconds,
        seed=args.seed,
    )
    if player.game.name != args.game:
        raise ValueError(f"{args.checkpoint} plays {player.game.name}, not {args.game}")
    human = 1 if args.side == "first" else -1
    print("Getting ready ...", end="\r", file=sys.stderr, flush=True)
    player.warm_up()
    strength = (
        "network and search alone" if args.simulations or args.seconds else f"level {args.level or DEFAULT_LEVEL}"
    )
    print(f"{player.game.title}, {strength}. You play {player.game.players[human]}. Type a cell such as A1, or help.")
    try:
        Table(player, human).sit_down()
    except KeyboardInterrupt:
        print()
    return 0


class Table:
    """One person and the AI at one board. Reads lines from standard input until it ends."""

    def __init__(self, player: Player, human: int):
        self.player = player
        self.human = human
        self.level: str | None = None  # chosen at the table; until then the player's own strength
        self.position: Position = player.game.start()

    def sit_down(self) -> None:
        self.show()
        while True:
            if self.position.winner is None and self.position.to_move != self.human:
                self.reply()
                continue
            try:
                line = input("> ").strip()
            except EOFError:
                print()
                return
            if line.lower() in ("quit", "exit", "q"):
                return
            if line:
                self.obey(line)

    def obey(self, line: str) -> None:
        word, _, rest = line.lower().partition(" ")
        if word == "help":
            row, col = self.player.game.rows // 2, self.player.game.cols // 2
            name = self.position.cell_name(row * self.player.game.cols + col)
            print(HELP.format(cell=name, col=name[0], row=name[1:], levels=", ".join(LEVELS)))
        elif word == "hint":
            self.hint()
        elif word == "undo":
            self.undo()
        elif word == "level":
            self.set_level(rest.strip())
        elif word == "swap":
            self.human = -self.human
            print(f"You play {self.player.game.players[self.human]} now.")
        elif word == "new":
            self.position = self.player.game.start()
            self.show()
        else:
            try:
                self.position = self.position.play(parse_cell(self.player.game, line))
            except IllegalMove as error:
                print(f"{error} Type help for all commands.")
            else:
                self.show()

    def think(self) -> SearchResult:
        print("thinking ...", end="\r", file=sys.stderr, flush=True)
        result = self.player.search(self.position, level=self.level)  # None leaves the player's own strength
        print(" " * 12, end="\r", file=sys.stderr, flush=True)
        return result

    def reply(self) -> None:
        result = self.think()
        name = self.position.cell_name(result.action)
        self.position = self.position.play(result.action)
        print(f"The AI plays {name}. {describe(result, 'The AI')}")
        self.show()

    def hint(self) -> None:
        if self.position.winner is not None:
            print("The game is over; type new for another or undo to go back.")
            return
        result = self.think()
        line = " ".join(self.position.cell_name(action) for action in result.line[:6])
        print(f"Try {self.position.cell_name(result.line[0])}. {describe(result, 'Your side')} Expected: {line}")

    def undo(self) -> None:
        """Back to the last position in which the human was to move."""
        moves = list(self.position.moves)
        start = self.player.game.start()
        while moves:
            moves.pop()
            if (1 if len(moves) % 2 == 0 else -1) == self.human:
                self.position = start
                for action in moves:
                    self.position = self.position.play(action)
                self.show()
                return
        print("There is nothing to take back.")

    def set_level(self, name: str) -> None:
        if name in LEVELS:
            self.level = name
            print(f"The AI plays at level {name} now.")
        else:
            print(f"{name[:40] or 'That'} is no level; levels: {', '.join(LEVELS)}.")

    def show(self) -> None:
        print(f"\n{self.position}\n")
        if self.position.winner is not None:
            text = {self.human: "You win!", -self.human: "The AI wins.", 0: "A draw."}[self.position.winner]
            print(f"{text} Type new for another game, undo to go back, or quit.")


def describe(result: SearchResult, who: str) -> str:
    """A search in one sentence about the player it was made for."""
    if result.proven in ("win", "loss"):
        verb = "wins" if result.proven == "win" else "loses"
        return f"{who} {verb} by force within {result.proven_plies} {'ply' if result.proven_plies == 1 else 'plies'}."
    if result.proven == "draw":
        return "A draw by force."
    chance = 50 * (1 + result.value_to_move)
    return f"{who} has {chance:.0f} % by {result.simulations} simulations in {result.seconds:.2f} s."
