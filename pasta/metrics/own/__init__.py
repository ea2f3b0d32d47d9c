"""Metrics computed here. A module registers its metrics; the catalogue imports all of them."""
