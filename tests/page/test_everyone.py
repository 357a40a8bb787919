"""For everyone: keyboard, screen reader, three languages, phones, light and dark."""

from pathlib import Path

import pytest

from alphazero import load_player
from tests.browser import GAMES, serve

CONTRAST = (Path(__file__).parent / "contrast.js").read_text("utf-8")
OVER_THE_EDGE = """() => [...document.querySelectorAll('.azp *')].filter((node) => {
    const { left, right, width } = node.getBoundingClientRect();
    return width && !node.closest('.azp-hidden') && (right > innerWidth + 0.5 || left < -0.5);
}).map((node) => node.outerHTML.slice(0, 80))"""


def test_keyboard_alone(tab):
    page = tab("tictactoe", level="easy")
    for _ in range(20):
        page.page.keyboard.press("Tab")
        if page.page.evaluate("document.activeElement.dataset.cell") == "0":
            break
    for key in ("ArrowRight", "ArrowDown", "Enter"):
        page.page.keyboard.press(key)
    page.idle("[data-ply='2']")
    assert page.values[4] == 1
    assert page.page.evaluate("document.activeElement.dataset.cell") == "4"
    assert page.page.get_attribute(page.cell(4), "aria-label") == "B2, crosses"
    page.page.keyboard.press("Tab")
    assert page.page.evaluate("document.activeElement.className").endswith("azp-undo")
    page.page.keyboard.press("Enter")
    page.idle("[data-ply='0']")


def test_cells_are_labelled_and_results_announced(tab):
    page = tab("gomoku", at="D5-E5-C5", side="both")
    labels = [page.page.get_attribute(page.cell(cell), "aria-label") for cell in (39, 40, 38, 0)]
    assert labels == ["D5, black", "E5, white", "C5, black, last move", "A1, empty"]
    assert page.page.get_attribute(".azp-words", "aria-live") == "polite"
    page.open_game("chain_reaction")
    page.play(0)
    assert page.page.get_attribute(page.cell(0), "aria-label") == "A1, red, 3 of 3 atoms"


@pytest.mark.parametrize(
    ("locale", "lang", "title"),
    [
        ("en-US", "en", "AlphaZero Playground"),
        ("zh-HK", "zh-Hant", "AlphaZero 遊樂場"),
        ("zh-TW", "zh-Hant", "AlphaZero 遊樂場"),
        ("zh-Hant", "zh-Hant", "AlphaZero 遊樂場"),
        ("zh-MO", "zh-Hant", "AlphaZero 遊樂場"),
        ("zh-CN", "zh-Hans", "AlphaZero 游乐场"),
        ("fr-FR", "en", "AlphaZero Playground"),
    ],
)
def test_the_browser_chooses_the_language(tab, locale, lang, title):
    page = tab("tictactoe", locale=locale)
    assert (page.state("lang"), page.page.title()) == (lang, title)
    assert page.page.evaluate("document.documentElement.lang") == lang


def test_a_chosen_language_lasts(tab):
    page = tab("gomoku", locale="zh-TW")
    assert page.headline == "輪到你了"
    page.page.select_option(".azp-language", "zh-Hans")
    assert page.headline == "轮到你了"
    page.play(40)
    page.page.reload()
    page.idle("[data-lang='zh-Hans']")
    assert page.page.inner_text(".azp-game[aria-current='page']") == "五子棋"
    assert page.page.get_attribute(page.cell(40), "aria-label") == "E5，黑方"


def test_the_servers_language_is_the_default(tab):
    with serve({"tictactoe": load_player("tictactoe")}, lang="zh-Hans") as url:
        assert tab("tictactoe", address=url, locale="en-GB").headline == "轮到你了"


@pytest.mark.parametrize("game", GAMES)
def test_a_phone_shows_the_whole_board_and_never_scrolls_sideways(tab, game):
    page = tab(game, viewport={"width": 375, "height": 740}, has_touch=True)
    page.page.get_by_role("switch").check()
    page.play(page.playable[0])
    assert page.page.evaluate("document.documentElement.scrollWidth") <= 375
    board = page.page.locator(".azp-stage").bounding_box()
    assert board["y"] + board["height"] <= 740
    assert page.page.locator(page.cell(0)).bounding_box()["width"] >= 30


