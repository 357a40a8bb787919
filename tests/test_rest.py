"""The REST API: every call, every documented error, bytes that make no sense, clients that go away."""

import asyncio
import json
import random

import pytest

from tests.rest_client import GAMES, api, ask, client, error, players

EMPTY = [[0, 0, 0], [0, 0, 0], [0, 0, 0]]
JSON = {"content-type": "application/json"}
LIMIT = 65_536


@pytest.fixture(scope="module")
def rest():
    return api()


def move(rest, game="tictactoe", **body):
    return ask(rest, "POST", f"/{game}/move", json=body)


# -- what works -------------------------------------------------------------------------------------------------------


def test_games_tells_all_about_each(rest):
    games = {game["name"]: game for game in ask(rest, "GET", "/games").json()["games"]}
    assert set(games) == set(GAMES)
    gomoku = games["gomoku"]
    assert (gomoku["rows"], gomoku["cols"], gomoku["numActions"], gomoku["rulesVersion"]) == (9, 9, 81, 1)
    assert [level["name"] for level in gomoku["levels"]] == ["beginner", "easy", "medium", "hard", "master"]
    trained = games["tictactoe"]["checkpoint"]
    assert trained["rating"] == players()["tictactoe"].checkpoint.training["elo_over_untrained"]
    assert trained["source"] == "checkpoints/tictactoe", "no path of this machine"


@pytest.mark.parametrize("game", GAMES)
def test_a_move_is_the_players_own(rest, game):
    player = players()[game]
    board = player.game.start().board.tolist()
    got = move(rest, game, board=board, simulations=40, seed=7).json()
    own = player.search(player.game.start(), simulations=40, seed=7)
    assert got["action"] == own.action
    assert got["visits"] == own.visits.tolist()
    assert got["line"] == own.line
    assert got["simulations"] == 40
    assert sum(got["probs"]) == pytest.approx(1)
    assert len(got["probs"]) == len(got["visits"]) == player.game.num_actions


def test_a_sure_win_is_proven_and_from_the_movers_view(rest):
    # Noughts to move complete the middle row.
    got = move(rest, board=[[1, 0, 1], [-1, -1, 0], [1, 0, 0]], currentPlayer=-1, simulations=200).json()
    assert (got["action"], got["proven"], got["line"]) == (5, "win", [5])
    assert got["rootValue"] == pytest.approx(1)


@pytest.mark.parametrize("level", ["beginner", "easy", "medium", "hard", "master"])
def test_levels_are_the_games_own(rest, level):
    got = move(rest, board=EMPTY, level=level).json()
    assert 0 < got["simulations"] <= players()["tictactoe"].game.levels[level].simulations


def test_a_budget_takes_the_place_of_the_levels(rest):
    assert move(rest, board=EMPTY, level="hard", simulations=3).json()["simulations"] == 3


def test_only_the_top_level_says_what_the_prover_knows(rest):
    """Blue to answer a first move in the centre: B2 wins by force, as docs/chain-reaction-solved.md shows."""
    board = [[0] * 5 for _ in range(5)]
    board[2][2] = 3
    for level, proven in (("hard", None), ("master", "win")):
        got = move(rest, "chain_reaction", board=board, currentPlayer=-1, level=level, simulations=20).json()
        assert got["proven"] == proven
    assert got["rootValue"] == 1
    assert got["action"] in (6, 8, 16, 18)
    facts = {game["name"]: game for game in ask(rest, "GET", "/games").json()["games"]}
    solvers = {level["name"] for level in facts["gomoku"]["levels"] if level["solver"]}
    assert solvers == {"master"}


def test_temperature_and_seed(rest):
    same = [move(rest, board=EMPTY, simulations=30, temperature=1, seed=3).json()["action"] for _ in range(3)]
    assert len(set(same)) == 1
    other = {move(rest, board=EMPTY, simulations=30, temperature=5, seed=s).json()["action"] for s in range(12)}
    assert len(other) > 1


def test_null_is_not_said_and_whole_floats_are_whole(rest):
    nothing = dict.fromkeys(("currentPlayer", "timeLimit", "level", "temperature"))
    said = move(rest, board=EMPTY, simulations=5.0, seed=1, **nothing).json()
    plain = move(rest, board=EMPTY, simulations=5, seed=1).json()
    assert {**said, "thinkingTime": 0} == {**plain, "thinkingTime": 0}


