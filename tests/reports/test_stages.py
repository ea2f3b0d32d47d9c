"""The stages at the end of the pipeline: one for each analysis and each report."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pasta import store, tables
from pasta.config import load_params
from pasta.errors import InputError
from pasta.layout import groups
from pasta.paths import DATA
from pasta.studies.ratings import tables as rating_tables
from pasta.studies.ratings.aggregate import aggregate
from pipelines import analyse
from reports.source import data
from tests.conftest import ROOT


def test_reports_read_the_analyses_that_there_are() -> None:
    assert {f"analyse/{name}" for name in analyse.ANALYSES} == set(data.ANALYSES)


def test_preferences_are_turned_as_the_protocol_of_the_study_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everybody gives more stars on Q5 to the first technique; fewer are better in P2."""
    for name in ("dvc.yaml", "params.yaml"):
        (tmp_path / name).write_text((ROOT / name).read_text())
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    samples = pd.DataFrame(
        [
            (f"coco/{image}/{method}/resnet50", "coco", str(image), method, "resnet50")
            for image in range(20)
            for method in ("gradcam", "lime")
        ],
        columns=["sample_id", "dataset", "image_id", "method", "backbone"],
    )
    votes = [
        (name, f"a{rater}", "Q5", int(np.clip((4 if "gradcam" in name else 2) + shift, 1, 5)))
        for name in samples["sample_id"]
        for rater, shift in enumerate(rng.integers(-1, 2, 4))
    ]
    read = {
        rating_tables.VOTES.name: pd.DataFrame(
            votes, columns=["sample_id", "annotator_id", "question", "rating"]
        ),
        rating_tables.RANKED.name: pd.DataFrame(
            columns=["annotator_id", "question", "item", "position"]
        ).astype({"position": float}),
        rating_tables.LABELS.name: samples[["sample_id"]],
        rating_tables.ANNOTATORS.name: pd.DataFrame({"annotator_id": [f"a{n}" for n in range(4)]}),
        tables.EXPLANATIONS.name: samples.assign(kind="saliency"),
    }
    monkeypatch.setattr(store, "read", lambda path, table: read[table.name])  # noqa: ARG005
    best = {}
    for version in ("p1", "p2"):
        own = load_params(ROOT / "params.yaml")
        asked = own.annotations.model_copy(update={"protocol": version})
        params = own.model_copy(update={"annotations": asked})
        tables_of = analyse.preference(groups(params, tmp_path)[:1], params)
        best[version] = tables_of["ranking"]["technique"].iloc[0]
    assert best == {"p1": "gradcam/resnet50", "p2": "lime/resnet50"}
    assert not (tmp_path / DATA).exists()


def test_votes_on_unknown_samples_are_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("dvc.yaml", "params.yaml"):
        (tmp_path / name).write_text((ROOT / name).read_text())
    monkeypatch.chdir(tmp_path)
    [group, *_] = groups(load_params(), tmp_path)
    folder = tmp_path / analyse.VOTES
    store.write(tables.EXPLANATIONS.frame([]), group.explanations / "explanations.parquet",
                tables.EXPLANATIONS)  # fmt: skip
    vote = {"sample_id": "coco/76/lime/vit_b_16", "annotator_id": "a", "question": "Q1",
            "rating": 3, "simulated": False}  # fmt: skip
    given = rating_tables.VOTES.frame([vote])
    store.write(aggregate(given), folder / "labels.parquet", rating_tables.LABELS)
    with pytest.raises(InputError, match=r"1 rated samples are not known.*coco/76/lime/vit_b_16"):
        analyse.rated_samples([group])
