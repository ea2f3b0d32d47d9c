"""Twelve ways to perturb an image, and the search for a light and a strong one of each image."""
