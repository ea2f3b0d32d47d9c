"""Statistics of human ratings: arrays and columns in, tidy frames out."""
