"""The PASTA-score: networks that predict how people would rate an explanation."""
