"""Applications of the score."""
