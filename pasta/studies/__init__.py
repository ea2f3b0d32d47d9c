"""Studies with people: what they share, and one folder for each of them."""
