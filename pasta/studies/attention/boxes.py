"""Boxes of the rating study (Q0.2: what helps to recognise the class) as regions of attention."""

from __future__ import annotations

import pandas as pd

from pasta.studies.attention.geometry import rectangle
from pasta.studies.attention.tables import PEOPLE

_SIDES = ("x0", "y0", "x1", "y1")


def regions_of_boxes(boxes: pd.DataFrame, size: int) -> dict[str, pd.DataFrame]:
    """The tables regions and people that boxes make.

    A person may have drawn boxes on several explanations of one image: equal ones count once.

    Parameters
    ----------
    boxes
        sample_id (dataset/image/method/backbone), annotator_id, x0, y0, x1, y1 in fractions of the
        image, simulated.
    size
        Pixels of an image's side.

    Examples
    --------
    >>> boxes = pd.DataFrame({"sample_id": ["coco/1/lime/resnet50"], "annotator_id": ["ann"],
    ...                       "x0": [0.0], "y0": [0.5], "x1": [0.5], "y1": [1.0],
    ...                       "simulated": [False]})
    >>> regions_of_boxes(boxes, 10)["regions"][["image_id", "points"]].iloc[0].tolist()
    ['coco/1', 'POLYGON ((5 5, 5 10, 0 10, 0 5, 5 5))']
    """
    image = boxes["sample_id"].astype(str).str.split("/").str[:2].str.join("/")
    known = boxes.assign(image_id=image).sort_values(["image_id", "annotator_id", "sample_id"])
    known = known.drop_duplicates(["image_id", "annotator_id", *_SIDES], ignore_index=True)
    points = [
        rectangle(*(size * side for side in sides))
        for sides in known[list(_SIDES)].itertuples(index=False, name=None)
    ]
    regions = pd.DataFrame(
        {
            "image_id": known["image_id"],
            "annotator_id": known["annotator_id"].astype(str),
            "region": known.groupby(["image_id", "annotator_id"]).cumcount(),
            "shape": "box",
            "points": points,
            "simulated": known["simulated"].astype(bool),
        }
    )
    marked = regions.groupby("annotator_id")["simulated"].any()
    people = PEOPLE.frame(
        {"annotator_id": str(name), "simulated": bool(flag)} for name, flag in marked.items()
    )
    return {"regions": regions, "people": people}
