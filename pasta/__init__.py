"""Human-aligned evaluation of explanations in computer vision."""

__version__ = "0.1.0"
