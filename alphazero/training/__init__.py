"""Training: self-play -> replay -> learner -> gate, as a loop that resumes. docs/training.md tells the story."""


class TrainingError(Exception):
    """Training can't go on; the message says what happened and what to do."""
