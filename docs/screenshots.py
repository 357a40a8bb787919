"""The pictures of the README: `python docs/screenshots.py` starts the app, opens positions by their links, and writes
docs/images/*.png. The Chinese one needs a font with Chinese characters and is left as it was without one.
"""

import io
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that it runs as a script, from anywhere

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.running import PROJECT, RunningApp

IMAGES = PROJECT / "docs" / "images"
COLOURS = 256  # enough for a page, and a third of the size
DESKTOP, PHONE = {"width": 1120, "height": 760}, {"width": 375, "height": 667}
GOMOKU = "gomoku/E5-E4-F4-D6-D4-G5-F6-F5-E6-D7"
CHAIN = "chain_reaction/B2-D4-B2-D4-C2-D3-B3-C4-A2-D5-C2-E4-B1-D3-B3-C4"
TICTACTOE = "tictactoe/B2-A1-C1-A3"
IDLE = ".azp[data-ply]:not([aria-busy]) .azp-bar[data-known='true']"


def think(page: Page) -> None:
    page.get_by_role("switch").check()
    page.click(".azp-hint")
    page.wait_for_selector(".azp-thoughts[data-kind='hint']")


VIEWS: dict[str, tuple[str, dict[str, Any]]] = {
    "gomoku": (GOMOKU, {}),
    "chain-reaction": (CHAIN, {}),
    "tictactoe": (TICTACTOE, {}),
    "dark": (CHAIN, {"color_scheme": "dark"}),
    "phone": (GOMOKU, {"viewport": PHONE, "device_scale_factor": 1.5}),
    "thoughts": (GOMOKU, {"viewport": {"width": 1120, "height": 1000}, "act": think}),
    "chinese": (GOMOKU, {"locale": "zh-TW"}),
}


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    with RunningApp() as app, sync_playwright() as playwright:
        app.wait_until_ready()
        chromium = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for name, (link, options) in VIEWS.items():
            if name == "chinese" and not speaks_chinese():
                print("chinese: left as it is, because this machine has no font for it", file=sys.stderr)
                continue
            save(name, picture(browser, f"{app.url}/#{link}", **options))
        save("monitor", monitor(browser, app.url))
        browser.close()


def speaks_chinese() -> bool:
    found = shutil.which("fc-list") and subprocess.run(["fc-list", ":lang=zh-tw"], capture_output=True).stdout
    return bool(found)


def picture(browser: Browser, url: str, act: Any = None, **options: Any) -> bytes:
    context = browser.new_context(reduced_motion="reduce", **{"locale": "en-GB", "viewport": DESKTOP, **options})
    page = context.new_page()
    page.goto(url)
    page.wait_for_selector(IDLE)
    if act:
        act(page)
        page.wait_for_selector(IDLE)
    page.mouse.move(0, 0)
    shot = page.screenshot()
    context.close()
    return shot


def monitor(browser: Browser, url: str) -> bytes:
    page = browser.new_page(viewport={"width": 1120, "height": 900})
    page.goto(f"{url}/monitor")
    page.wait_for_timeout(3000)  # a few of its samples
    return page.screenshot()


def save(name: str, shot: bytes) -> None:
    path = IMAGES / f"{name}.png"
    image = Image.open(io.BytesIO(shot)).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    image.save(path, optimize=True)
    print(f"{name}: {path.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
