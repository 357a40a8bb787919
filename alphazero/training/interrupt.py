"""Ctrl-C at safe points only.

Python raises KeyboardInterrupt wherever the main thread happens to be. Inside a callback of compiled code (Numba and
LLVM have some) it is printed and forgotten, and training would run on. So the signal is noted, and raised where the
loop says that it can be: between two steps, or while it waits. A second Ctrl-C is Python's own, at once.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator

_noted = threading.Event()  # signals belong to the process, and so does this


def safe_point() -> None:
    """KeyboardInterrupt in the main thread if somebody has pressed Ctrl-C."""
    if _noted.is_set() and threading.current_thread() is threading.main_thread():
        _noted.clear()
        raise KeyboardInterrupt


@contextlib.contextmanager
def interrupts_at_safe_points() -> Iterator[None]:
    """Ctrl-C waits for a safe point in here. Where it was ignored or handled otherwise, that stays."""
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return

    def note(number: int, frame: object) -> None:
        _noted.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _noted.clear()
