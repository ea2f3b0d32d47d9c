"""Agreement of marks, words and ratings so far, for the dashboard of the study app."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from pasta.studies.app.design import Design
from pasta.studies.app.exporting import Rows
from pasta.studies.app.so_far import ALPHA, Measure, alpha_of_ratings, rounded
from pasta.studies.attention.app_items import CHECK, SCALE
from pasta.studies.attention.masks import Attention, image_attention, word_attention


def measure(tables: Mapping[str, Rows], design: Design) -> list[Measure]:
    """Agreement on the marks in images, on the words of texts, and of the ratings of maps.

    The first two are means over images or texts of the overlap of pairs of people and of
    Krippendorff's alpha, as in the study's report; images of the checks are left out. Who fails a
    check still counts here: the objects of the checks are known to the stage ``votes`` only.
    """
    sizes, lengths = {}, {}
    for item in design.items.values():
        for step in item.steps:
            if step.kind == "regions" and not step.about.get(CHECK):
                field = step.fields["regions"]
                where = np.ones((field["height"], field["width"]), bool)
                sizes[str(step.about["image_id"])] = where
            elif step.kind == "words":
                lengths[str(step.about["text_id"])] = int(step.fields["words"]["count"])
    found = []
    if tables["regions"]:
        marked = image_attention(pd.DataFrame(tables["regions"]), sizes)
        found += _agreement(marked.values(), "marks in images")
    if tables["words"]:
        chosen = word_attention(pd.DataFrame(tables["words"]), lengths)
        found += _agreement(chosen.values(), "words of texts")
    if tables["goodness"]:
        scale = range(1, SCALE + 1)
        rated = "ratings of maps, ordinal, over maps"
        found += alpha_of_ratings(pd.DataFrame(tables["goodness"]), scale, rated)
    return found


def _agreement(found: Iterable[Attention], about: str) -> list[Measure]:
    rows = [row for one in found if (row := one.row())["people"] >= 2]
    if not rows:
        return []
    means = pd.DataFrame(rows)[["iou", "alpha"]].mean()
    overlap = Measure("overlap of two people (IoU)", about, rounded(means["iou"]), len(rows))
    return [overlap, Measure(ALPHA, about, rounded(means["alpha"]), len(rows))]
