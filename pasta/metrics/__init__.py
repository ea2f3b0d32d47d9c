"""Computational metrics of explanations: :func:`pasta.metrics.api.evaluate`."""