def test_dark_follows_the_system_and_the_switch(tab):
    page = tab("tictactoe", color_scheme="dark")
    background = "getComputedStyle(document.body).backgroundColor"
    assert page.state("theme") == "dark"
    dark = page.page.evaluate(background)
    page.press("theme")
    assert page.state("theme") == "light"
    assert page.page.evaluate(background) != dark
    page.page.reload()
    page.idle("[data-theme='light']")


def test_nothing_stands_over_the_edge(tab):
    page = tab("gomoku")
    page.page.get_by_role("switch").check()
    page.page.click("summary")
    for game in GAMES:
        page.open_game(game)
        page.press("hint")
        page.idle()
        for width, height in ((320, 568), (375, 667), (740, 360), (768, 1024), (1280, 800)):
            page.page.set_viewport_size({"width": width, "height": height})
            for lang in ("en", "zh-Hant", "zh-Hans"):
                page.page.select_option(".azp-language", lang)
                assert page.page.evaluate(OVER_THE_EDGE) == [], (game, lang, width)


def test_the_first_screen_holds_the_board_the_status_and_the_buttons(tab):
    page = tab("gomoku")
    for width, height in ((1280, 800), (1920, 1080), (375, 667), (740, 360)):
        page.page.set_viewport_size({"width": width, "height": height})
        for part in (".azp-status", ".azp-bar", ".azp-stage", ".azp-controls"):
            box = page.page.locator(part).bounding_box()
            assert box["y"] >= 0
            assert box["y"] + box["height"] <= height, (part, width)


def test_the_board_stays_where_it_is_whatever_is_said(tab):
    page = tab("tictactoe", level="easy")
    places = {page.page.locator(".azp-stage").bounding_box()["y"]}
    for act in (lambda: page.play(4), lambda: page.click(4), lambda: page.press("hint"), lambda: page.press("resign")):
        act()
        page.idle()
        places.add(page.page.locator(".azp-stage").bounding_box()["y"])
    assert len(places) == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_the_contrast_of_wcag_aa(tab, scheme):
    page = tab("tictactoe", color_scheme=scheme)
    page.page.get_by_role("switch").check()
    page.page.click("summary")
    won = "gomoku/D5-A1-E5-A2-F5-A3-G5-B9-H5"
    for link in ("gomoku/E5-D4", won, "chain_reaction/B2-D4-B2", "tictactoe/B2-A1", "tictactoe/A1-B1-A2-B2-A3"):
        page.page.evaluate("link => { location.hash = link; }", link)
        page.idle(f"[data-game='{link.split('/')[0]}'][data-ply='{link.count('-') + 1}']")
        if page.state("winner") == "":
            page.press("hint")
            page.page.wait_for_selector(".azp-thoughts[data-kind='hint']")
            page.idle()
        assert page.page.evaluate(CONTRAST) == {}, link


def test_moves_and_results_are_announced(tab):
    page = tab("tictactoe", at="A1-B1-A2", level="easy")
    assert page.page.get_attribute(".azp-words", "role") == "status"
    page.page.evaluate("""() => {
        window.said = [];
        new MutationObserver(() => window.said.push(document.querySelector('.azp-words').innerText))
            .observe(document.querySelector('.azp-words'), { childList: true, subtree: true, characterData: true });
    }""")
    page.page.select_option("select.azp-side", "first")
    page.idle("[data-ply='4']")
    said = "\n".join(page.page.evaluate("window.said"))
    assert "Noughts played" in said
    assert "Your turn" in said
    page.press("resign")
    page.idle("[data-outcome='lost']")
    assert page.page.evaluate("window.said").pop() == "The AI wins.\nCrosses resigned."


def test_focus_is_seen_and_every_control_is_reached(tab):
    page = tab("tictactoe")
    reached, hidden = [], []
    for _ in range(40):
        page.page.keyboard.press("Tab")
        name, outline = page.page.evaluate(
            "[document.activeElement.className, getComputedStyle(document.activeElement).outlineWidth]"
        )
        if not name:
            break
        reached.append(name)
        hidden += [name] if outline != "3px" else []
    assert hidden == []
    order = ["azp-game", "azp-language", "azp-theme", "azp-cell", "azp-hint", "azp-new", "azp-side", "azp-switch"]
    places = [next(i for i, name in enumerate(reached) if wanted in name.split()) for wanted in order]
    assert places == sorted(places)
