"""Playing in a real browser: whole games, every button, and clicks at the wrong moment."""

import json

import numpy as np
import pytest

from alphazero import get_game, load_player
from tests.browser import GAMES, names, nearly_won
from web.views import view


def play_until(page, outcome, choose, games=12):
    """Whole games from the first move to the last, until one ends like this."""
    for _ in range(games):
        while page.state("winner") == "":
            page.play(choose(page))
        if page.state("outcome") == outcome:
            return
        page.press("new")
        page.idle("[data-ply='0']")
    pytest.fail(f"not one of {games} games was {outcome}")


def reply_carelessly(page, game, rng):
    """In place of the AI: any legal move. Nobody can be sure to beat a search at tic-tac-toe."""

    def answer(route):
        request = json.loads(route.request.post_data)["data"][0]
        if request["ask"] != "reply":
            return route.continue_()
        position = get_game(game).start()
        for move in request["moves"]:
            position = position.play(move)
        after = position.play(int(rng.choice(position.legal_moves())))
        return route.fulfill(json={"data": [{**view(after, position), "ok": True}]})

    page.page.route("**/run/ask", answer)


@pytest.mark.parametrize("game", GAMES)
def test_a_whole_game_is_won_against_the_beginner(tab, game):
    player = load_player(game, simulations=100)
    page = tab(game, level="beginner")
    if game == "tictactoe":
        reply_carelessly(page, game, np.random.default_rng(1))

    def best(page):
        board = np.reshape(page.values, (player.game.rows, player.game.cols))
        if game == "chain_reaction" and page.ply < 2:
            return 12  # a first move can't be told from the board alone
        return player.search(player.game.from_board(board, 1)).action

    play_until(page, "won", best)
    assert page.headline == "You win!"
    assert page.playable == []
    page.click(0)
    assert page.detail == "The game is over. Start a new one, or take back a move."
    page.press("new")
    page.idle("[data-ply='0']")
    assert page.headline == "Your turn"


@pytest.mark.parametrize("game", GAMES)
def test_a_whole_game_is_lost_by_careless_play(tab, game):
    rng = np.random.default_rng(1)
    page = tab(game, level="hard")
    play_until(page, "lost", lambda page: int(rng.choice(page.playable)))
    assert page.headline == "The AI wins."
    assert page.detail == f"The game ended after {page.ply} moves."


def test_a_draw_is_told(tab):
    page = tab("tictactoe", at="A1-B2-C3-A2-C2-C1-A3-B3", level="hard")
    page.click(1)
    page.idle("[data-winner='0']")
    assert (page.headline, page.state("outcome")) == ("A draw.", "even")


@pytest.mark.parametrize("game", GAMES)
def test_a_win_is_unmistakable(tab, game):
    moves, winning = nearly_won(game)
    page = tab(game, at=names(game, moves))
    page.click(winning)
    page.idle("[data-outcome='won']")
    assert page.headline == "You win!"
    line = page.page.locator(".azp-stage .azp-winning").count()
    assert line >= {"chain_reaction": 0, "gomoku": 5, "tictactoe": 3}[game]
    assert page.page.get_attribute(".azp-bar", "data-chance") == ("100" if len(moves) % 2 == 0 else "0")


@pytest.mark.parametrize("game", GAMES)
def test_a_loss_is_told_and_can_be_taken_back(tab, game):
    # Whoever is to move wins at once: let the AI be that side.
    moves, _ = nearly_won(game)
    page = tab(game, at=names(game, moves), level="master")
    page.page.select_option("select.azp-side", "second" if len(moves) % 2 == 0 else "first")
    page.idle("[data-outcome='lost']")
    assert page.headline == "The AI wins."
    page.press("undo")
    page.idle("[data-winner='']")
    assert page.ply < len(moves)
    assert page.headline == "Your turn"


def test_a_finished_game_from_a_link_was_nobodys_here(tab):
    moves, winning = nearly_won("tictactoe")
    winner = "Crosses" if len(moves) % 2 == 0 else "Noughts"
    page = tab("tictactoe", at=names("tictactoe", [*moves, winning]))
    for _ in range(2):  # and still after a reload
        assert (page.headline, page.state("outcome")) == (f"Victory for {winner}!", "even")
        page.page.reload()
        page.idle("[data-winner]:not([data-winner=''])")


def test_what_comes_late_for_another_game_does_not_touch_this_one(tab):
    page = tab("gomoku", at="D5-E5-C5", side="both", level="easy")
    held = []

    def hold_judges(route):
        held.append(route) if "judge" in route.request.post_data else route.continue_()

    page.page.route("**/run/ask", hold_judges)
    page.page.evaluate("location.hash = '#gomoku/D5-E5-C5-F5'")
    page.idle("[data-ply='4']")
    page.open_game("tictactoe")
    assert held
    for route in held:
        route.continue_()
    page.play(4)
    assert (page.state("game"), page.ply) == ("tictactoe", 2)


def test_undo_takes_back_both_moves_and_a_hint_shows_a_legal_move(tab):
    page = tab("gomoku", level="easy")
    page.play(40)
    page.press("hint")
    page.page.wait_for_selector(".azp-hinted")
    page.idle()
    hinted = page.page.get_attribute(".azp-hinted", "data-cell")
    assert int(hinted) in page.playable
    assert page.detail.startswith("Hint: ")
    page.press("undo")
    page.idle("[data-ply='0']")
    assert not any(page.values)
    page.page.dispatch_event(".azp-undo", "click")  # nothing left: harmless
    assert "no move" in page.detail


