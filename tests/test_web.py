"""What the server answers to the board, the texts in three languages, and the start of the app."""

import asyncio
import json
import re
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest

from alphazero import Engine, EngineLimits, get_game, load_player
from alphazero.game import PROJECT
from tests.browser import GAMES
from tests.game_contract import random_game
from web.answers import Answers
from web.board import CHAPTERS, LANGUAGES, STYLES, texts
from web.metrics import METRICS


def ask(player, request):
    if isinstance(request, dict):
        request = {"game": player.game.name, **request}
    return asyncio.run(Answers({player.game.name: player}).ask(request))


@pytest.mark.parametrize("name", GAMES)
def test_answers(name):
    player = load_player(name)
    shown = ask(player, {"moves": [0]})
    assert (shown["ok"], shown["moves"], shown["toMove"], shown["winner"]) == (True, [0], -1, None)
    assert 0 not in shown["legal"]
    assert [0] in shown["reasons"].values()
    replied = ask(player, {"moves": [0], "ask": "reply", "level": "easy"})
    assert len(replied["moves"]) == 2
    assert 1 <= replied["thought"]["simulations"] <= player.game.levels["easy"].simulations
    hinted = ask(player, {"moves": [0], "ask": "hint"})
    assert hinted["moves"] == [0]
    assert hinted["hint"] in player.game.start().play(0).legal_moves()
    judged = ask(player, {"moves": [0], "ask": "judge"})
    assert -1 <= judged["thought"]["valueFirst"] <= 1


@pytest.mark.parametrize(
    "request_",
    [
        *(None, [], "x", 5, {}, {"moves": "0"}, {"moves": None}, {"moves": [0] * 100_000}, {"moves": [], "game": []}),
        *({"moves": [], "ask": "all"}, {"moves": [], "ask": []}, {"moves": [], "level": "god"}),
        *({"moves": [], "level": {}}, {"moves": [], "game": "chess"}, {"moves": [], "id": "1"}, {"moves": [], "id": 5}),
    ],
)
def test_wrong_requests_get_a_code(request_):
    got = ask(load_player("tictactoe"), request_)
    assert (got["ok"], got["code"]) == (False, "badRequest")
    assert got["why"]


@pytest.mark.parametrize("moves", [[4, 4], [4, -1], [4, "0"], [4, True], [4, 1e99], [4, [0]], [4, None]])
def test_a_bad_move_is_named_and_what_went_before_is_kept(moves):
    got = ask(load_player("tictactoe"), {"moves": moves, "ask": "reply"})
    assert (got["ok"], got["code"], got["number"], got["moves"]) == (False, "badMove", 2, [4])


def test_a_move_at_the_board_is_counted():
    before = METRICS.snapshot()["moves"]
    for what, moves in (("show", 0), ("hint", 0), ("judge", 0), ("reply", 1)):
        assert ask(load_player("tictactoe"), {"moves": [4], "ask": what, "level": "easy"})["ok"]
        assert METRICS.snapshot()["moves"] - before == moves


def test_a_full_engine_asks_to_come_back():
    before = METRICS.errors().get("busy", 0)

    async def two_at_once():
        engine = Engine(limits=EngineLimits(searches=1))
        answers = Answers({"gomoku": load_player("gomoku", engine=engine)})
        request = {"game": "gomoku", "moves": [], "ask": "reply", "level": "master"}
        first = asyncio.create_task(answers.ask(request))
        while not engine.searches_in_flight():
            await asyncio.sleep(0.01)
        refused = await answers.ask(request)
        first.cancel()
        engine.close()
        return refused

    refused = asyncio.run(two_at_once())
    assert (refused["ok"], refused["code"]) == (False, "busy")
    assert refused["seconds"] >= 1
    assert METRICS.errors()["busy"] > before


