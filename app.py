"""Start here: `python app.py` serves AlphaZero Playground on this machine. docs/serving.md has the rest."""

from __future__ import annotations

import argparse
import os
import secrets
import signal
import socket
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from alphazero import Player

STARTED = time.perf_counter()
TOKEN = "ALPHAZERO_TRAINING_TOKEN"


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Play board games against a small AlphaZero in the browser.")
    parser.add_argument("--host", type=host, help="address to serve on (default 127.0.0.1; 0.0.0.0 for all)")
    parser.add_argument("--port", type=port, help="port to serve on (default: the first free one from 7860)")
    parser.add_argument("--share", action="store_true", help="make a public link that works for a few days")
    parser.add_argument(
        "--lang",
        choices=("en", "zh-Hant", "zh-Hans"),
        help="language for those who have not chosen one (default: each browser's own)",
    )
    parser.add_argument(
        "--simulations",
        metavar="N",
        type=simulations,
        help='how far level "medium", the one that a new visitor meets, thinks in every game; other levels stay',
    )
    parser.add_argument(
        "--checkpoint",
        metavar="[GAME=]SOURCE",
        action="append",
        default=[],
        help="play with this network: a folder or a Hub repo id (owner/name); GAME= makes sure whose it is. Repeatable",
    )
    parser.add_argument(
        "--runs", metavar="FOLDER", type=Path, default=Path("runs"), help="training runs for /monitor (default: runs)"
    )
    parser.add_argument("--allow-training", action="store_true", help="let those who have the token train over REST")
    parser.add_argument(
        "--training-token",
        metavar="TOKEN",
        help=f"the token; better in the variable {TOKEN}, where other users of the machine don't see it "
        "(default: made up and printed)",
    )
    return parser.parse_args(words)


def host(text: str) -> str:
    try:
        socket.getaddrinfo(text, None)
    except (OSError, UnicodeError):
        raise argparse.ArgumentTypeError(f"{text!r} is no address of this machine") from None
    return text


def port(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"a port is a whole number from 1 to 65535, not {text!r}")
    return int(text)


def simulations(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 20_000:
        raise argparse.ArgumentTypeError(f"simulations are a whole number from 1 to 20000, not {text!r}")
    return int(text)


def load_players(sources: list[str] | None = None, medium: int | None = None) -> dict[str, Player]:
    """A player for every game that works; the log says which do not, and why.

    sources: what --checkpoint was given; ValueError if one can't be had. medium: simulations of the default level.
    """
    from alphazero import DEFAULT_LEVEL, game_names, load_player

    chosen = dict(map(load_chosen, sources or []))
    players = {}
    for name in game_names():
        try:
            players[name] = chosen.get(name) or load_player(name)
        except Exception as error:  # somebody's unfinished game must not take the others with it
            print(f"app.py: {name} is left out. {type(error).__name__}: {error}", file=sys.stderr)
    if medium is not None:
        for player in players.values():
            levels = player.game.levels
            levels[DEFAULT_LEVEL] = replace(levels[DEFAULT_LEVEL], simulations=medium)
    return players


def load_chosen(text: str) -> tuple[str, Player]:
    """(game, player) of one --checkpoint; ValueError says what is wrong with it."""
    from alphazero import CheckpointError, UnknownGame, game_names, load_player

    name, equals, source = text.partition("=")
    if not equals or name not in game_names():  # a folder may have an equals sign, too
        name, source = "", text
    try:
        player = load_player(source)
    except (CheckpointError, UnknownGame) as error:
        raise ValueError(f"--checkpoint {text}: {error}") from None
    if name and player.game.name != name:
        raise ValueError(f"--checkpoint {text}: that network plays {player.game.name}")
    return player.game.name, player


def training_token(args: argparse.Namespace) -> str | None:
    """The token that training over REST asks for; None: there is no training."""
    if not args.allow_training:
        return None
    given = args.training_token or os.environ.get(TOKEN)
    if given:
        return given
    made = secrets.token_urlsafe(24)
    print(f"Training over REST asks for this token: {made}", flush=True)
    return made


def get_ready(players: dict[str, Player], ready: threading.Event) -> None:
    from alphazero.warming import warm_up
    from web.views import view

    warm_up(players.values())
    for player in players.values():
        start = player.game.start()
        view(start.play(start.legal_moves()[0]), before=start)  # compiles the rules as the page calls them
    ready.set()
    print(f"All games are ready, {time.perf_counter() - STARTED:.1f} s after the start.", flush=True)


def main() -> int:
    args = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    from web.server import Serving, serve

    try:
        players = load_players(args.checkpoint, args.simulations)
    except ValueError as error:
        print(f"app.py: {error}", file=sys.stderr)
        return 2
    if not players:
        return 1
    # Compiling goes on while the page is already served; a move asked for before that waits for it.
    ready = threading.Event()
    threading.Thread(target=get_ready, args=(players, ready), name="get-ready", daemon=True).start()
    serving = Serving(
        host=args.host,
        port=args.port,
        share=args.share,
        lang=args.lang,
        runs=args.runs,
        training_token=training_token(args),
        ready=ready.is_set,
    )
    try:
        served = serve(players, serving)
    except OSError as error:
        where = f"{args.host or '127.0.0.1'}, port {args.port or 'from 7860'}"
        print(f"app.py: can't serve on {where}; try another --port or --host. ({error})", file=sys.stderr)
        return 1
    public = f" and, for everyone, at {served.shared}" if served.shared else ""
    print(f"AlphaZero Playground is at {served.url}{public}", flush=True)
    try:
        served.wait()
    finally:
        served.close()
    return 0


def leave(code: int) -> None:
    """End at once. A thread that compiles can't be stopped, and an ordinary end would wait for it."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    try:
        leave(main())
    except SystemExit as stop:
        leave(stop.code if isinstance(stop.code, int) else 1)
    except KeyboardInterrupt:
        leave(130)
