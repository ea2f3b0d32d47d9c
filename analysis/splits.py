"""Two learners on the same random splits of one data set: which does better?"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr, stdtrit

from analysis.resampling import LEVEL


def corrected_t_test(differences: ArrayLike, test_to_train: float) -> dict[str, float] | None:
    r"""Test that two learners do equally well, from their differences on random splits.

    Random splits share most of their data, so that the differences are not independent, and a
    plain t test finds far too much. The corrected resampled t test adds what they have in common:

    .. math:: t = \frac{\bar d}{\sqrt{(1 / J + n_2 / n_1) \, s^2}}

    with :math:`J - 1` degrees of freedom for :math:`J` splits with :math:`n_1` units for training
    and :math:`n_2` for testing. The correction stays however many splits there are.

    Parameters
    ----------
    differences
        One for each split.
    test_to_train
        :math:`n_2 / n_1`, counted in the units that are dealt to the parts (images, if an image
        is in one part only).

    Returns
    -------
    dict or None
        n, estimate, low, high (95 %) and p; None for fewer than two splits, or equal differences.

    References
    ----------
    Nadeau & Bengio 2003, doi:10.1023/A:1024068626366

    Examples
    --------
    t = 0.2 / sqrt((1 / 3 + 1 / 4) * 0.01) = 2.62, with two degrees of freedom:

    >>> found = corrected_t_test([0.1, 0.2, 0.3], test_to_train=0.25)
    >>> round(found["estimate"], 3), round(found["p"], 3)
    (0.2, 0.12)
    """
    values = np.asarray(differences, np.float64)
    if len(values) < 2 or np.ptp(values) == 0:
        return None
    mean, freedom = float(values.mean()), len(values) - 1
    error = float(np.sqrt((1 / len(values) + test_to_train) * values.var(ddof=1)))
    reach = float(stdtrit(freedom, (1 + LEVEL) / 2)) * error
    p = float(2 * stdtr(freedom, -abs(mean) / error))
    return {"n": len(values), "estimate": mean, "low": mean - reach, "high": mean + reach, "p": p}
