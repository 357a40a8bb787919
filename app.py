"""Start here: `python app.py` serves AlphaZero Playground on this machine."""

from __future__ import annotations

import argparse
import sys
import threading
import time

STARTED = time.perf_counter()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Play board games against a small AlphaZero in the browser.")
    parser.add_argument("--host", default=None, help="address to serve on (default 127.0.0.1; 0.0.0.0 for all)")
    parser.add_argument("--port", type=int, default=None, help="port to serve on (default: the first free from 7860)")
    parser.add_argument("--share", action="store_true", help="make a public link that works for a few days")
    return parser.parse_args()


def main() -> int:
    args = arguments()
    import web
    from alphazero import CheckpointError, game_names, load_player

    players = {}
    for name in game_names():
        try:
            players[name] = load_player(name)
        except CheckpointError as error:  # the other games still work
            print(f"app.py: {name} is left out. {error}", file=sys.stderr)
    if not players:
        return 1

    def get_ready() -> None:
        for player in players.values():
            player.warm_up()
        print(f"All games are ready, {time.perf_counter() - STARTED:.1f} s after the start.", flush=True)

    page = web.build(players)
    # Compiling goes on while the page is already served; a move asked for before that waits for it.
    threading.Thread(target=get_ready, name="get-ready", daemon=True).start()
    try:
        page.launch(server_name=args.host, server_port=args.port, share=args.share, **web.launch_options())
    except OSError as error:
        print(f"app.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
