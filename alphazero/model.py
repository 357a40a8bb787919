"""A model: a game and a way to make evaluators for it. What the engine runs searches with."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from alphazero.checkpoint import Checkpoint
from alphazero.evaluator import Evaluator, check_choices, has_openvino, make_evaluator
from alphazero.game import Game
from alphazero.settings import check_type

PRECISION = "ALPHAZERO_PRECISION"


@dataclass(frozen=True, eq=False)
class Model:
    """Compared by identity: searches of the same Model object share batches and trees."""

    game: Game
    make_evaluator: Callable[[], Evaluator]  # called once in every worker thread that meets the model
    checkpoint: Checkpoint | None = None

    @staticmethod
    def of(checkpoint: Checkpoint, *, backend: str = "auto", precision: str = "auto") -> Model:
        """Precision "auto" is what the environment variable ALPHAZERO_PRECISION says, else what this CPU does best."""
        check_type("checkpoint", checkpoint, Checkpoint)
        if precision == "auto" and backend != "torch":
            precision = os.environ.get(PRECISION, precision)
        check_choices(backend, precision)
        game = checkpoint.game

        def make() -> Evaluator:
            calibration = None
            if precision == "int8" and has_openvino():
                from alphazero.quantize import calibration_planes

                calibration = calibration_planes(game)
            return make_evaluator(
                checkpoint.weights,
                checkpoint.shape,
                game.rows,
                game.cols,
                backend=backend,
                precision=precision,
                calibration=calibration,
            )

        return Model(game, make, checkpoint)
