"""How long a click takes until the board is repainted, without the AI's thinking, in a real browser.

`python benchmarks/click.py` starts the app, plays random games of two people on one screen in Chromium with motion
reduced, and prints one JSON object last: for each game the number of clicks and the median and 95th percentile of
milliseconds from the click to the second animation frame after the board has the answer, when it is on the screen. A
frame is 17 ms, so this says up to that much too much.
"""

import argparse
import json
import shutil
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that it runs as a script, from anywhere

from playwright.sync_api import Page, sync_playwright

from benchmarks.running import RunningApp

GAMES = ("chain_reaction", "gomoku", "tictactoe")
START = """game => {
  localStorage.setItem('alphazero.page', JSON.stringify({ game }));
  localStorage.setItem(`alphazero.game.${game}`, JSON.stringify({ side: 'both' }));
}"""
# Click any playable cell; resolves with the milliseconds, or null if the game is over (a new one then begins).
CLICK = """() => new Promise((resolve) => {
  const page = document.querySelector('.azp');
  const cells = [...page.querySelectorAll('.azp-playable')];
  const cell = cells[Math.floor(Math.random() * cells.length)];
  const [ply, began] = [page.dataset.ply, performance.now()];
  const drawn = () => page.dataset.ply !== ply && !page.hasAttribute('aria-busy');
  const watch = new MutationObserver(() => {
    if (!drawn()) return;
    watch.disconnect();
    requestAnimationFrame(() => requestAnimationFrame(() => resolve(cell ? performance.now() - began : null)));
  });
  watch.observe(page, { attributes: true });
  (cell || page.querySelector('.azp-new')).click();
})"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--clicks", type=int, default=100, help="clicks a game (default 100)")
    clicks = parser.parse_args().clicks
    report = {}
    with RunningApp() as app, sync_playwright() as playwright:
        app.wait_until_ready()
        chromium = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for game in GAMES:
            page = browser.new_context(reduced_motion="reduce").new_page()
            page.goto(app.url)
            page.evaluate("localStorage.clear(); sessionStorage.clear()")
            page.evaluate(START, game)
            page.goto("about:blank")
            page.goto(app.url)
            page.wait_for_selector(f".azp[data-game='{game}'][data-ply='0']:not([aria-busy])")
            report[game] = figures(page, clicks)
            print(f"{game}: {report[game]}", file=sys.stderr)
        browser.close()
    print(json.dumps(report))


def figures(page: Page, clicks: int) -> dict[str, float]:
    times: list[float] = []
    while len(times) < clicks:
        took = page.evaluate(CLICK)
        times += [took] if took is not None else []
    return {
        "n": len(times),
        "p50_ms": round(statistics.median(times), 1),
        "p95_ms": round(statistics.quantiles(times, n=20)[-1], 1),
    }


if __name__ == "__main__":
    main()