@pytest.mark.parametrize("seconds", [1e-300, 0.05, 0.3])
def test_the_time_limit_ends_a_search(rest, seconds):
    board = [[0] * 9 for _ in range(9)]
    got = move(rest, "gomoku", board=board, timeLimit=seconds).json()
    assert got["thinkingTime"] >= round(seconds, 4)
    assert got["thinkingTime"] < seconds + 5, "the limit is 0.1 s; a busy machine must not fail the test"


def test_many_simulations_end_at_the_time_limit_too(rest):
    board = [[0] * 9 for _ in range(9)]
    assert move(rest, "gomoku", board=board, simulations=20_000, timeLimit=0.1).json()["simulations"] < 20_000


@pytest.mark.parametrize("game", GAMES)
def test_evaluate_is_the_bare_network(rest, game):
    player = players()[game]
    policy, value = player.evaluate(player.game.start())
    got = ask(rest, "POST", f"/{game}/evaluate", json={"board": player.game.start().board.tolist()}).json()
    assert got["policy"] == pytest.approx(policy.tolist(), abs=1e-5)
    assert got["value"] == pytest.approx(value, abs=1e-5)


def test_health(rest):
    got = ask(rest, "GET", "/health").json()
    assert (got["status"], got["ready"], got["games"]) == ("ok", True, list(GAMES))
    assert ask(api(ready=lambda: False), "GET", "/health").json()["ready"] is False


def test_forty_clients_at_once(rest):
    async def play():
        async with client(rest) as http:
            boards = {name: player.game.start().board.tolist() for name, player in players().items()}
            asked = [(GAMES[i % 3], {"board": boards[GAMES[i % 3]], "simulations": 20, "seed": i}) for i in range(40)]
            return await asyncio.gather(*(http.post(f"/{game}/move", json=body) for game, body in asked))

    answers = asyncio.run(play())
    assert [answer.status_code for answer in answers] == [200] * 40
    assert all(answer.json()["simulations"] == 20 for answer in answers)


# -- what is wrong ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        ({}, "missing_field", "board"),
        ({"board": None}, "missing_field", "board"),
        ({"board": 5}, "wrong_type", "board"),
        ({"board": "000000000"}, "wrong_type", "board"),
        ({"board": {}}, "wrong_type", "board"),
        ({"board": []}, "wrong_shape", "board"),
        ({"board": [0] * 9}, "wrong_shape", "board"),
        ({"board": [0, 0, 0]}, "wrong_type", "board"),
        ({"board": [[0, 0, 0], [0, 0], [0, 0, 0]]}, "wrong_shape", "board"),
        ({"board": [[0] * 3] * 4}, "wrong_shape", "board"),
        ({"board": [[0, 0, 2], *EMPTY[1:]]}, "wrong_value", "board"),
        ({"board": [[0, 0, 0.5], *EMPTY[1:]]}, "wrong_value", "board"),
        ({"board": [[0, 0, 10**40], *EMPTY[1:]]}, "wrong_value", "board"),
        ({"board": [[0, 0, True], *EMPTY[1:]]}, "wrong_type", "board"),
        ({"board": [[0, 0, None], *EMPTY[1:]]}, "wrong_type", "board"),
        ({"board": [[0, 0, "1"], *EMPTY[1:]]}, "wrong_type", "board"),
        ({"board": [[0, 0, [1]], *EMPTY[1:]]}, "wrong_type", "board"),
        ({"board": [[1, 1, 0], *EMPTY[1:]]}, "unreachable_board", "board"),
        ({"board": EMPTY, "currentPlayer": -1}, "unreachable_board", "board"),
        ({"board": [[1, 1, 1], [-1, -1, -1], [0, 0, 0]]}, "unreachable_board", "board"),
        ({"board": [[1, 1, 1], [-1, -1, 0], [0, 0, 0]], "currentPlayer": -1}, "game_over", "board"),
        ({"board": [[1, -1, 1], [1, -1, -1], [-1, 1, 1]], "currentPlayer": -1}, "game_over", "board"),
        ({"board": EMPTY, "currentPlayer": 0}, "out_of_range", "currentPlayer"),
        ({"board": EMPTY, "currentPlayer": 2}, "out_of_range", "currentPlayer"),
        ({"board": EMPTY, "currentPlayer": "1"}, "wrong_type", "currentPlayer"),
        ({"board": EMPTY, "currentPlayer": True}, "wrong_type", "currentPlayer"),
        ({"board": EMPTY, "simulations": 0}, "out_of_range", "simulations"),
        ({"board": EMPTY, "simulations": 20_001}, "out_of_range", "simulations"),
        ({"board": EMPTY, "simulations": 10**400}, "out_of_range", "simulations"),
        ({"board": EMPTY, "simulations": 1.5}, "wrong_type", "simulations"),
        ({"board": EMPTY, "simulations": "many"}, "wrong_type", "simulations"),
        ({"board": EMPTY, "timeLimit": 0}, "out_of_range", "timeLimit"),
        ({"board": EMPTY, "timeLimit": -1}, "out_of_range", "timeLimit"),
        ({"board": EMPTY, "timeLimit": 10.5}, "out_of_range", "timeLimit"),
        ({"board": EMPTY, "timeLimit": 10**400}, "out_of_range", "timeLimit"),
        ({"board": EMPTY, "timeLimit": [1]}, "wrong_type", "timeLimit"),
        ({"board": EMPTY, "timeLimit": False}, "wrong_type", "timeLimit"),
        ({"board": EMPTY, "temperature": -0.1}, "out_of_range", "temperature"),
        ({"board": EMPTY, "temperature": 11}, "out_of_range", "temperature"),
        ({"board": EMPTY, "level": "god"}, "unknown_level", "level"),
        ({"board": EMPTY, "level": ""}, "unknown_level", "level"),
        ({"board": EMPTY, "level": 3}, "wrong_type", "level"),
        ({"board": EMPTY, "level": []}, "wrong_type", "level"),
        ({"board": EMPTY, "seed": -1}, "out_of_range", "seed"),
        ({"board": EMPTY, "seed": 2**63}, "out_of_range", "seed"),
        ({"board": EMPTY, "simulation": 5}, "unknown_field", "simulation"),
        ({"board": EMPTY, "time_limit": 5}, "unknown_field", "time_limit"),
        ({"board": EMPTY, "\ud800": 1}, "unknown_field", None),
        ({"board": EMPTY, "x" * 1000: 1}, "unknown_field", None),
        ({"board": EMPTY, "level": "\ud800"}, "unknown_level", "level"),
    ],
)
def test_wrong_moves_are_400_and_say_what(rest, body, code, field):
    got = ask(rest, "POST", "/tictactoe/move", content=json.dumps(body), headers=JSON)
    assert error(got) == (400, code, field)


