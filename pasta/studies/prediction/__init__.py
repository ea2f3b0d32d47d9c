"""People learn from explanations to predict a classifier; the better they do, the more of use."""
