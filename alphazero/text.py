"""Boards as text that a person reads and types: drawing, parsing, cell names.

  A B C
1 X . O
2 . X .
3 . . .
X to move
"""

from __future__ import annotations

import re

from alphazero.game import Game, IllegalBoard, IllegalMove, Position


def draw(position: Position) -> str:
    """The board with its letters and numbers, and whose turn it is; `parse` reads it back."""
    game = position.game
    width = max(len(symbol) for symbol in game.symbols.values())
    margin = len(str(game.rows))
    letters = " ".join(chr(ord("A") + col).rjust(width) for col in range(game.cols))
    lines = [f"{'':{margin}} {letters}"]
    for number, row in enumerate(position.board, start=1):
        lines.append(f"{number:>{margin}} " + " ".join(game.symbols[int(cell)].rjust(width) for cell in row))
    if position.winner is None:
        lines.append(f"{game.players[position.to_move]} to move")
    else:
        lines.append("draw" if position.winner == 0 else f"{game.players[position.winner]} has won")
    return "\n".join(lines)


def parse(game: Game, text: str) -> Position:
    """The position drawn by `draw`. Letters and row numbers may be missing; +1 is to move unless the last line says."""
    values = {symbol: value for value, symbol in game.symbols.items()}
    board: list[list[int]] = []
    to_move = None
    for line in text.strip().splitlines():
        named = re.fullmatch(r"(.+) (to move|has won)", line.strip())
        tokens = line.split()
        if named:
            player = next((p for p, name in game.players.items() if name.lower() == named[1].lower()), None)
            if player is None:
                raise IllegalBoard(f"{named[1]!r} is no player; players: {', '.join(game.players.values())}.")
            to_move = player if named[2] == "to move" else -player
            continue
        if line.strip() == "draw" or tokens == [chr(ord("A") + col) for col in range(game.cols)]:
            continue
        tokens = tokens[1:] if len(tokens) == game.cols + 1 else tokens
        unknown = [token for token in tokens if token not in values]
        if unknown:
            raise IllegalBoard(f"{unknown[0]!r} is no cell of {game.title}; cells: {' '.join(values)}.")
        board.append([values[token] for token in tokens])
    if to_move is not None:
        return game.from_board(board, to_move)
    try:  # a full board or a bare one: whoever's turn the counts allow
        return game.from_board(board, 1)
    except IllegalBoard:
        return game.from_board(board, -1)


def parse_cell(game: Game, text: str) -> int:
    """The action a person means by "D5", "d5" or "39"."""
    match = re.fullmatch(r"\s*([A-Za-z])\s*([0-9]{1,3})\s*|\s*([0-9]{1,5})\s*", text)
    last = f"{chr(ord('A') + game.cols - 1)}{game.rows}"
    if match and match[3]:
        action = int(match[3])
        if action < game.num_actions:
            return action
    elif match:
        col, row = ord(match[1].upper()) - ord("A"), int(match[2]) - 1
        if 0 <= col < game.cols and 0 <= row < game.rows:
            return row * game.cols + col
    raise IllegalMove(f"{text.strip()[:20]!r} is no cell; cells run from A1 (0) to {last} ({game.num_actions - 1}).")
