"""How long the app takes to start: once with nothing compiled, as in a fresh clone, and once more.

`python benchmarks/start.py` prints one JSON object last: seconds until the page is served and until every game is
ready (compilation included), cold and warm. Cold means that Numba's cache starts empty; the packages are installed and
the operating system has read them before, unless this is the first run after boot.
"""

import json
import os
import queue
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
TIMEOUT = 180.0


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "clone"
        shutil.copytree(PROJECT, clone, ignore=shutil.ignore_patterns("__pycache__", ".git", "runs", "*.log"))
        report = {}
        for name in ("cold", "warm"):
            page, ready = start(clone)
            print(f"{name}: page after {page:.1f} s, every game ready after {ready:.1f} s", file=sys.stderr)
            report[f"{name}_page_s"] = round(page, 2)
            report[f"{name}_ready_s"] = round(ready, 2)
    print(json.dumps(report))


def start(clone: Path) -> tuple[float, float]:
    """(seconds to the first page, seconds to all games ready) of one start of the app, which is then ended."""
    port = free_port()
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
    begin = time.perf_counter()
    app = subprocess.Popen(
        [sys.executable, "app.py", "--host", "127.0.0.1", "--port", str(port)],
        cwd=clone,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    ready: queue.Queue[float] = queue.Queue()
    threading.Thread(target=watch, args=(app, begin, ready), daemon=True).start()
    try:
        while not served(port):
            if app.poll() is not None or time.perf_counter() - begin > TIMEOUT:
                raise SystemExit("the app did not start")
            time.sleep(0.02)
        return time.perf_counter() - begin, ready.get(timeout=TIMEOUT)
    finally:
        app.terminate()
        app.wait()


def watch(app: subprocess.Popen[str], begin: float, ready: "queue.Queue[float]") -> None:
    """Note when the log says that all is ready, and keep reading so that the app never blocks on its output."""
    assert app.stdout is not None
    for line in app.stdout:
        if "All games are ready" in line:
            ready.put(time.perf_counter() - begin)


def served(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    main()
