"""Start here: `python app.py` serves AlphaZero Playground on this machine."""

from __future__ import annotations

import argparse
import socket
import sys
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from alphazero import Player

STARTED = time.perf_counter()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Play board games against a small AlphaZero in the browser.")
    parser.add_argument("--host", type=host, help="address to serve on (default 127.0.0.1; 0.0.0.0 for all)")
    parser.add_argument("--port", type=port, help="port to serve on (default: the first free one from 7860)")
    parser.add_argument("--share", action="store_true", help="make a public link that works for a few days")
    return parser.parse_args()


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


def load_players() -> dict[str, Player]:
    """A player for every game that works; the log says which do not, and why."""
    from alphazero import game_names, load_player

    players = {}
    for name in game_names():
        try:
            players[name] = load_player(name)
        except Exception as error:  # somebody's unfinished game must not take the others with it
            print(f"app.py: {name} is left out. {type(error).__name__}: {error}", file=sys.stderr)
    return players


def get_ready(players: dict[str, Player]) -> None:
    for player in players.values():
        player.warm_up()
    print(f"All games are ready, {time.perf_counter() - STARTED:.1f} s after the start.", flush=True)


def main() -> int:
    args = arguments()
    import web

    players = load_players()
    if not players:
        return 1
    page = web.build(players)
    # Compiling goes on while the page is already served; a move asked for before that waits for it.
    threading.Thread(target=get_ready, args=(players,), name="get-ready", daemon=True).start()
    try:
        _, url, shared = page.launch(
            server_name=args.host,
            server_port=args.port,
            share=args.share,
            prevent_thread_lock=True,
            **web.launch_options(),
        )
    except OSError as error:
        where = f"{args.host or '127.0.0.1'}, port {args.port or 'from 7860'}"
        print(f"app.py: can't serve on {where}; try another --port or --host. ({error})", file=sys.stderr)
        return 1
    print(f"AlphaZero Playground is at {url}" + (f" and, for everyone, at {shared}" if shared else ""), flush=True)
    page.block_thread()
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