@pytest.mark.parametrize("game", GAMES)
def test_evaluate_takes_a_board_and_nothing_else(rest, game):
    board = players()[game].game.start().board.tolist()
    got = ask(rest, "POST", f"/{game}/evaluate", json={"board": board, "level": "easy"})
    assert error(got) == (400, "unknown_field", "level")
    assert error(ask(rest, "POST", f"/{game}/evaluate", json={"board": board[1:]})) == (400, "wrong_shape", "board")


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "not_json"),
        (b"{", "not_json"),
        (b"\xff\xfe", "not_json"),
        (b"\xef\xbb\xbf{}", "not_json"),
        (b'{"board": [[0,0,0],[0,0,0],[0,0,0]], "timeLimit": NaN}', "not_json"),
        (b'{"board": [[0,0,0],[0,0,0],[0,0,0]], "timeLimit": Infinity}', "not_json"),
        (b'{"board": [[0,0,0],[0,0,0],[0,0,0]], "timeLimit": 1e999}', "out_of_range"),
        (b'{"board": [[0,0,0],[0,0,0],[0,0,1e999]]}', "wrong_value"),
        (b'{"board": ' + b"1" * 5000 + b"}", "not_json"),
        (b"[" * 30_000, "not_json"),
        (b'{"board":' * 5_000, "not_json"),
        (b'{"board": [], "board": []}', "repeated_field"),
        (b"[]", "not_an_object"),
        (b"null", "not_an_object"),
        (b'"board"', "not_an_object"),
    ],
)
def test_bodies_that_are_no_json_object(rest, content, code):
    got = ask(rest, "POST", "/tictactoe/move", content=content, headers=JSON)
    assert error(got)[:2] == (400, code)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "application/jsonp", "", "json"])
def test_a_wrong_content_type(rest, kind):
    content = json.dumps({"board": EMPTY})
    got = ask(rest, "POST", "/tictactoe/move", content=content, headers={"content-type": kind})
    assert error(got) == (400, "wrong_content_type", None)
    fine = {"content-type": "Application/JSON; charset=utf-8"}
    assert ask(rest, "POST", "/tictactoe/move", content=content, headers=fine).status_code == 200


