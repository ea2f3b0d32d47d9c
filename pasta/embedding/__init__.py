"""Explanations as vectors: what is rendered of them, and the encoders that look at it."""
