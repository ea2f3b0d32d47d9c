"""How the numbers of the report on agreement were computed."""

from __future__ import annotations

import pandas as pd

from reports.document import Block, Bullets, Heading
from reports.pages.agreement_lookup import facts
from reports.pages.parts import Tables


def method_section(tables: Tables) -> list[Block]:
    """Scale, intervals, tests and sources."""
    numbers = facts(tables)
    unit = "images" if pd.notna(numbers["images"]) else "samples"
    scale = f"{numbers['scale_low']:.0f} to {numbers['scale_high']:.0f}"
    items = [
        f"The scale is {scale}, whether or not every step was used; weights of kappa depend on it. "
        "A step of the scale is called a star. The mode is the most frequent rating, the lowest "
        "one where several are equally frequent. Where questions are taken together, all votes go "
        "into one kappa, so that differences between questions count as something to agree on.",
        f"Intervals of kappa, alpha and Fleiss' kappa are percentile bootstraps over {unit}, those "
        "of the ICC use the F distribution. They say what would change with other "
        f"{unit} and the same annotators.",
        "Comparisons of groups take annotators as the unit: Welch's t intervals, permutation "
        "tests, Holm's correction among the tests of one measure, two one-sided tests for "
        "equivalence. The rating level of an annotator is adjusted for which samples were seen.",
        "The model of all votes is a proportional-odds model with an effect of every annotator; "
        "these effects are then regressed on sex and age (restricted maximum likelihood, Knapp "
        "and Hartung's interval).",
        "Sources: Cohen 1968 (doi:10.1037/h0026256), Fleiss 1971 (doi:10.1037/h0031619), "
        "Krippendorff 2004 (doi:10.1111/j.1468-2958.2004.tb00738.x), Shrout and Fleiss 1979 "
        "(doi:10.1037/0033-2909.86.2.420), Schuirmann 1987 (doi:10.1007/BF01068419), PASTA "
        "(doi:10.48550/arXiv.2411.02470).",
    ]
    return [Heading("How it was computed"), Bullets(items)]
