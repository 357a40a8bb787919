"""The board component: one gr.HTML for every game, drawn and run by board.js."""

from __future__ import annotations

import json
from pathlib import Path

import gradio as gr

from alphazero import DEFAULT_LEVEL, LEVELS, Game

HERE = Path(__file__).parent


def board(game: Game) -> gr.HTML:
    """A board that fires the event `ask` with the client's request and draws the value it gets back."""
    facts = {
        "name": game.name,
        "title": game.title,
        "rows": game.rows,
        "cols": game.cols,
        "players": {str(player): name for player, name in game.players.items()},
        "levels": LEVELS,
        "defaultLevel": DEFAULT_LEVEL,
    }
    script = (HERE / "board.js").read_text("utf-8").replace("FACTS_OF_THE_GAME", json.dumps(facts))
    return gr.HTML(
        value=None,
        html_template='<div class="azp-board"></div>',
        css_template=(HERE / "board.css").read_text("utf-8"),
        js_on_load=script,
        apply_default_css=False,
        padding=False,
        elem_id=f"board-{game.name}",
    )
