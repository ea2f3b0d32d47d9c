"""One style for all figures: colour-blind safe, direct labels, no chart junk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
from cycler import cycler

# Okabe & Ito's palette without its yellow, which is too pale on paper
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
INK, FAINT = "#333333", "#D9D9D9"

_SETTINGS: Any = {  # matplotlib's stubs want literal keys
    "figure.dpi": 110,
    "font.size": 9,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.prop_cycle": cycler(color=PALETTE),
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "svg.hashsalt": "pasta",  # two builds of a figure are byte-equal
    "svg.fonttype": "none",
    "text.parse_math": False,  # names may hold a dollar
}


@contextmanager
def style() -> Iterator[None]:
    """Draw inside this block; nothing global is left changed."""
    with mpl.rc_context(_SETTINGS):
        yield
