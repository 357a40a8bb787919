"""Nothing is lost: reload, two tabs, links, a broken store, a server that restarts."""

from alphazero import load_player
from tests.browser import Tab, serve


def test_a_reload_loses_nothing(tab):
    page = tab("tictactoe")
    page.open_game("gomoku")
    page.play(40)
    board = page.values
    page.page.reload()
    page.idle("[data-game='gomoku'][data-ply='2']")
    assert page.values == board


def test_a_link_opens_its_position_and_can_be_copied(tab):
    page = tab("gomoku", at="E5-D4-F6", permissions=["clipboard-read", "clipboard-write"])
    assert page.ply == 3
    assert [page.values[cell] for cell in (40, 30, 50)] == [1, -1, 1]
    assert page.headline == "Your turn"
    page.press("copy")
    page.page.wait_for_selector("[data-copied$='#gomoku/E5-D4-F6']")
    assert page.page.evaluate("navigator.clipboard.readText()").endswith("#gomoku/E5-D4-F6")


def test_a_link_with_an_impossible_move_opens_what_is_possible(tab):
    page = tab("gomoku", at="E5-E5")
    page.says("Move 2 of this game is not possible")
    assert page.ply == 1


def test_a_broken_store_is_no_dead_board(tab):
    page = tab("tictactoe")
    for stored in ('{"moves": [0, 0, 99]}', '{"moves": "x"}', "nonsense", "null", '{"moves": [1.5]}'):
        page.page.evaluate(
            "text => [localStorage, sessionStorage].forEach((s) => s.setItem('alphazero.game.tictactoe', text))", stored
        )
        page.page.reload()
        page.idle()
        assert page.playable, stored


def test_a_server_restart_loses_nothing(tab):
    players = {"tictactoe": load_player("tictactoe", level="easy")}
    with serve(players) as url:
        page = tab("tictactoe", address=url, level="easy")
        page.play(4)
        port = int(url.rstrip("/").rsplit(":", 1)[1])
    free = page.playable[0]
    page.click(free)
    page.says("No connection to the server")
    assert page.page.locator(".azp-retry").is_visible()
    with serve(players, port=port):
        page.press("retry")
        page.idle("[data-trouble='']")
        assert page.values[free] == 1
        assert page.ply >= 3


def test_a_lost_server_is_found_again_without_a_click(tab):
    players = {"tictactoe": load_player("tictactoe", level="easy")}
    with serve(players) as url:
        page = tab("tictactoe", address=url, level="easy")
        port = int(url.rstrip("/").rsplit(":", 1)[1])
    page.click(4)
    page.says("No connection to the server")
    with serve(players, port=port):
        page.idle("[data-ply='2'][data-trouble='']")
        assert page.values[4] == 1


def test_two_tabs_keep_their_own_games_and_a_third_goes_on_with_the_last(tab):
    one = tab("tictactoe", side="both")
    two = Tab(one.page.context.new_page())
    two.page.goto(one.page.url)
    two.idle()
    for page, cell in ((one, 0), (two, 8), (one, 1)):
        ply = page.ply
        page.click(cell)
        page.idle(f"[data-ply='{ply + 1}']")
    boards = one.values, two.values
    for page in (one, two):
        page.page.reload()
        page.idle()
    assert (one.values, two.values) == boards
    three = Tab(one.page.context.new_page())
    three.page.goto(one.page.url)
    assert three.idle().ply > 0


def test_without_a_store_there_is_still_a_game(tab):
    page = tab("tictactoe")
    page.page.add_init_script(
        "for (const name of ['localStorage', 'sessionStorage'])"
        "  Object.defineProperty(window, name, { get() { throw new DOMException('no', 'SecurityError'); } });"
    )
    page.page.reload()
    page.idle()
    page.open_game("gomoku")
    page.play(40)
    assert page.values[40] == 1


def test_a_link_to_nowhere_explains_itself(tab):
    page = tab("tictactoe")
    for link in ("#chess/E5", "#gomoku/Z99", "#gomoku", "#%3Cimg%3E"):
        page.page.evaluate("link => { history.replaceState(null, '', link); location.reload(); }", link)
        page.page.wait_for_url(lambda url: "#" not in url)
        page.idle("[data-game='tictactoe']")
        assert page.detail == "This link leads to no game here.", link
        assert page.playable


def test_links_in_an_open_page_and_back_again(tab):
    page = tab("tictactoe")
    page.page.evaluate("location.hash = '#gomoku/e5-d4'")
    page.idle("[data-game='gomoku'][data-ply='2']")
    page.page.evaluate("location.hash = '#gomoku/A1'")
    page.idle("[data-game='gomoku'][data-ply='1']")
    page.page.go_back()
    page.idle()
    assert page.state("game") == "gomoku"
    assert page.ply == 1


def test_without_a_clipboard_the_link_stands_there(tab):
    page = tab("gomoku", at="E5-D4")
    page.page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('no')); }")
    page.press("copy")
    page.page.wait_for_selector(".azp-link:visible")
    assert page.page.input_value(".azp-link").endswith("#gomoku/E5-D4")
