"""Computational metrics."""
