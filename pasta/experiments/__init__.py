"""Experiments that people take part in: binary tasks, their classifiers and explanations."""
