"""The REST API in this process, without a network: how its tests ask it things."""

import asyncio

import httpx

from alphazero import load_player
from web.limits import Limiter, Limits
from web.metrics import Metrics
from web.rest import RestOptions, make_rest

GAMES = ("chain_reaction", "gomoku", "tictactoe")
UNLIMITED = Limits(client_rate=1e6, client_burst=10**6, total_rate=1e6, total_burst=10**6)
_players = {}


def players(*names):
    """The shipped players, loaded and warmed up once a session."""
    for name in names or GAMES:
        if name not in _players:
            _players[name] = load_player(name)
            _players[name].warm_up()
    return {name: _players[name] for name in names or GAMES}


def api(*names, limits=UNLIMITED, **options):
    """An application of its own, with counters of its own."""
    return make_rest(players(*names), RestOptions(limiter=Limiter(limits), metrics=Metrics(), **options))


def client(rest):
    # An exception that escapes the application fails the test, instead of looking like an answer.
    return httpx.AsyncClient(transport=httpx.ASGITransport(rest), base_url="http://api", timeout=60)


def ask(rest, method, path, **request):
    async def once():
        async with client(rest) as http:
            return await http.request(method, path, **request)

    return asyncio.run(once())


def error(response):
    """The one shape of errors: (status, code, field); the message is there and is a sentence."""
    body = response.json()
    assert set(body) == {"error"}
    assert set(body["error"]) == {"code", "message", "field"}
    message = body["error"]["message"]
    assert message.endswith(".")
    assert "Traceback" not in message
    return response.status_code, body["error"]["code"], body["error"]["field"]
