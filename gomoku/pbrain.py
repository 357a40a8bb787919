"""Our player as an engine for Gomocup managers such as Piskvork: `python -m gomoku.pbrain`.

Speaks the Gomocup protocol (https://plastovicka.github.io/protocl2en.htm) on standard input and output, on 9x9 boards,
freestyle. One thread reads, so that END stops a search; the main thread obeys one line after the other.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import CancelledError
from queue import Queue

from alphazero import Budget, CheckpointError, IllegalMove, Player, Position, SearchResult, load_player
from alphazero.settings import short
from gomoku import GAME, SIZE
from gomoku.clock import Clock
from gomoku.protocol import OTHER, BoardReader, Lines, ProtocolError, parse_xy, write_xy

ABOUT = 'name="AlphaZero Playground", version="1.0", author="AlphaZero Playground", country="International"'

# When nobody will ask again, thinking ends soon. Not at once: the last line of a script that was piped in whole is
# followed by the end of the pipe, and still deserves a sensible answer.
LAST_WORDS = 1.0


class ManagerGone(Exception):
    """Nobody reads what we say any more."""


class Brain:
    """The game as this engine knows it, and what it answers. `obey` runs in one thread, `hurry` in any."""

    def __init__(self, say: Callable[[str], None], source: str, simulations: int | None, seconds: float | None):
        self._say = say
        self._source = source
        self._simulations = simulations
        self._seconds = seconds
        self._clock = Clock()
        self._player: Player | None = None
        self._position: Position | None = None  # None before START
        self._previous: SearchResult | None = None  # its tree leads on to the next move
        self._board: BoardReader | None = None  # between BOARD and DONE
        self._skipping = False  # behind SWAP2BOARD, whose lines nobody reads
        self._told_rule = False
        self._lock = threading.Lock()
        self._search: tuple[float, Callable[[], None]] | None = None  # when it was asked for, how to stop it
        self._ending = False
        self._commands: dict[str, Callable[[str, float], None]] = {
            "START": self._start,
            "RECTSTART": self._rectstart,
            "RESTART": self._restart,
            "BEGIN": self._begin,
            "TURN": self._turn,
            "BOARD": self._begin_board,
            "TAKEBACK": self._takeback,
            "INFO": self._info,
            "ABOUT": self._about,
            "SWAP2BOARD": self._swap2board,
        }

    def obey(self, line: str, asked: float) -> None:
        """Do what a line says; `asked` is when its time began to run (time.perf_counter). Never raises for a line."""
        try:
            self._obey(line, asked)
        except (ProtocolError, IllegalMove) as error:
            self._say(f"ERROR {error}")
        except ManagerGone:
            raise
        except Exception as error:  # an engine that dies loses the match; one that says so may be asked again
            traceback.print_exc()
            self._say(f"ERROR internal error: {short(str(error))}")

    def _obey(self, line: str, asked: float) -> None:
        word, _, rest = line.replace("\t", " ").partition(" ")
        word, rest = word.upper(), rest.strip()
        if self._skipping and (word == "DONE" or word[0].isdigit()):
            self._skipping = word != "DONE"
            return
        self._skipping = False
        if self._board is not None and word not in self._commands:
            if word == "DONE":
                self._finish_board(asked)
            else:
                self._board.add(line)
            return
        if self._board is not None:
            self._board = None
            self._say("ERROR BOARD was not ended with DONE")
        if word not in self._commands:
            self._say(f"UNKNOWN {'DONE without BOARD' if word == 'DONE' else f'command {short(word)}'}")
            return
        self._commands[word](rest, asked)

    # -- the commands -------------------------------------------------------------------------------------------------

    def _start(self, rest: str, _: float) -> None:
        self._position = None
        if rest != str(SIZE):
            raise ProtocolError(f"boards are {SIZE}x{SIZE} here, so only START {SIZE} will do, not START {rest[:20]}")
        if self._player is None:
            try:
                self._player = self._load()
            except (CheckpointError, ValueError, OSError) as error:
                raise ProtocolError(f"the network can't be loaded: {error}") from None
        self._new_game(GAME.start())
        self._say("OK")

    def _load(self) -> Player:
        """The player, ready: the first move is not slower than the tenth."""
        player = load_player(self._source, simulations=1, seed=0)
        if player.game is not GAME:
            raise ValueError(f"{self._source} plays {player.game.name}, not {GAME.name}")
        player.warm_up()
        rehearsal = (
            BoardReader()
        )  # every step on the way from a line to its answer is compiled or loaded by its first use
        rehearsal.add(f"0,0,{OTHER}")
        result = player.search(rehearsal.position(), seconds=0.05)
        following = result.position.play(result.action)
        player.search(self._play(following, following.legal_moves()[0]), simulations=64, previous=result)
        gc.collect()
        gc.freeze()  # what is loaded stays; looking through it again would stop a search for tens of milliseconds
        return player

    def _rectstart(self, rest: str, _: float) -> None:
        raise ProtocolError(f"rectangular boards are not played here, only START {SIZE}")

    def _restart(self, rest: str, _: float) -> None:
        self._game()
        self._new_game(GAME.start())
        self._say("OK")

    def _begin(self, rest: str, asked: float) -> None:
        if self._game().plies:
            raise ProtocolError("BEGIN is for an empty board; RESTART first")
        self._answer(self._game(), asked)

    def _turn(self, rest: str, asked: float) -> None:
        position = self._game()
        if position.winner is not None:
            raise ProtocolError("the game is over; START or RESTART begins another")
        position = self._play(position, parse_xy(rest))
        if position.winner is not None:
            self._position = position
            raise ProtocolError("the game is over with this move; there is nothing to answer")
        self._answer(position, asked)

    def _begin_board(self, rest: str, _: float) -> None:
        self._board = BoardReader()

    def _finish_board(self, asked: float) -> None:
        board, self._board = self._board, None
        self._game()
        assert board is not None
        self._answer(board.position(), asked)

    def _takeback(self, rest: str, _: float) -> None:
        position, action = self._game(), parse_xy(rest)
        if position.last_action != action:
            last = "none was made" if position.last_action is None else f"that was {write_xy(position.last_action)}"
            raise ProtocolError(f"only the last move can be taken back; {last}")
        *moves, _last = position.moves
        position = GAME.start()
        for move in moves:
            position = position.play(move)
        self._position = position
        self._say("OK")

    def _info(self, rest: str, _: float) -> None:
        key, value = [*rest.lower().split(None, 1), "", ""][:2]
        if key == "rule" and value.strip("0") and not self._told_rule:
            self._told_rule = True
            self._say("MESSAGE only freestyle (rule 0) is played here: five or more in a row win, nothing is forbidden")
        self._clock.info(key, value)

    def _about(self, rest: str, _: float) -> None:
        self._say(ABOUT)

    def _swap2board(self, rest: str, _: float) -> None:
        self._skipping = True
        self._say("UNKNOWN SWAP2BOARD: the swap2 opening is not played here")

    # -- the game -----------------------------------------------------------------------------------------------------

    def _game(self) -> Position:
        if self._position is None:
            raise ProtocolError(f"there is no game yet; START {SIZE} first")
        return self._position

    def _new_game(self, position: Position) -> None:
        self._position, self._previous = position, None
        self._clock.new_game()

    def _play(self, position: Position, action: int) -> Position:
        if action not in position.legal_moves():
            raise ProtocolError(f"{write_xy(action)} is taken")
        return position.play(action)

    def _answer(self, position: Position, asked: float) -> None:
        """Think about this position and say the move; only then is it the game's position."""
        result = self._think(position, asked)
        self._position, self._previous = position.play(result.action), result
        self._say(write_xy(result.action))

    # -- thinking -----------------------------------------------------------------------------------------------------

    def _think(self, position: Position, asked: float) -> SearchResult:
        assert self._player is not None
        best: SearchResult | None = None
        budget = self._clock.plan(position.plies, self._simulations, self._seconds, time.perf_counter() - asked)
        if self._ending and self._simulations is None and budget.seconds is not None:
            budget = Budget(budget.simulations, min(budget.seconds, LAST_WORDS))
        with self._lock:
            thinking = self._player.start(
                position, simulations=budget.simulations, seconds=budget.seconds, previous=self._previous
            )

            def stop() -> None:
                nonlocal best
                best = thinking.peek()
                thinking.cancel()

            self._search = asked, stop
        try:
            return thinking.result()
        except CancelledError:  # before there was anything to say, the network alone answers
            return best or self._player.search(position, simulations=1)
        finally:
            with self._lock:
                self._search = None
            self._clock.spend(time.perf_counter() - asked)

    def hurry(self, since: float) -> None:
        """There will be no more lines: answer at once what was asked before `since`, think less about the rest."""
        with self._lock:
            self._ending = True
            if self._search is not None and self._search[0] < since:
                self._search[1]()


