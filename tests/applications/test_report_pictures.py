"""Pictures of the applications: sheets, and the picture before and after."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from pasta.applications.report_pictures import (
    _corners,
    _first,
    before_after,
    describe_change,
    save_picture,
    steering_pictures,
    tuning_pictures,
)
from pasta.applications.sheets import Layout, Line, Tile, label, number, sheet
from pasta.applications.steering import COLUMNS, Steered, curve
from pasta.applications.tuning import HELD_OUT, VERDICT_COLUMNS, Pair, Tuned
from pasta.errors import PastaError
from pasta.explanations.catalog import technique


def steered(gain: float, images: int = 6) -> Steered:
    """Maps of 8 x 8 pixels; at lambda 1 the quality is higher by ``gain``."""
    rows = [
        ("coco", str(image), f"coco/{image}", "dog", weight, 2 + weight, True, 0.1, "ok",
         gain * weight, "ok", False)
        for image in range(images)
        for weight in (0.0, 1.0)
    ]  # fmt: skip
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    random = np.random.default_rng(0)
    return Steered(
        {"steered": table, "curve": curve(table, 50, 0)},
        random.integers(0, 255, (images, 8, 8, 3), dtype=np.uint8),
        random.random((images, 2, 8, 8)).astype(np.float16),
    )


def tuned(gain: float, low: float) -> Tuned:
    rows = [
        ("gradcam/resnet50", "layer b", "layer a", HELD_OUT, measure, 9, 1.0, 0.0, gain, low,
         gain + 1, 9, 0, 0, "")
        for measure in ("score", "quality")
    ]  # fmt: skip
    images = pd.DataFrame(
        {"candidate": ["layer a", "layer b"], "part": HELD_OUT, "dataset": "coco", "image_id": "1",
         "quality": [-1.0, gain - 1]}
    )  # fmt: skip
    flat, heat = np.zeros((8, 8, 3), np.uint8), np.eye(8, dtype=np.float32)
    return Tuned(
        technique("gradcam/resnet50"), {"layer": "a"}, {"layer": "b"}, pd.DataFrame(),
        pd.DataFrame(rows, columns=list(VERDICT_COLUMNS)), images, [],
        [Pair("coco/1", "dog", False, flat, heat, heat.T, (2.0, 3.0))],
    )  # fmt: skip


def test_a_sheet_is_as_wide_as_its_widest_row_and_shows_every_tile() -> None:
    layout = Layout(4, 400, 12)
    red, blue = (np.full((layout.tile, layout.tile, 3), colour, np.uint8) for colour in
                 ([255, 0, 0], [0, 0, 255]))  # fmt: skip
    lines = [Line("one", [Tile(red, "a")]), Line("", [Tile(red, "a long caption " * 5),
                                                      Tile(blue, "b")])]  # fmt: skip
    found = sheet(lines, layout, "note")
    assert found.shape[1] == 2 * layout.tile + layout.gap
    assert (found == [255, 0, 0]).all(axis=2).sum() == 2 * layout.tile**2
    assert (found == [0, 0, 255]).all(axis=2).sum() == layout.tile**2
    with pytest.raises(PastaError, match="nothing to show"):
        sheet([Line("empty", [])], layout)


def test_numbers_of_captions() -> None:
    assert [number(-0.126), number(-0.001), number(float("nan")), number(0.5, 1, "+")] == [
        "−0.13", "0.00", "none", "+0.5"
    ]  # fmt: skip
    assert label("home_or_hotel") == "“home or hotel”"


def test_corners_are_split_at_the_medians() -> None:
    own = pd.DataFrame(
        {"faithfulness": [0.4, 0.3, 0.1, 0.2], "good": [0.9, 0.1, 0.8, 0.2], "name": list("abcd")}
    )
    assert {name: one["name"] for name, one in _corners(own)} == {
        "both": "a", "faithful only": "b", "plausible only": "c", "neither": "d"
    }  # fmt: skip


def test_the_first_held_out_image_of_each_dataset_is_shown() -> None:
    rows = pd.DataFrame(
        {"dataset": ["a", "a", "a", "b"], "image": ["a/1", "a/3", "a/2", "b/1"],
         "held_out": [False, True, True, False]}
    )  # fmt: skip
    assert _first(rows)["image"].tolist() == ["a/2", "b/1"]


def test_steering_gets_a_sheet_for_every_four_images() -> None:
    drawn = steering_pictures(steered(1.0, 6))
    assert set(drawn) == {"steering-0", "steering-1"}
    first, second = drawn["steering-0"], drawn["steering-1"]
    assert first.shape[1] == second.shape[1] and first.shape[0] > 1.8 * second.shape[0]


def test_tuning_is_shown_where_something_else_than_the_default_has_won() -> None:
    study = tuned(1.0, 0.1)
    assert set(tuning_pictures([study])) == {"tuning-gradcam-resnet50"}
    assert not tuning_pictures([replace(study, winner=study.default)])


def test_what_people_clearly_gain_from_comes_before_a_larger_but_doubtful_gain() -> None:
    found = steered(1.0)
    sure = found.tables["curve"]
    doubtful = sure[sure["weight"] == 1.0].assign(weight=0.5, estimate=9.0, low=-1.0)
    both = {**found.tables, "curve": pd.concat([sure, doubtful])}
    best, alone = before_after(replace(found, tables=both)), before_after(found)
    assert best is not None and alone is not None and np.array_equal(best, alone)


def test_no_picture_where_nobody_gains(tmp_path: Path) -> None:
    drawn = before_after(steered(1.0))
    assert drawn is not None
    with Image.open(save_picture(drawn, tmp_path / "a.jpg")) as opened:
        assert opened.size[0] <= 900
    assert before_after(steered(-1.0)) is None  # though the score rises


def test_the_note_says_who_judges() -> None:
    differences = tuned(0.5, -0.1).verdict
    assert "true quality +0.50 [−0.10, +1.50]" in describe_change(differences, judged=True)
    assert "simulated raters" in describe_change(differences, judged=True)
    assert "only the score judges" in describe_change(differences, judged=False)
