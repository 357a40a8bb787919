"""Training: self-play -> replay -> learner -> gate, as a loop that resumes. docs/training.md tells the story."""
