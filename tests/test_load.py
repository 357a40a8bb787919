"""The load benchmark: it plays what it says, and it sees what is wrong."""

import argparse
import asyncio
from urllib.parse import urlsplit

import pytest

from alphazero import get_game
from benchmarks import load
from tests.serving import running
from web.views import view

FIGURES = {"players", "moves", "errors", "p50_ms", "p95_ms", "p99_ms", "moves_per_s", "evals_per_s", "rss_mb"}


def options(**changed):
    usual = {"players": 4, "seconds": 60.0, "think": 0.0, "mix": 0.5, "level": "beginner", "games": 6, "addresses": 2}
    return argparse.Namespace(**{**usual, "seed": 0, **changed})


def test_whole_games_by_page_and_by_rest():
    with running() as served:
        report = asyncio.run(load.run(urlsplit(served.url).port, options()))
    assert report.keys() >= FIGURES
    assert report["errors"] == 0
    assert report["games"] >= 6
    assert report["moves"] >= 6 * 3
    assert 0 < report["p50_ms"] <= report["p95_ms"] <= report["p99_ms"]


def test_a_server_that_is_not_there_is_an_error():
    tally = load.Tally()
    person = load.Person(load.Connection(1, None), tally, "beginner", 0.0, by_rest=False, seed=0)

    async def play():
        stop = asyncio.Event()
        task = asyncio.create_task(person.play(stop, None))
        while not tally.errors:
            await asyncio.sleep(0.01)
        stop.set()
        await task

    asyncio.run(asyncio.wait_for(play(), 30))
    assert sum(tally.errors.values()) == 1


@pytest.mark.parametrize(
    "change", [{"cells": [1] * 9}, {"moves": [4, 0]}, {"toMove": 1}, {"winner": 1}, {"legal": [0, 1]}]
)
def test_a_wrong_board_is_seen(change):
    position = get_game("tictactoe").start().play(4)
    load.check_view(position, view(position))
    with pytest.raises(load.Wrong, match="tictactoe"):
        load.check_view(position, {**view(position), **change})


def test_percentiles_and_thinning():
    assert load.percentile([0.001 * number for number in range(1, 101)], 95) == 96.0
    assert load.percentile([0.5], 99) == 500.0
    assert load.percentile([], 50) is None
    assert load.thinned(list(range(100)), 10)[-1] == 99
    assert len(load.thinned(list(range(100)), 10)) == 10
    assert load.thinned([1, 2], 10) == [1, 2]
