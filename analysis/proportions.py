"""Intervals that follow from the binomial distribution."""

from __future__ import annotations

import math

from scipy.special import bdtrik, ndtri


def wilson_interval(count: float, n: int, level: float = 0.95) -> tuple[float, float]:
    r"""Wilson's interval of a share; NaN without observations.

    .. math:: \frac{2 n p + z^2 \pm z \sqrt{4 n p (1 - p) + z^2}}{2 (n + z^2)}

    References
    ----------
    Wilson 1927, doi:10.1080/01621459.1927.10502953
    """
    if not n:
        return math.nan, math.nan
    z = float(ndtri((1 + level) / 2))
    share = count / n
    centre = (2 * n * share + z**2) / (2 * (n + z**2))
    half = z / (2 * (n + z**2)) * math.sqrt(4 * n * share * (1 - share) + z**2)
    return 0.0 if count == 0 else centre - half, 1.0 if count == n else centre + half


def coin_quantile(probability: float, n: int) -> int:
    """The least number of heads in ``n`` throws of a coin that has this probability up to it."""
    return math.ceil(float(bdtrik(probability, n, 0.5)) - 1e-9)  # it may be whole but for rounding
