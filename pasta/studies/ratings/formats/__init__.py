"""File formats that ratings come in and go out: one reader and one writer each."""
