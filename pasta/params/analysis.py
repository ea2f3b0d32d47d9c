"""How the statistics of the reports are computed."""

from __future__ import annotations

from pasta.params.base import Count, Section


class AnalysisParams(Section):
    """Intervals and tests by resampling; more draws take longer and wobble less."""

    resamples: Count  # of a bootstrap
    permutations: Count  # of a permutation test
