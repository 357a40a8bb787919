"""The page: answers to every kind of request, and whole games in a real browser."""

import asyncio
import os
import shutil
import subprocess
import sys

import pytest

from alphazero import load_player
from alphazero.game import PROJECT
from web import build, launch_options
from web.answers import answer
from web.answers import view as view_of

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


def ask(player, request):
    return asyncio.run(answer(player, request))


@pytest.mark.parametrize("name", GAMES)
def test_answers(name):
    player = load_player(name)
    shown = ask(player, {"moves": [0]})
    assert (shown["ok"], shown["moves"], shown["toMove"], shown["winner"]) == (True, [0], -1, None)
    assert "0" in shown["illegal"]
    replied = ask(player, {"moves": [0], "ask": "reply", "level": "easy"})
    assert len(replied["moves"]) == 2
    assert 1 <= replied["thought"]["simulations"] <= player.game.levels["easy"].simulations  # fewer if proven
    hinted = ask(player, {"moves": [0], "ask": "hint"})
    assert hinted["moves"] == [0]
    assert hinted["hint"] in player.game.start().play(0).legal_moves()


@pytest.mark.parametrize(
    "request_",
    [
        *(None, [], "x", 5, {}, {"moves": "0"}, {"moves": [0, 0]}, {"moves": [-1]}, {"moves": ["0"]}),
        *({"moves": [True]}, {"moves": [1e99]}, {"moves": [[0]]}, {"moves": [0] * 100_000}),
        *({"moves": [], "ask": "all"}, {"moves": [], "ask": []}, {"moves": [], "level": "god"}),
        *({"moves": [], "level": {}}, {"moves": None}),
    ],
)
def test_wrong_requests_get_a_sentence(request_):
    player = load_player("tictactoe")
    got = ask(player, request_)
    assert not got["ok"]
    assert got["message"]
    assert got["cells"] == view_of(player.game.start())["cells"]


