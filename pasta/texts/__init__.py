"""Texts: documents as words, classifiers of them, word attributions, and how faithful these are."""
