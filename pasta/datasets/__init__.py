"""Datasets, drawn and real, behind one contract."""
