"""Explanations: methods, techniques (method x backbone) and the engine that computes them."""
