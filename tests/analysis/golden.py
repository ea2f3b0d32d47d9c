"""Data of the examples whose results are published."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ratings = NDArray[np.float64]

# SAS/STAT User's Guide, PROC FREQ, Getting Started, "Agreement Study": two dermatologists rate the
# skin condition of 88 patients as terrible, poor, marginal or clear.
SKIN = np.array([[10, 4, 1, 0], [5, 10, 12, 2], [2, 4, 12, 5], [0, 2, 6, 13]])

# A table with a SAS printout in statsmodels' tests (stats/tests/test_inter_rater.py).
SAS_TABLE = np.array([[0, 4, 1], [0, 8, 0], [0, 1, 5]])

# R package irr, data set "anxiety", raters 2 and 3: 20 people on a scale from 1 to 6, of which
# nobody uses 5.
ANXIETY = np.array(
    [
        [3, 6, 4, 6, 2, 4, 2, 4, 3, 3, 2, 3, 3, 3, 2, 2, 1, 3, 3, 4],
        [2, 1, 4, 4, 3, 2, 1, 6, 1, 1, 1, 2, 3, 3, 1, 1, 3, 3, 2, 2],
    ]
)

# Fleiss 1971, doi:10.1037/h0031619, Table 1: how many of 6 psychiatrists gave each of 5 diagnoses.
DIAGNOSES = """
    00060 03003 01401 00006 03030 20400 00402 20310 20040 00006
    10050 11040 03300 10050 02031 00501 30012 51000 02040 10203
    00006 01050 02013 20040 10041 05010 40002 02040 10500 00006
"""

# Shrout & Fleiss 1979, doi:10.1037/0033-2909.86.2.420, Table 2: six targets, four judges.
JUDGES = np.array(
    [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], float
)

# Krippendorff 2011, "Computing Krippendorff's alpha-reliability", example C: four observers, twelve
# units, five values, missing data.
_N = np.nan
OBSERVERS = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, _N, _N, _N],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, _N, 3],
        [_N, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, _N],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, _N],
    ]
)

# Hollander & Wolfe 1973, p. 140: 22 players round first base in three ways (R, ?friedman.test).
ROUNDING_TIMES = np.fromstring(
    """
    5.40 5.50 5.55  5.85 5.70 5.75  5.20 5.60 5.50  5.55 5.50 5.40  5.90 5.85 5.70
    5.45 5.55 5.60  5.40 5.40 5.35  5.45 5.50 5.35  5.25 5.15 5.00  5.85 5.80 5.70
    5.25 5.20 5.10  5.65 5.55 5.45  5.60 5.35 5.45  5.05 5.00 4.95  5.50 5.50 5.40
    5.45 5.55 5.50  5.55 5.55 5.35  5.45 5.50 5.55  5.50 5.45 5.25  5.65 5.60 5.40
    5.70 5.65 5.55  6.30 6.30 6.25
    """,
    sep=" ",
).reshape(22, 3)


def pairs_of(table: NDArray[np.int_]) -> tuple[Ratings, Ratings]:
    """The two columns of ratings, from 1, that make a contingency table."""
    first, second = np.indices(table.shape) + 1
    times = table.ravel()
    return np.repeat(first.ravel(), times), np.repeat(second.ravel(), times)


def diagnoses() -> Ratings:
    """Fleiss' counts as ratings, 30 patients x 6 ratings."""
    counts = [[int(digit) for digit in patient] for patient in DIAGNOSES.split()]
    return np.array([np.repeat(np.arange(1, 6), patient) for patient in counts], float)
