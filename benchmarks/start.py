"""How long the app takes to start: once with nothing compiled, as in a fresh clone, and once more.

`python benchmarks/start.py` prints one JSON object last: seconds until the page is served and until every game is
ready (compilation included), cold and warm, and how long the first and the tenth move take once it is ready. Cold means
that Numba's cache starts empty; the packages are installed and the operating system has read them before, unless this
is the first run after boot.
"""

import json
import shutil
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that it runs as a script, from anywhere

from benchmarks.running import PROJECT, RunningApp


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "clone"
        shutil.copytree(PROJECT, clone, ignore=shutil.ignore_patterns("__pycache__", ".git", "runs", "*.log"))
        report = {}
        for name in ("cold", "warm"):
            with RunningApp(folder=clone) as app:
                page, ready = app.wait_until_served(), app.wait_until_ready()
                moves = [move_seconds(app.url) for _ in range(10)]
            print(f"{name}: page after {page:.1f} s, every game ready after {ready:.1f} s", file=sys.stderr)
            report[f"{name}_page_s"] = round(page, 2)
            report[f"{name}_ready_s"] = round(ready, 2)
            report[f"{name}_first_move_s"] = round(moves[0], 3)
            report[f"{name}_tenth_move_s"] = round(moves[9], 3)
    print(json.dumps(report))


def move_seconds(url: str) -> float:
    """How long the reply to an opening move of Gomoku takes, by the event that the page sends."""
    event = {"data": [{"game": "gomoku", "moves": [40], "ask": "reply"}]}
    request = urllib.request.Request(
        f"{url}/gradio_api/run/ask", json.dumps(event).encode(), {"Content-Type": "application/json"}
    )
    begin = time.perf_counter()
    with urllib.request.urlopen(request, timeout=60) as answer:
        assert json.load(answer)["data"][0]["ok"]
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
