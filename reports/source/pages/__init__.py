"""Reports: each a function from tidy tables to a document."""
