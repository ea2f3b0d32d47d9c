"""Our implementations beside those of libraries: ``make bench`` prints and writes one table."""
