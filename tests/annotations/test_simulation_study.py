"""A whole simulated study from the files of a small dataset."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pasta import store, tables
from pasta.annotations.records import PARTS
from pasta.annotations.simulation.properties import measure
from pasta.annotations.simulation.study import simulate
from pasta.contracts import Table
from pasta.datasets.vocabulary import vocabulary
from pasta.seeds import generator
from pasta.tables import QUESTIONS
from pasta.validation import check
from tests.annotations.simulation_study import parameters, plan_for

SIDE, IMAGES = 8, ("0000", "0001", "0002")
LABELS = ("cat", "car", "cat")
WORDS = vocabulary("catsdogscars")
SEEN = ("head", "wheel", "head")  # the upper left quarter of each image
MAPS = "gradcam/resnet50"
CONCEPTS = "clip_linear/clip_linear"


def image_row(image: str, **columns: Any) -> dict[str, Any]:
    return {"dataset": "catsdogscars", "image_id": image, **columns}


def dataset_tables() -> dict[str, tuple[Table, list[dict[str, Any]]]]:
    box = {"x0": 0.0, "y0": 0.0, "x1": 0.5, "y1": 0.5}
    nowhere = dict.fromkeys(box, np.nan)
    images = [
        image_row(
            image, source="drawn", split="test", label=label, width=SIDE, height=SIDE, row=row
        )
        for row, (image, label) in enumerate(zip(IMAGES, LABELS, strict=True))
    ]
    regions = [
        image_row(image, concept=seen, instance=0, **box)
        for image, seen in zip(IMAGES, SEEN, strict=True)
    ]
    concepts = [
        image_row(
            image,
            concept=concept,
            present=concept == seen,
            **(box if concept == seen else nowhere),
            instances=int(concept == seen),
            share=0.25 * (concept == seen),
            value=WORDS.value(concept),
        )
        for image, seen in zip(IMAGES, SEEN, strict=True)
        for concept in WORDS.concepts
    ]
    explanations, perturbed = [], []
    for technique, kind in ((MAPS, "saliency"), (CONCEPTS, "concept")):
        method, backbone = technique.split("/")
        for row, image in enumerate(IMAGES):
            sample = f"catsdogscars/{image}/{technique}"
            empty = technique == MAPS and row == 2
            about = {"predicted": "cat", "status": "zero" if empty else "ok", "scale": 1.0}
            explanations.append(
                image_row(
                    image,
                    sample_id=sample,
                    method=method,
                    backbone=backbone,
                    kind=kind,
                    row=row,
                    **about,
                )
            )
            perturbed += [
                {
                    "sample_id": sample,
                    "strength": strength,
                    "perturbation": "masking",
                    "magnitude": 0.5,
                    "changed": False,
                    "row": 3 * place + row,
                    **about,
                    "status": "zero" if empty and strength == "light" else "ok",
                }
                for place, strength in enumerate(("light", "strong"), start=1)
            ]
    return {
        "images": (tables.IMAGES, images),
        "regions": (tables.REGIONS, regions),
        "concepts": (tables.CONCEPTS, concepts),
        "explanations": (tables.EXPLANATIONS, explanations),
        "perturbed": (tables.PERTURBED, perturbed),
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two techniques on three images; the last map and its lightly perturbed one are empty."""
    target = tmp_path / "catsdogscars"
    for name, (table, rows) in dataset_tables().items():
        store.write(table.frame(rows), target / f"{name}.parquet", table)
    parts = np.zeros((3, SIDE, SIDE), np.uint8)
    for row, seen in enumerate(SEEN):
        parts[row, :4, :4] = WORDS.value(seen)
    parts[0, 4:, 4:] = WORDS.value("wheel")  # no part of a cat
    store.write_array(parts, target / "parts.npy")
    store.write_array(np.zeros((3, SIDE, SIDE, 3), np.uint8), target / "images.npy")
    maps = np.zeros((9, SIDE, SIDE), np.float16)
    maps[0, :4, :4] = maps[0, 4:, 4:] = 1  # on the head of a cat called cat, and on a wheel
    maps[1, 4:, 4:] = 1  # beside the wheel of a car called cat
    maps[3], maps[4] = maps[0], maps[1]  # light: nothing changes
    maps[6, 4:], maps[7], maps[8] = 1, maps[1], maps[0]
    store.write_array(maps, target / "explanations" / "gradcam.resnet50.npy")
    values = generator(0, "test", "concepts").uniform(-0.5, 0.5, (9, len(WORDS.concepts)))
    values[0] = 0
    values[0, WORDS.concepts.index("head")] = 1
    places, names = np.indices(values.shape)
    attributions = pd.DataFrame(
        {
            "row": places.ravel(),
            "concept": np.array(WORDS.concepts, dtype=object)[names.ravel()],
            "value": values.ravel(),
        }
    ).astype({"concept": "str"})
    file = target / "explanations" / "clip_linear.clip_linear.parquet"
    store.write(attributions, file, tables.ATTRIBUTIONS)
    return target