def test_second_side_new_game_and_resign(tab):
    page = tab("tictactoe", level="easy")
    page.page.select_option("select.azp-side", "second")
    page.idle("[data-ply='1']")
    page.press("new")
    page.idle("[data-ply='1']")
    page.press("resign")
    page.idle("[data-outcome='lost']")
    assert (page.headline, page.detail) == ("The AI wins.", "Noughts resigned.")
    page.press("undo")
    page.idle("[data-outcome='']")
    assert page.ply == 1


def test_two_people_on_one_screen(tab):
    page = tab("tictactoe", side="both")
    for count, cell in enumerate([0, 3, 1, 4, 2], start=1):
        page.click(cell)
        page.idle(f"[data-ply='{count}']")
    assert page.headline == "Victory for Crosses!"
    page.press("undo")
    page.idle("[data-ply='4']")
    assert page.headline == "Crosses to move"
    page.page.wait_for_selector(".azp-bar[data-known='true']")


def test_watching_the_ai_play_itself(tab):
    page = tab("tictactoe", side="both", level="easy")
    page.page.select_option("select.azp-side", "watch")
    page.page.wait_for_selector(".azp[data-ply='1'], .azp[data-ply='2']")
    page.press("pause")
    page.idle()
    stopped = page.ply
    page.click(8)
    assert "AI plays both sides" in page.detail
    page.press("pause")
    page.idle(":not([data-winner=''])")
    assert page.ply > stopped
    assert page.page.get_attribute(".azp-curve", "data-points") is not None


def test_illegal_clicks_explain_themselves(tab):
    page = tab("chain_reaction", level="easy")
    page.play(12)
    empty, others = page.values.index(0), [c for c, value in enumerate(page.values) if value < 0]
    page.click(empty)
    assert page.detail.endswith("is empty; add to one of your own cells.")
    page.click(others[0])
    assert page.detail.endswith("belongs to the other player.")
    page.page.select_option(".azp-language", "zh-Hant")
    assert "屬於對方" in page.detail


def test_two_fast_clicks_are_one_move(tab):
    page = tab("tictactoe", level="easy")
    page.page.evaluate("document.querySelectorAll('.azp-stage [data-cell]').forEach((b, i) => i < 2 && b.click())")
    page.idle("[data-ply='2']")
    assert page.values[0] == 1
    assert page.values.count(1) == 1


def test_undo_and_new_do_not_wait_for_the_ai(tab):
    page = tab("gomoku", level="master")
    page.click(40)
    page.page.wait_for_selector(".azp[aria-busy][data-thinking]")
    page.press("undo")
    page.idle("[data-ply='0']")
    page.click(40)
    page.page.wait_for_selector(".azp[aria-busy][data-thinking]")
    page.press("new")
    page.idle("[data-ply='0']")
    assert not any(page.values)


def watch_flights(page):
    """Count the atoms that fly from now on."""
    page.page.evaluate("""() => {
        window.flown = 0;
        const count = (changes) => { for (const change of changes) window.flown += change.addedNodes.length; };
        new MutationObserver(count).observe(document.querySelector('.azp-flights'), { childList: true });
    }""")


def test_explosions_run_wave_by_wave_and_end_at_the_true_board(tab):
    moves, winning = nearly_won("chain_reaction")
    page = tab("chain_reaction", at=names("chain_reaction", moves), motion="no-preference")
    watch_flights(page)
    page.click(winning)
    page.idle("[data-outcome='won']")
    position = get_game("chain_reaction").start()
    for move in [*moves, winning]:
        position = position.play(move)
    assert page.values == position.board.ravel().tolist()
    assert page.page.evaluate("window.flown") >= 4


def test_undo_does_not_wait_for_an_explosion(tab):
    moves, winning = nearly_won("chain_reaction")
    page = tab("chain_reaction", at=names("chain_reaction", moves), motion="no-preference")
    page.page.select_option("select.azp-side", "both")
    page.idle()
    page.click(winning)
    page.page.wait_for_selector(".azp-flying", state="attached")
    page.press("undo")
    page.idle(f"[data-ply='{len(moves)}']")
    assert page.page.locator(".azp-flying").count() == 0
    assert page.page.locator(".azp-stage .azp-winning").count() == 0


def test_nothing_flies_with_reduced_motion(tab):
    moves, winning = nearly_won("chain_reaction")
    page = tab("chain_reaction", at=names("chain_reaction", moves))
    watch_flights(page)
    page.click(winning)
    page.idle("[data-outcome='won']")
    assert page.page.evaluate("window.flown") == 0


def test_choices_in_mid_search_take_effect_at_once(tab):
    page = tab("gomoku", level="master")
    page.click(40)
    page.page.wait_for_selector(".azp[aria-busy][data-thinking]")
    with page.page.expect_request(lambda r: r.url.endswith("/ask") and '"beginner"' in r.post_data):
        page.page.select_option("select.azp-level", "beginner")
    page.idle("[data-ply='2']")
    page.page.select_option("select.azp-level", "master")
    page.click(page.playable[0])
    page.page.wait_for_selector(".azp[aria-busy][data-thinking]")
    page.page.select_option("select.azp-side", "both")
    page.idle("[data-ply='3']")
    assert page.headline == "White to move"


def test_resigning_ends_a_search(tab):
    page = tab("gomoku", level="master")
    page.click(40)
    page.page.wait_for_selector(".azp[aria-busy][data-thinking]")
    page.press("resign")
    page.idle("[data-outcome='lost']")
    assert page.detail == "Black resigned."
