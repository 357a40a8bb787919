"""AlphaZero for small board games: rules, network, search, engine. The public API stands in __all__."""

from alphazero.checkpoint import Checkpoint, CheckpointError, load_checkpoint
from alphazero.curves import TrainingCurves, curves_script, curves_style, find_runs, training_curves
from alphazero.engine import Engine, EngineFull, EngineLimits
from alphazero.game import Game, IllegalBoard, IllegalMove, Position, UnknownGame, game_names, get_game
from alphazero.player import Player, load_player
from alphazero.result import SearchResult
from alphazero.settings import DEFAULT_LEVEL, LEVELS, Budget, Level, NetworkShape, SearchSettings

__all__ = [
    "DEFAULT_LEVEL",
    "LEVELS",
    "Budget",
    "Checkpoint",
    "CheckpointError",
    "Engine",
    "EngineFull",
    "EngineLimits",
    "Game",
    "IllegalBoard",
    "IllegalMove",
    "Level",
    "NetworkShape",
    "Player",
    "Position",
    "SearchResult",
    "SearchSettings",
    "TrainingCurves",
    "UnknownGame",
    "curves_script",
    "curves_style",
    "find_runs",
    "game_names",
    "get_game",
    "load_checkpoint",
    "load_player",
    "training_curves",
]
