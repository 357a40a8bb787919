"""The board component: one gr.HTML for every game, drawn and run by the scripts in web/client.

The scripts are chapters of one program: they are joined in the order below and share one scope. Facts about the games
and the texts of all languages go in with them, so that the page needs nothing more from the server than answers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gradio as gr

from alphazero import DEFAULT_LEVEL, Game, Player

HERE = Path(__file__).parent
LANGUAGES = ("en", "zh-Hant", "zh-Hans")
CHAPTERS = ("dom", "words", "store", "server", "pieces", "board", "thoughts", "curve", "rules", "panel", "play", "page")
STYLES = ("page", "board", "pieces", "panel")
SKINS = {"gomoku": "goban", "tictactoe": "marks", "chain_reaction": "atoms"}  # any other game: "stones"


def board(players: Mapping[str, Player], lang: str | None = None) -> gr.HTML:
    """All games of these players in one component; `lang` stands in for the browser's language."""
    if lang is not None and lang not in LANGUAGES:
        raise ValueError(f"lang must be one of {', '.join(LANGUAGES)}, not {lang!r}")
    facts = {
        "games": [_facts(player) for player in players.values()],
        "defaultLevel": DEFAULT_LEVEL,
        "lang": lang,
        "texts": texts(),
        "css": "\n".join((HERE / "client" / f"{name}.css").read_text("utf-8") for name in STYLES),
    }
    chapters = [f"const FACTS = {json.dumps(facts, ensure_ascii=False)};"]
    chapters += [(HERE / "client" / f"{name}.js").read_text("utf-8") for name in CHAPTERS]
    return gr.HTML(
        value=None,
        html_template='<div class="azp"></div>',
        js_on_load="\n".join(chapters),
        apply_default_css=False,
        padding=False,
        elem_id="playground",
    )


def texts() -> dict[str, dict[str, Any]]:
    """Every text of the page by language."""
    return {lang: json.loads((HERE / "texts" / f"{lang}.json").read_text("utf-8")) for lang in LANGUAGES}


def _facts(player: Player) -> dict[str, Any]:
    game: Game = player.game
    trained = player.checkpoint is None or player.checkpoint.training.get("iterations") != 0
    return {
        "name": game.name,
        "title": game.title,
        "rows": game.rows,
        "cols": game.cols,
        "players": {str(player): name for player, name in game.players.items()},
        "symbols": {str(value): symbol for value, symbol in game.symbols.items()},
        "skin": SKINS.get(game.name, "stones"),
        "levels": {
            name: {"simulations": level.simulations, "seconds": level.seconds} for name, level in game.levels.items()
        },
        "cPuct": game.search.c_puct,
        "trained": trained,
    }
