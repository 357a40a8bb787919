"""One server and one browser for all tests of the page; they end before the next package's tests begin, because
Playwright keeps an event loop running in this thread."""

import json

import pytest

from tests.browser import Tab, chromium, serve


@pytest.fixture(scope="package")
def url():
    with serve() as url:
        yield url


@pytest.fixture(scope="package")
def browser():
    with chromium() as browser:
        yield browser


@pytest.fixture
def tab(browser, url):
    """open(game, link=..., level=..., ...): a game in a fresh browser; complaints of the page fail the test."""
    contexts, complaints = [], []

    def open_tab(game="tictactoe", at="", motion="reduce", address=None, **options):
        address = address or url
        stored = {name: options.pop(name) for name in ("level", "side") if name in options}
        context = browser.new_context(reduced_motion=motion, **{"locale": "en-GB", **options})
        context.set_default_timeout(20_000)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "request", lambda r: None if r.url.startswith((address, "data:", "blob:")) else complaints.append(r.url)
        )
        first = {"alphazero.page": {"game": game}, f"alphazero.game.{game}": stored}
        sets = "".join(f"localStorage.setItem({json.dumps(k)}, {json.dumps(json.dumps(v))});" for k, v in first.items())
        page.add_init_script(f"if (!sessionStorage.begun) {{ sessionStorage.begun = 1; {sets} }}")
        page.goto(f"{address}#{game}/{at}" if at else address)
        return Tab(page).idle(f"[data-game='{game}']")

    yield open_tab
    for context in contexts:
        context.close()
    assert not complaints
