"""LATEC: explanation methods ranked by metrics (doi:10.48550/arXiv.2409.16756)."""
