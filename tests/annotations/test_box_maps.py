"""What boxes and words are compared with: the explanations as they were shown."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis.box_bias import MEASURES, box_measures
from pasta import store, tables
from pasta.annotations.box_maps import box_values, concept_sentences
from tests.conftest import ROOT

SIDE = 4
KINDS = {
    "gradcam": ("resnet50", "saliency"),
    "lime": ("resnet50", "saliency"),
    "clip_linear": ("clip_linear", "concept"),
}


def sample(image: str, method: str) -> str:
    return f"catsdogscars/{image}/{method}/{KINDS[method][0]}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two images with a positive, a signed and a concept explanation; one map shows nothing."""
    rows = []
    for method, (backbone, kind) in KINDS.items():
        for row, image in enumerate(("0001", "0002")):
            status = "zero" if (method, image) == ("gradcam", "0002") else "ok"
            parts = {"dataset": "catsdogscars", "image_id": image, "method": method}
            parts |= {"backbone": backbone, "kind": kind, "predicted": "cat", "status": status}
            rows.append({"sample_id": sample(image, method), **parts, "scale": 1.0, "row": row})
    home = tmp_path / "catsdogscars"
    store.write(tables.EXPLANATIONS.frame(rows), home / "explanations.parquet", tables.EXPLANATIONS)
    random = np.random.default_rng(0)
    positive = random.random((2, SIDE, SIDE)).astype(np.float16)
    positive[1] = 0
    signed = random.uniform(-1, 1, (2, SIDE, SIDE)).astype(np.float16)
    store.write_array(positive, home / "explanations" / "gradcam.resnet50.npy")
    store.write_array(signed, home / "explanations" / "lime.resnet50.npy")
    values = [(0, "wheel", 0.2), (0, "head", -1.0), (0, "door", 0.0)]
    values += [(1, "wheel", 1.0), (1, "head", 0.5), (1, "door", 0.7)]
    frame = pd.DataFrame(values, columns=["row", "concept", "value"])
    attributions = tables.ATTRIBUTIONS.frame(frame.to_dict("records"))  # type: ignore[arg-type]
    file = home / "explanations" / "clip_linear.clip_linear.parquet"
    store.write(attributions, file, tables.ATTRIBUTIONS)
    return home


def boxes(*samples: str) -> pd.DataFrame:
    half = {"x0": 0.0, "y0": 0.0, "x1": 0.5, "y1": 1.0}
    return pd.DataFrame([{"sample_id": one, "annotator_id": "ann", **half} for one in samples])


def test_measures_are_those_of_the_maps_as_people_saw_them(folder: Path) -> None:
    from pasta.explanations.attribution import shown_maps

    drawn = boxes(*(sample(image, method) for method in KINDS for image in ("0001", "0002")))
    found = box_values([folder], drawn)
    assert found["sample_id"].tolist() == [
        sample("0001", "gradcam"),
        sample("0001", "lime"),
        sample("0002", "lime"),
    ], "no map that shows nothing, and no concepts"
    files = folder / "explanations"
    positive = shown_maps(np.load(files / "gradcam.resnet50.npy"), "positive")
    signed = shown_maps(np.load(files / "lime.resnet50.npy"), "signed")
    maps = np.stack([positive[0], signed[0], signed[1]])
    expected = box_measures(maps, found["sample_id"].tolist(), drawn)
    assert np.allclose(found[list(MEASURES)], expected[list(MEASURES)], atol=1e-5)
    left = float(signed[0][:, :2].sum())
    assert found["sum_pos"].iloc[1] == pytest.approx(left, abs=1e-5)


def test_without_boxes_on_maps_there_are_no_values(folder: Path) -> None:
    assert box_values([folder], boxes(sample("0001", "clip_linear"))).empty
    assert box_values([], boxes(sample("0001", "lime"))).empty


def test_sentences_name_the_strongest_concepts_first(folder: Path) -> None:
    wanted = [sample("0001", "clip_linear"), sample("0002", "clip_linear"), sample("0001", "lime")]
    found = concept_sentences([folder], wanted, 2).set_index("sample_id")["sentence"]
    assert found.to_dict() == {wanted[0]: "head, wheel", wanted[1]: "wheel, door"}
    assert concept_sentences([folder], wanted[:1], 15)["sentence"].tolist() == ["head, wheel"]


def test_box_values_need_no_torch() -> None:
    script = "import sys, pasta.annotations.box_maps; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=False).returncode == 0