def test_a_body_too_large_is_not_read(rest):
    read = 0

    async def endless():
        nonlocal read
        for _ in range(1000):
            read += 8192
            yield b" " * 8192

    got = ask(rest, "POST", "/tictactoe/move", content=endless(), headers=JSON)
    assert error(got) == (413, "body_too_large", None)
    assert read <= LIMIT + 2 * 8192
    announced = ask(rest, "POST", "/tictactoe/move", content=b" " * (LIMIT + 1), headers=JSON)
    assert error(announced) == (413, "body_too_large", None)


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("POST", "/chess/move", (404, "unknown_game", None)),
        ("GET", "/chess/evaluate", (404, "unknown_game", None)),
        ("POST", "/../move", (404, "unknown_game", None)),
        ("GET", "/", (404, "unknown_path", None)),
        ("GET", "/games/", (404, "unknown_path", None)),
        ("POST", "/gomoku/undo", (404, "unknown_path", None)),
        ("GET", "/%00%ff", (404, "unknown_path", None)),
        ("GET", "/static-offline-docs/../rest.py", (404, "unknown_path", None)),
        ("GET", "/jobs/1", (404, "unknown_job", None)),
        ("GET", "/gomoku/move", (405, "wrong_method", None)),
        ("POST", "/games", (405, "wrong_method", None)),
        ("DELETE", "/health", (405, "wrong_method", None)),
        ("BREW", "/metrics", (405, "wrong_method", None)),
    ],
)
def test_unknown_paths_and_methods(rest, method, path, expected):
    got = ask(rest, method, path)
    assert error(got) == expected
    assert ("allow" in got.headers) == (got.status_code == 405)


def test_random_bytes_are_never_more_than_refused(rest):
    rng = random.Random(4)
    good = json.dumps({"board": EMPTY, "currentPlayer": 1, "simulations": 2, "seed": 1, "level": "easy"}).encode()

    async def fuzz():
        async with client(rest) as http:
            for _ in range(300):
                content = bytearray(good)
                for _ in range(rng.randint(1, 4)):
                    where = rng.randrange(len(content))
                    content[where : where + rng.randint(0, 3)] = rng.randbytes(rng.randint(0, 3))
                got = await http.post("/tictactoe/move", content=bytes(content), headers=JSON)
                assert got.status_code == 200 or error(got)[0] == 400, bytes(content)

    asyncio.run(fuzz())


def test_what_nobody_expected_is_logged_and_has_the_same_shape(monkeypatch, caplog):
    rest = api("tictactoe")

    async def stumble(*_, **__):
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(players()["tictactoe"], "search_async", stumble)
    got = move(rest, board=EMPTY)
    assert error(got) == (500, "internal", None)
    assert "secret" not in got.text
    assert "ZeroDivisionError" in caplog.text


# -- clients that go away ---------------------------------------------------------------------------------------------


def test_a_client_that_goes_away_stops_its_search(rest):
    engine = players()["gomoku"].engine
    before = engine.stats.snapshot()["gomoku"]["cancelled"]
    body = json.dumps({"board": [[0] * 9] * 9, "timeLimit": 10}).encode()
    sent = []

    async def go_away():
        incoming = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def receive():
            message = next(incoming, None)
            if message is None:
                while not engine.stats.snapshot()["gomoku"]["in_flight"]:
                    await asyncio.sleep(0.01)
                return {"type": "http.disconnect"}
            return message

        async def send(message):
            sent.append(message)

        headers = [(b"content-type", b"application/json")]
        scope = {
            "type": "http", "method": "POST", "path": "/gomoku/move", "raw_path": b"/gomoku/move", "root_path": "",
            "query_string": b"", "headers": headers, "client": ("1.2.3.4", 5), "server": ("api", 80), "scheme": "http",
            "http_version": "1.1", "asgi": {"version": "3.0"},
        }  # fmt: skip
        await rest(scope, receive, send)
        for _ in range(1000):
            if engine.stats.snapshot()["gomoku"]["cancelled"] > before:
                return
            await asyncio.sleep(0.01)

    asyncio.run(go_away())
    assert engine.stats.snapshot()["gomoku"]["cancelled"] == before + 1
    assert sent[0]["status"] == 499