def test_properties_are_measured_on_what_is_stored(folder: Path) -> None:
    found = measure(folder).set_index("sample_id")
    right, wrong, empty = (found.loc[f"catsdogscars/{image}/{MAPS}"] for image in IMAGES)
    assert (right["overlap"], right["spread"], right["correct"]) == pytest.approx((1 / 3, 0.5, 1))
    assert (right["light"], wrong["light"], wrong["strong"]) == pytest.approx((0, 0, 0))
    assert right["strong"] == pytest.approx(1)
    assert wrong["overlap"] == -1 and wrong["correct"] == 0
    assert np.isnan(empty["overlap"]) and np.isnan(empty["spread"])
    assert (empty["light"], empty["strong"]) == (0, 1)  # nothing stays; nothing becomes something
    concept = found.loc[f"catsdogscars/0000/{CONCEPTS}"]
    assert (concept["overlap"], concept["spread"]) == pytest.approx((1, 1 / len(WORDS.concepts)))


def test_a_study_fulfils_every_contract_and_says_that_it_is_simulated(folder: Path) -> None:
    explanations = store.read(folder / "explanations.parquet", tables.EXPLANATIONS)
    plan = plan_for(explanations["sample_id"], 0)
    done = simulate([folder], plan, parameters(), seed=0)
    parts = done.annotations.parts()
    parents = {"explanations": explanations, "annotators": done.annotations.annotators}
    for name, frame in parts.items():
        check(frame, PARTS[name], parents)
        assert name == "shown" or frame["simulated"].all()
    assert len(parts["votes"]) == len(plan) * len(QUESTIONS)
    assert len(parts["descriptions"]) == len(plan)
    assert set(parts["rankings"]["question"]) == {"Q7", "Q8", "Q9"}
    assert not parts["boxes"].empty and parts["shown"].empty


def test_the_truth_holds_effects_raters_and_qualities(folder: Path) -> None:
    explanations = store.read(folder / "explanations.parquet", tables.EXPLANATIONS)
    plan = plan_for(explanations["sample_id"], 0)
    truth = simulate([folder], plan, parameters(), seed=0).truth
    assert json.loads(json.dumps(truth["effects"]))["raters"]["age_noise"] == 0.1
    assert set(truth["raters"]["annotator_id"]) == set(plan["annotator_id"])
    assert list(truth["quality"]["sample_id"]) == sorted(explanations["sample_id"])
    assert {"leniency", "noise", "scale"} <= set(truth["raters"])


def test_a_study_does_not_depend_on_the_order_of_its_plan(folder: Path) -> None:
    explanations = store.read(folder / "explanations.parquet", tables.EXPLANATIONS)
    plan = plan_for(explanations["sample_id"], 0)
    first = simulate([folder], plan, parameters(), seed=4)
    mixed = simulate([folder], plan.sample(frac=1, random_state=2), parameters(), seed=4)
    other = simulate([folder], plan, parameters(), seed=5)
    for name, frame in first.annotations.parts().items():
        pd.testing.assert_frame_equal(frame, mixed.annotations.parts()[name])
    assert not first.annotations.votes.equals(other.annotations.votes)


def test_simulating_needs_no_torch() -> None:
    code = "import sys, pasta.annotations.simulation.study; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
