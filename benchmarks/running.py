"""The real app as a process of its own, for benchmarks and tests: started, waited for, ended."""

from __future__ import annotations

import os
import queue
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
TIMEOUT = 180.0
READY = "All games are ready"


class RunningApp:
    """`python app.py` on a free port of this machine; use it with `with`. Times are seconds since it was started."""

    def __init__(self, *flags: str, folder: Path = PROJECT):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.url = f"http://127.0.0.1:{self.port}"
        self.began = time.perf_counter()
        self.process = subprocess.Popen(
            [sys.executable, "app.py", "--host", "127.0.0.1", "--port", str(self.port), *flags],
            cwd=folder,
            env={name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines: list[str] = []
        self._ready: queue.Queue[float | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self) -> RunningApp:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(30)

    def _read(self) -> None:
        """Note when the log says that all is ready, and keep reading so that the app never blocks on its output."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            if READY in line:
                self._ready.put(time.perf_counter() - self.began)
        self._ready.put(None)

    def wait_until_served(self) -> float:
        while not self._is_served():
            if self.process.poll() is not None or time.perf_counter() - self.began > TIMEOUT:
                raise SystemExit(f"the app did not start:\n{''.join(self.lines)}")
            time.sleep(0.02)
        return time.perf_counter() - self.began

    def wait_until_ready(self) -> float:
        seconds = self._ready.get(timeout=TIMEOUT)
        if seconds is None:
            raise SystemExit(f"the app ended before it was ready:\n{''.join(self.lines)}")
        return seconds

    def _is_served(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False