def listen(inbox: Queue[tuple[float, list[str]]], brain: Brain) -> None:
    """Read standard input to its end, or to END, as lines with the time they came. The thread beside the main one."""
    lines = Lines()
    while True:
        try:
            data = os.read(0, 1 << 16)
        except OSError:  # closed under our feet
            data = b""
        now = time.perf_counter()
        batch = lines.feed(data or b"\n") + ([] if data else ["END"])
        inbox.put((now, batch))
        if not data:
            time.sleep(LAST_WORDS)
        if any(line.upper() == "END" for line in batch):
            brain.hurry(now)
            return


def serve(brain: Brain) -> None:
    """Obey until END. A move's time runs from when it was asked for, or from our last answer if that came later."""
    inbox: Queue[tuple[float, list[str]]] = Queue(maxsize=64)  # of at most 64 kB each; a flood waits in the pipe
    threading.Thread(target=listen, args=(inbox, brain), daemon=True).start()
    idle = time.perf_counter()
    while True:
        came, lines = inbox.get()
        for line in lines:
            if line.upper() == "END":
                return
            brain.obey(line, max(came, idle))
            idle = time.perf_counter()


def claim_output() -> Callable[[str], None]:
    """A function that writes a line to standard output, which whatever libraries print no longer reaches."""
    try:
        output = os.fdopen(os.dup(1), "w", encoding="ascii", errors="backslashreplace", newline="\n")
    except OSError:
        raise ManagerGone from None
    try:
        os.dup2(2, 1)
    except OSError:  # there is no error output
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

    def say(line: str) -> None:
        try:
            output.write(" ".join(line.split()) + "\n")
            output.flush()
        except OSError:
            raise ManagerGone from None

    return say


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m gomoku.pbrain",
        description="Play 9x9 freestyle Gomoku as an engine that speaks the Gomocup protocol on standard input and "
        "output. The manager's time limits are kept; the options below limit it further.",
    )
    parser.add_argument("--simulations", type=int, metavar="N", help="search at most so many simulations a move")
    parser.add_argument("--seconds", type=float, metavar="S", help="think at most so long a move")
    parser.add_argument("--checkpoint", metavar="FOLDER", help="folder or Hub repo id of another network")
    args = parser.parse_args(arguments)
    try:
        if args.simulations is not None or args.seconds is not None:
            Budget(args.simulations, args.seconds)
    except ValueError as error:
        parser.error(str(error))
    try:
        serve(Brain(claim_output(), args.checkpoint or GAME.name, args.simulations, args.seconds))
    except KeyboardInterrupt:
        return 130
    except ManagerGone:
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
