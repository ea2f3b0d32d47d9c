"""One stage for each application: what it writes, and the run that remembers it."""

from __future__ import annotations

from pathlib import Path

import mlflow
import numpy as np
import pandas as pd
import pytest

from pasta import store
from pasta.applications import run as module
from pasta.applications.mixture import ELSEWHERE, MEAN
from pasta.applications.run import (
    APPLICATIONS,
    README,
    Outcome,
    Project,
    application_metrics,
    run_application,
)
from pasta.applications.settings import ApplicationsParams
from pasta.applications.simulated_judge import planted_folder
from pasta.config import load_params
from pasta.errors import PastaError
from pasta.layout import Group
from pasta.studies.ratings.aggregate import aggregate
from pasta.studies.ratings.tables import LABELS, VOTES
from pasta.tracking import Run


def project(data: Path) -> Project:
    params = load_params()
    (data / "score/public").mkdir(parents=True)
    (data / "score/public/scorer.json").write_text("{}")
    return Project([Group("coco", "coco", data)], params, data)


def test_every_application_has_a_section_of_the_parameters() -> None:
    assert set(APPLICATIONS) == {"mixture", "steering", "backbones", "tuning"}
    assert set(APPLICATIONS) <= set(ApplicationsParams.model_fields)


def test_tables_and_pictures_are_written_in_one_tracked_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    pixels = np.zeros((8, 8, 3), np.uint8)

    def work(_project: Project, _run: Run) -> Outcome:
        curve = pd.DataFrame({"weight": [0.0, 1.0], "measure": "score", "estimate": [0.0, 0.5]})
        return {"curve": curve}, {"steering-0": pixels, README: pixels}

    monkeypatch.setitem(module.APPLICATIONS, "steering", ("steering RISE", work))
    out = tmp_path / "out"
    run_application("steering", project(tmp_path / "data"), out)
    written = [file.relative_to(out).as_posix() for file in out.rglob("*") if file.is_file()]
    assert sorted(written) == ["curve.csv", "pictures/readme.jpg", "pictures/steering-0.jpg"]
    [run] = mlflow.search_runs(experiment_names=["applications"], output_format="list")
    assert run.info.run_name == "steering RISE" and run.data.params["masks"] == "1000"
    assert any(tag.endswith("score/public/scorer.json") for tag in run.data.tags)
    assert run.data.metrics["lambda 1.0.score_difference"] == 0.5
    tags = run.data.tags
    assert (tags["study"], tags["dataset"], tags["scorer"]) == ("ratings", "coco", "ordinal")
    assert tags["mlflow.note.content"].startswith("RISE whose masks")


def test_applications_are_judged_by_few_differences() -> None:
    rows = pd.DataFrame(
        [("cross-fitted", against, "score", 0.1) for against in (ELSEWHERE, MEAN, "lime/resnet50")],
        columns=["images", "against", "measure", "estimate"],
    )
    found = application_metrics("mixture", {"comparison": rows})
    assert set(found) == {
        f"cross-fitted.{against}.score_difference" for against in (ELSEWHERE, MEAN)
    }
    trends = pd.DataFrame({"group": ["all methods", "lime"], "family": "activation"})
    towers = application_metrics(
        "backbones", {"trends": trends.assign(measure="score", estimate=[0.2, np.nan])}
    )
    assert towers == {"activation.score_difference": 0.2}


def test_an_unknown_application_is_named(tmp_path: Path) -> None:
    with pytest.raises(PastaError, match=r"no application 'mixtures'.*'mixture'"):
        run_application("mixtures", project(tmp_path), tmp_path)


def test_what_was_planted_judges_nothing_once_people_have_voted(tmp_path: Path) -> None:
    vote = {"sample_id": "coco/1/lime/vit", "annotator_id": "a", "question": "Q1", "rating": 3}
    for simulated in (True, False):
        votes = VOTES.frame([{**vote, "simulated": simulated}])
        store.write(aggregate(votes), tmp_path / "votes/ratings/labels.parquet", LABELS)
        expected = tmp_path / "simulate/ratings/planted" if simulated else None
        assert planted_folder(tmp_path) == expected
    assert planted_folder(tmp_path / "nowhere") is None
