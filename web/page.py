"""The page: one board component for all games, and the two events it sends.

Both events are plain POSTs without the queue, the lowest latency and no limit of one running event. A client over HTTP
asks for the AI's reply to one move, and hears it in the answer to the same request, so:

    curl -s http://127.0.0.1:7860/gradio_api/run/ask -H 'Content-Type: application/json' \
      -d '{"data": [{"game": "tictactoe", "moves": [4], "ask": "reply", "level": "easy"}]}'
    {"data": [{"ok": true, "moves": [4, 0], "cells": [-1, 0, ...], "toMove": 1, "winner": null, ...}], ...}

The board sends one "show" with the person's move (it draws that at once) and then one "reply"; what else a request can
hold stands in web/answers.py. `POST /gradio_api/run/peek` with `{"data": [{"id": ...}]}` looks at a search under way.
Hanging up cancels the search.
"""

from __future__ import annotations

import os
from typing import Any

# Before gradio is imported: nothing here asks an outside host.
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("GRADIO_SSR_MODE", "false")

import gradio as gr

from alphazero import Player
from web.answers import Answers
from web.board import board


def build(players: dict[str, Player], *, lang: str | None = None) -> gr.Blocks:
    """The page for these players, by name of their game.

    lang: "en", "zh-Hant" or "zh-Hans" for everyone who has not chosen another; None takes the browser's.
    """
    answers = Answers(players)

    async def ask(request: dict, http: gr.Request) -> dict:
        assert http.request is not None  # None only outside a server
        return await answers.ask(request, gone=http.request.is_disconnected)

    async def peek(request: dict) -> dict:
        return answers.peek(request)

    with gr.Blocks(title="AlphaZero Playground", analytics_enabled=False, fill_width=True) as page:
        board(players, lang)
        for event in (ask, peek):
            gr.api(event, api_name=event.__name__, queue=False, api_visibility="private")
    return page


def launch_options() -> dict[str, Any]:
    """How the page is served: no analytics, no server-side rendering, no uploads worth the name."""
    return {
        "ssr_mode": False,
        "footer_links": [],
        "run_history": False,
        "enable_monitoring": False,
        "max_file_size": "1kb",
        "quiet": True,
    }
