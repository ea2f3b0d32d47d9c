"""Figures: each a function from a tidy frame to a matplotlib figure."""