def test_peek_sees_a_search_by_its_id_and_hanging_up_ends_it():
    async def glance_and_go():
        engine = Engine()
        answers = Answers({"gomoku": load_player("gomoku", engine=engine)})
        here, id_ = [True], "0123456789abcdef" * 2

        async def gone():
            return not here[0]

        request = {"game": "gomoku", "moves": [40], "ask": "reply", "level": "master", "id": id_}
        task = asyncio.create_task(answers.ask(request, gone))
        while (seen := answers.peek({"id": id_}))["stage"] != "thinking":
            await asyncio.sleep(0.01)
        here[0] = False
        answer = await task
        while engine.searches_in_flight():
            await asyncio.sleep(0.01)
        after = answers.peek({"id": id_})
        engine.close()
        return seen, answer, after

    seen, answer, after = asyncio.run(glance_and_go())
    assert seen["thought"]["toMove"] == -1
    assert seen["thought"]["moves"]
    assert answer["code"] == "gone"
    assert after == {"stage": "unknown"}


@pytest.mark.parametrize("request_", [None, {}, {"id": None}, {"id": []}, {"id": "x"}, "x", 5])
def test_peeks_that_lead_nowhere(request_):
    assert Answers({}).peek(request_) == {"stage": "unknown"}


def test_the_sum_of_a_move_is_the_papers():
    """Q + c P sqrt(N) / (1 + N), from the figures shown."""
    thought = ask(load_player("gomoku"), {"moves": [40], "ask": "hint"})["thought"]
    explore = get_game("gomoku").search.c_puct * np.sqrt(thought["simulations"] + 1)
    for move in thought["moves"]:
        if move["n"]:
            assert move["sum"] == pytest.approx(move["q"] + explore * move["p"] / (1 + move["n"]), abs=0.03)


def test_waves_lead_from_the_move_to_its_board():
    game, rng = get_game("chain_reaction"), np.random.default_rng(5)
    longest = 0
    for _ in range(20):
        positions = random_game(game, rng)
        for before, after in pairwise(positions):
            waves = game.waves(before.board.ravel(), before.to_move, after.last_action, before.plies)
            longest = max(longest, len(waves))
            for board, bursting in waves:
                assert bursting == np.flatnonzero(np.abs(board) >= 4).tolist()
    assert longest >= 3


def test_winning_cells():
    five = get_game("gomoku").start()
    for move in (0, 9, 1, 10, 2, 11, 3, 12, 4):
        five = five.play(move)
    assert five.game.winning_cells(five.board.ravel(), 1) == [0, 1, 2, 3, 4]
    assert get_game("tictactoe").winning_cells(np.array([1, 0, -1, 0, 1, -1, 0, 0, 1]), 1) == [0, 4, 8]


# ---- texts


def placeholders(text):
    return sorted(re.findall(r"\{(\w+)\}", json.dumps(text)))


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_text_is_there_in_every_language(lang):
    english, other = texts()["en"], texts()[lang]
    assert list(other) == list(english)
    for key, text in english.items():
        if key != "of.the.games":
            assert other[key], key
            assert placeholders(other[key]) == placeholders(text), key
            assert len(other[key]) == len(text) if isinstance(text, list) else True, key


def test_the_scripts_use_every_text_and_no_other():
    script = "\n".join((PROJECT / "web" / "client" / f"{name}.js").read_text("utf-8") for name in CHAPTERS)
    quoted = set(re.findall(r"'([\w.]+)'", script))
    families = [f"{start}." for start in re.findall(r"t\(`([\w.]+)\.\$\{", script)]
    known = set(texts()["en"]) - {"of.the.games"}
    codes = {"gone", "nonsense", "stumbled", "badRequest", "busy", "badMove"}
    unused = {key for key in known - quoted - codes if not key.startswith(tuple(families))}
    assert not unused
    missing = set(re.findall(r"\bt\('([\w.]+)'", script)) - known
    assert not missing


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("lang", LANGUAGES[1:])
def test_what_the_games_say_is_translated(name, lang):
    game, words = get_game(name), texts()[lang]["of.the.games"]
    said = {game.title, *game.players.values()}
    for position in random_game(game, np.random.default_rng(1))[:-1]:
        said |= set(ask_reasons(position))
    assert said <= set(words)


def ask_reasons(position):
    from web.views import view

    return view(position)["reasons"]


def test_the_page_has_no_other_scripts_and_styles():
    client = PROJECT / "web" / "client"
    assert {path.stem for path in client.glob("*.js")} == set(CHAPTERS)
    assert {path.stem for path in client.glob("*.css")} == set(STYLES)


# ---- the app


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