@pytest.fixture(scope="module")
def url():
    page = build({name: load_player(name) for name in GAMES})
    page.launch(server_name="127.0.0.1", prevent_thread_lock=True, **launch_options())
    yield page.local_url
    page.close()


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        if os.environ.get("CI"):
            pytest.fail("no chromium: in CI the browser tests must run")
        pytest.skip("no chromium on this machine")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def tab(browser, url):
    """open(game, **context options): the game's tab in a fresh browser; complaints of the page fail the test."""
    contexts, complaints = [], []

    def open_tab(game, **options):
        context = browser.new_context(reduced_motion="reduce", **options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("response", lambda r: complaints.append(f"{r.status} {r.url}") if r.status >= 500 else None)
        page.on("request", lambda r: None if r.url.startswith((url, "data:", "blob:")) else complaints.append(r.url))
        page.goto(url)
        show(page, game)
        return page

    yield open_tab
    for context in contexts:
        context.close()
    assert not complaints


def show(page, game):
    page.get_by_role("tab", name={"tictactoe": "Tic-tac-toe", "gomoku": "Gomoku"}.get(game, "Chain Reaction")).click()
    page.wait_for_selector(f"#board-{game} [data-ply]:not([aria-busy])")


def ply(page, game):
    return int(page.get_attribute(f"#board-{game} .azp-board", "data-ply"))


def play(page, game, cell):
    """Click a cell and wait for the reply or the end."""
    before = ply(page, game)
    page.click(f"#board-{game} [data-cell='{cell}']")
    page.wait_for_function(
        """([game, before]) => {
            const board = document.querySelector(`#board-${game} .azp-board`);
            return !board.hasAttribute('aria-busy') && board.dataset.ply > before
                && (board.dataset.winner !== '' || board.dataset.ply >= before + 2);
        }""",
        arg=[game, before],
    )


def values(page, game):
    return page.eval_on_selector_all(f"#board-{game} [data-cell]", "all => all.map(b => Number(b.dataset.value))")


def winner(page, game):
    return page.get_attribute(f"#board-{game} .azp-board", "data-winner")


@pytest.mark.parametrize("game", GAMES)
def test_a_whole_game(tab, game):
    page = tab(game)
    for _ in range(110):
        cells = values(page, game)
        own = [c for c, value in enumerate(cells) if value > 0]
        free = [c for c, value in enumerate(cells) if value == 0]
        play(page, game, own[0] if game == "chain_reaction" and own else free[0])
        if winner(page, game) != "":
            break
    assert winner(page, game) in ("1", "-1", "0")
    said = page.inner_text(f"#board-{game} .azp-status")
    assert said.startswith({"1": "You win!", "-1": "The AI wins.", "0": "A draw."}[winner(page, game)])


def test_reload_undo_hint_new_and_second_side(tab):
    page = tab("gomoku")
    play(page, "gomoku", 40)
    board = values(page, "gomoku")
    page.reload()
    show(page, "gomoku")
    assert values(page, "gomoku") == board
    page.click("#board-gomoku .azp-hint")
    page.wait_for_selector("#board-gomoku .azp-hinted")
    page.click("#board-gomoku .azp-undo")
    page.wait_for_selector("#board-gomoku [data-ply='0']:not([aria-busy])")
    page.get_by_label("You play").locator("visible=true").select_option("-1")
    page.wait_for_selector("#board-gomoku [data-ply='1']:not([aria-busy])")
    page.click("#board-gomoku .azp-new")
    page.wait_for_selector("#board-gomoku [data-ply='1']:not([aria-busy])")


def test_illegal_click_explains_itself_and_two_fast_clicks_are_one_move(tab):
    page = tab("tictactoe")
    page.evaluate("document.querySelectorAll('#board-tictactoe [data-cell]').forEach((b, i) => i < 2 && b.click())")
    page.wait_for_selector("#board-tictactoe [data-ply='2']:not([aria-busy])")
    assert values(page, "tictactoe")[0] == 1
    page.click("#board-tictactoe [data-cell='0']")
    assert "is taken" in page.inner_text("#board-tictactoe .azp-status")


def test_keyboard_alone_and_labels(tab):
    page = tab("tictactoe")
    page.focus("#board-tictactoe [data-cell='0']")
    for key in ("ArrowRight", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    page.wait_for_selector("#board-tictactoe [data-ply='2']:not([aria-busy])")
    assert values(page, "tictactoe")[4] == 1
    assert page.get_attribute("#board-tictactoe [data-cell='4']", "aria-label") == "B2, Crosses"


@pytest.mark.parametrize("game", GAMES)
def test_phone_has_no_sideways_scrolling(tab, game):
    page = tab(game, viewport={"width": 375, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    box = page.locator(f"#board-{game} [data-cell='0']").bounding_box()
    assert box["width"] >= 28


def test_undo_and_new_do_not_wait_for_the_ai(tab):
    page = tab("gomoku")
    page.get_by_label("Level").locator("visible=true").select_option("master")
    page.click("#board-gomoku [data-cell='40']")
    page.wait_for_selector("#board-gomoku [data-ply='1'][aria-busy]")
    page.click("#board-gomoku .azp-undo")
    page.wait_for_selector("#board-gomoku [data-ply='0']:not([aria-busy])")
    page.click("#board-gomoku [data-cell='40']")
    page.wait_for_selector("#board-gomoku [data-ply='1'][aria-busy]")
    page.click("#board-gomoku .azp-new")
    page.wait_for_selector("#board-gomoku [data-ply='0']:not([aria-busy])")
    assert not any(values(page, "gomoku"))


def test_one_broken_game_does_not_take_the_others_with_it(monkeypatch, capsys):
    import alphazero
    import app

    def load(name):
        if name == "gomoku":
            raise SyntaxError("unfinished")
        return load_player(name)

    monkeypatch.setattr(alphazero, "load_player", load)
    assert sorted(app.load_players()) == ["chain_reaction", "tictactoe"]
    assert "gomoku is left out. SyntaxError: unfinished" in capsys.readouterr().err


@pytest.mark.parametrize("flags", [["--port", "99999"], ["--port", "-1"], ["--port", "x"], ["--host", "999.1.1.1"]])
def test_bad_flags_get_a_sentence(flags):
    done = subprocess.run([sys.executable, "app.py", *flags], capture_output=True, text=True, timeout=60, cwd=PROJECT)
    assert done.returncode in (1, 2)
    assert "app.py: " in done.stderr
    assert "Traceback" not in done.stderr
