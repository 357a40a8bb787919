"""The page: one tab a game, one board in each."""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine
from typing import Any

# Before gradio is imported: nothing here asks an outside host.
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("GRADIO_SSR_MODE", "false")

import gradio as gr

from alphazero import Player
from web.answers import answer
from web.board import board


def build(players: dict[str, Player]) -> gr.Blocks:
    """The page for these players, by name of their game."""
    with gr.Blocks(title="AlphaZero Playground", analytics_enabled=False) as page:
        gr.Markdown("# AlphaZero Playground\nPlay against a small AlphaZero: a neural network and a tree search.")
        for player in players.values():
            with gr.Tab(player.game.title):
                component = board(player.game)
                if player.checkpoint is not None and player.checkpoint.training.get("iterations") == 0:
                    gr.Markdown("This game's network is untrained as yet: the search plays alone, and rather weakly.")
                # Unqueued: the lowest latency and no limit of one running event. "multiple": the board asks for the
                # AI's reply while its own move is still being taken in, and keeps clicks apart itself.
                component.ask(
                    _handler(player),
                    outputs=component,
                    queue=False,
                    show_progress="hidden",
                    trigger_mode="multiple",
                    api_visibility="private",
                )
    return page


def _handler(player: Player) -> Callable[..., Coroutine[Any, Any, dict[str, Any]]]:
    async def handle(event: gr.EventData) -> dict[str, Any]:
        request = event._data
        answered = await answer(player, request)
        # The nonce tells the client which request this answers, and makes equal answers different values.
        nonce = request.get("nonce") if isinstance(request, dict) else None
        return {**answered, "nonce": nonce if isinstance(nonce, int) else 0}

    return handle


def launch_options() -> dict[str, Any]:
    """How the page is served: no analytics, no server-side rendering, no uploads worth the name."""
    return {
        "ssr_mode": False,
        "footer_links": [],
        "run_history": False,
        "enable_monitoring": False,
        "max_file_size": "1kb",
        "quiet": True,
        # The bold cuts of Gradio's own font lack most letters, which then come out in another font.
        "css": "h1, h2, h3 { font-family: system-ui, sans-serif !important; }",
    }
