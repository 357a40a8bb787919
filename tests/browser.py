"""The play page in a real browser, for tests: a server, a Chromium, and a `Tab` that plays.

Nothing here waits for a time to pass: `idle` waits for the attributes that the page sets when it has drawn an answer.
"""

import contextlib
import os
import shutil

import numpy as np
import pytest

from alphazero import get_game, load_player
from web import build, launch_options

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
GAMES = ["chain_reaction", "gomoku", "tictactoe"]


@contextlib.contextmanager
def serve(players=None, port=None, **options):
    """The page on this machine: its address while the block runs."""
    page = build(players or ready_players(), **options)
    page.launch(server_name="127.0.0.1", server_port=port, prevent_thread_lock=True, **launch_options())
    try:
        yield page.local_url
    finally:
        page.close()


def ready_players():
    """The shipped players, compiled: what a cold machine takes for that is not what these tests wait for."""
    players = {name: load_player(name) for name in GAMES}
    for player in players.values():
        player.warm_up()
    return players


@contextlib.contextmanager
def chromium():
    """A browser; without one the test is skipped, and in CI it fails."""
    if CHROMIUM is None:
        if os.environ.get("CI"):
            pytest.fail("no chromium: in CI the browser tests must run")
        pytest.skip("no chromium on this machine")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


def names(game, moves):
    start = get_game(game).start()
    return "-".join(start.cell_name(move) for move in moves)


def nearly_won(name, seed=3):
    """The moves of a random game up to where the player to move wins at once, and the winning move."""
    game, rng = get_game(name), np.random.default_rng(seed)
    while True:
        position = game.start()
        while position.winner is None:
            for move in position.legal_moves():
                if position.play(move).winner == position.to_move and position.plies > 3:
                    return list(position.moves), move
            position = position.play(int(rng.choice(position.legal_moves())))


class Tab:
    """A tab with the page open, seen as a player sees it."""

    def __init__(self, page):
        self.page = page

    def idle(self, state=""):
        """Wait until an answer is drawn and nothing is under way; `state` is a CSS condition on the page, if any."""
        self.page.wait_for_selector(f".azp[data-ply]:not([aria-busy]){state}")
        return self

    def open_game(self, name):
        self.page.click(f".azp-game[data-game='{name}']")
        return self.idle(f"[data-game='{name}']")

    def cell(self, cell):
        return f".azp-stage [data-cell='{cell}']"

    def click(self, cell):
        self.page.click(self.cell(cell))

    def press(self, name):
        self.page.click(f".azp-{name}")

    def play(self, cell):
        """Click a cell and wait for the reply or the end."""
        before = self.ply
        self.click(cell)
        self.page.wait_for_function(
            """(before) => {
                const { dataset } = document.querySelector('.azp:not([aria-busy])') || { dataset: { ply: -1 } };
                return Number(dataset.ply) > before && (dataset.winner !== '' || Number(dataset.ply) >= before + 2);
            }""",
            arg=before,
        )

    def state(self, name):
        return self.page.get_attribute(".azp", f"data-{name}")

    @property
    def ply(self):
        return int(self.state("ply"))

    @property
    def values(self):
        return self.page.eval_on_selector_all(".azp-stage [data-cell]", "all => all.map(b => Number(b.dataset.value))")

    @property
    def playable(self):
        return self.page.eval_on_selector_all(".azp-playable", "all => all.map(b => Number(b.dataset.cell))")

    @property
    def headline(self):
        return self.page.inner_text(".azp-headline")

    @property
    def detail(self):
        return self.page.inner_text(".azp-detail")

    def says(self, text):
        self.page.wait_for_function("text => document.querySelector('.azp-words').innerText.includes(text)", arg=text)
