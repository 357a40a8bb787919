"""A client for external engines that speak the Gomocup protocol: runs one as a process and asks it for moves.

    with ExternalEngine("path/to/pbrain-engine", seconds=1.0) as engine:    # or .start() and .close()
        action = engine.choose(position)

The program may be anything: it may crash, hang, flood its outputs or ignore END. Whatever it does ends in an
EngineFailure of one sentence within the time it was given, holds little memory, and leaves no process behind.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from queue import Empty, Full, Queue
from types import TracebackType
from typing import IO, Self

from alphazero.game import Position
from alphazero.settings import check_number, short
from gomoku import SIZE
from gomoku.protocol import Lines, ProtocolError, board_lines, parse_xy, write_xy

START_SECONDS = 120.0  # loading a network and compiling kernels for the first time takes its while
GRACE_SECONDS = 1.0  # on top of a move's time: for pipes, and for a machine that is busy with our own player
END_SECONDS = 2.0  # to leave after END, and again after being told to terminate
MAX_LINES = 10_000  # without an answer among them, an engine is only talking
NO_LIMIT_MS = 1_000_000_000  # some engines take the protocol's 0 for "no time at all"
MAX_MEMORY = 1 << 30  # bytes; a wish, engines keep to it themselves


class EngineFailure(Exception):
    """An external engine did not do its part. The message is one sentence."""


class ExternalEngine:
    """One process, one game at a time. Not thread-safe, but `close` may be called from any thread at any moment."""

    def __init__(self, command: str, *, seconds: float = 1.0) -> None:
        """Start the process; ValueError if there is no such command."""
        words = split_command(command)
        check_number("seconds", seconds, 0.001, 1_000_000.0)
        self._name = short(command)
        self._seconds = seconds
        self._after: Position | None = None  # the position after its last move, as it knows it
        try:
            self._process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                env={**os.environ, "PATH": _search_path()},
                start_new_session=True,  # so that what a script or wine starts can be ended with it
            )
        except OSError as error:
            raise ValueError(f"{self._name} can't be started: {error.strerror or error}") from None
        # Bounded: an engine that talks faster than anybody listens waits in its pipe. None says that it has closed.
        self._lines: Queue[str | None] = Queue(maxsize=256)
        self._last_words: deque[str] = deque(maxlen=1)  # of its error output, for messages
        self._hearing = threading.Thread(target=_hear, args=(self._process.stdout, self._lines), daemon=True)
        self._overhearing = threading.Thread(
            target=_overhear, args=(self._process.stderr, self._last_words), daemon=True
        )
        self._hearing.start()
        self._overhearing.start()

    def start(self, within: float = START_SECONDS) -> None:
        """Begin a game, so many seconds given for it; EngineFailure if it does not want to play on our board."""
        self._after = None
        self._send(f"START {SIZE}")
        self._expect_ok(f"START {SIZE}", within)
        self._send(
            f"INFO timeout_turn {max(1, round(self._seconds * 1000))}",
            f"INFO timeout_match {NO_LIMIT_MS}",
            f"INFO time_left {NO_LIMIT_MS}",
            f"INFO max_memory {MAX_MEMORY}",
            "INFO game_type 1",
            "INFO rule 0",
        )

    def choose(self, position: Position) -> int:
        """Its move in an unfinished position, always a legal one; EngineFailure if it gives none in its time."""
        moves = None if self._after is None else position.moves_since(self._after)
        if moves is not None and len(moves) == 1:
            asked = f"TURN {write_xy(moves[0])}"
            self._send(asked)
        elif position.plies == 0 and self._after is None:
            asked = "BEGIN"
            self._send(asked)
        else:
            if self._after is not None:  # another game; RESTART is something that not every engine knows
                self.start()
            asked = "BOARD"
            self._send("BOARD", *board_lines(position), "DONE")
        action = self._expect_move(asked)
        if action not in position.legal_moves():
            raise EngineFailure(f"{self._name} played {write_xy(action)}, which is taken.")
        self._after = position.play(action)
        return action

    # -- talking ------------------------------------------------------------------------------------------------------

    def _send(self, *lines: str) -> None:
        for _ in range(min(MAX_LINES, self._lines.qsize())):  # what it said unasked answers nothing
            if self._lines.get() is None:
                raise self._ended()
        assert self._process.stdin is not None
        try:
            self._process.stdin.write("".join(f"{line}\r\n" for line in lines).encode("ascii"))
        except (OSError, ValueError):  # it closed its input, or `close` did
            raise self._ended() from None

    def _expect_ok(self, asked: str, seconds: float) -> None:
        for line in self._answers(asked, seconds):
            word = line.split()[0].upper()
            if word == "OK":
                return
            if word in ("ERROR", "UNKNOWN"):
                raise EngineFailure(f"{self._name} refused {asked}: {short(line)}.")

    def _expect_move(self, asked: str) -> int:
        for line in self._answers(asked, self._seconds + GRACE_SECONDS):
            word = line.split()[0].upper()
            if word == "ERROR":
                raise EngineFailure(f"{self._name} answered {asked} with {short(line)}.")
            if word in ("OK", "UNKNOWN"):  # some answer INFO, which wants none; if it was the move, time will tell
                continue
            try:
                return parse_xy(line)
            except ProtocolError:
                raise EngineFailure(f"{self._name} answered {asked} with {short(line)}, which is no move.") from None
        raise AssertionError("answers end with an error")

    def _answers(self, asked: str, seconds: float) -> Iterator[str]:
        """The lines that come within so many seconds, without its chatter; then EngineFailure."""
        deadline = time.monotonic() + seconds
        last = ""
        for _ in range(MAX_LINES):
            try:
                line = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except Empty:
                said = f"; the last it said was {short(last)}" if last else ""
                raise EngineFailure(f"{self._name} did not answer {asked} within {seconds:g} s{said}.") from None
            if line is None:
                raise self._ended()
            last = line
            if line.split()[0].upper() not in ("MESSAGE", "DEBUG"):
                yield line
        raise EngineFailure(f"{self._name} sent {MAX_LINES} lines after {asked}, and no answer among them.")

    def _ended(self) -> EngineFailure:
        self._say_closed()  # to whoever asks next
        try:
            code = self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            return EngineFailure(f"{self._name} closed its output.")
        self._overhearing.join(END_SECONDS)
        words = f", saying {short(self._last_words[0])}" if self._last_words else ""
        return EngineFailure(f"{self._name} ended with exit code {code}{words}.")

    def _say_closed(self) -> None:
        with contextlib.suppress(Full):  # full of lines that nobody wants: what comes last is a None anyway
            self._lines.put_nowait(None)

    # -- the end ------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Ask it to leave, then make it. Also after a failure; twice does no harm."""
        process = self._process
        assert process.stdin is not None
        with contextlib.suppress(OSError, ValueError):
            process.stdin.write(b"END\r\n")
        with contextlib.suppress(OSError):
            process.stdin.close()
        for stop in (lambda: None, lambda: self._signal(signal.SIGTERM), self._kill):
            stop()
            if self._has_left():
                break
        self._kill()  # whatever it started and left behind
        self._has_left()
        self._say_closed()
        for thread, pipe in ((self._hearing, process.stdout), (self._overhearing, process.stderr)):
            thread.join(END_SECONDS)
            if pipe is not None and not thread.is_alive():
                pipe.close()

    def _has_left(self) -> bool:
        """Within END_SECONDS; nobody listens any more, so what it still says is thrown away lest it wait for us."""
        deadline = time.monotonic() + END_SECONDS
        while time.monotonic() < deadline and (self._hearing.is_alive() or self._process.poll() is None):
            with contextlib.suppress(Empty):
                self._lines.get(timeout=0.02)
        return self._process.poll() is not None

    def _kill(self) -> None:
        self._signal(getattr(signal, "SIGKILL", signal.SIGTERM))

    def _signal(self, number: int) -> None:
        """To all of its process group, where there is such a thing."""
        with contextlib.suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, number)
            else:
                self._process.send_signal(number)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def split_command(command: str) -> list[str]:
    """The words of a command line, as a shell splits them (no shell runs); ValueError if there is no such program."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ValueError(f"{short(command)} is no command: {error}") from None
    if not words or "\0" in command:
        raise ValueError(f"an engine needs a command, not {short(command)}")
    if shutil.which(words[0], path=_search_path()) is None:
        raise ValueError(f"there is no program {short(words[0])} to be run")
    return words


def _search_path() -> str:
    """Where programs are found. `python` is the Python that runs us, whether or not its environment is activated."""
    return os.pathsep.join((os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)))


def _hear(pipe: IO[bytes], lines: Queue[str | None]) -> None:
    """Cut an engine's output into lines, for as long as it lasts."""
    cutter = Lines()
    with contextlib.suppress(OSError, ValueError):
        while data := pipe.read(1 << 12):
            for line in cutter.feed(data):
                lines.put(line)
    lines.put(None)


def _overhear(pipe: IO[bytes], last_words: deque[str]) -> None:
    """Keep the last line of an engine's error output, and its pipe empty."""
    cutter = Lines()
    with contextlib.suppress(OSError, ValueError):
        while data := pipe.read(1 << 12):
            last_words.extend(cutter.feed(data))
