"""Progress on stderr: one live line at a terminal, a line now and then in a file."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from typing import TextIO

BAR = 12
LIVE_EVERY = 0.2  # seconds
SPARSE_EVERY = 30.0


def duration(seconds: float) -> str:
    """1:05:03 or 5:03."""
    hours, rest = divmod(round(seconds), 3600)
    minutes, seconds = divmod(rest, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"


class Progress:
    """Several counters that run at the same time under one title. Thread-safe."""

    def __init__(self, title: str, stream: TextIO | None = None):
        self._title = title
        self._stream = stream or sys.stderr
        self._live = self._stream.isatty()
        self._begin = time.monotonic()
        self._shown = self._begin
        self._counters: dict[str, tuple[int, int]] = {}
        self._lock = threading.Lock()

    def update(self, name: str, done: int, total: int) -> None:
        with self._lock:
            self._counters[name] = (done, total)
            now = time.monotonic()
            if now - self._shown >= (LIVE_EVERY if self._live else SPARSE_EVERY):
                self._shown = now
                self._show(now)

    def _show(self, now: float) -> None:
        parts = []
        left = 0.0
        for name, (done, total) in self._counters.items():
            full = round(BAR * done / total) if total else BAR
            parts.append(f"{name} {'█' * full}{'░' * (BAR - full)} {done}/{total}")
            if 0 < done < total:
                left = max(left, (now - self._begin) * (total - done) / done)
        text = f"{self._title}  {'  '.join(parts)}  {duration(now - self._begin)} gone"
        if left:
            text += f", about {duration(left)} left"
        if self._live:
            self._stream.write(f"\r\x1b[K{text[: shutil.get_terminal_size().columns - 1]}")
        else:
            self._stream.write(text + "\n")
        self._stream.flush()

    def say(self, text: str) -> None:
        """A line that stays."""
        with self._lock:
            if self._live:
                self._stream.write("\r\x1b[K")
            self._stream.write(text + "\n")
            self._stream.flush()

    def close(self) -> None:
        with self._lock:
            if self._live:
                self._stream.write("\r\x1b[K")
                self._stream.flush()
