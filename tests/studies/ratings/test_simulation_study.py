"""A whole simulated study from the files of a small group."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pasta.config import load_params
from pasta.contracts import check
from pasta.explanations.attribution import shown_maps
from pasta.layout import Group
from pasta.seeds import generator
from pasta.studies.batches import read_batch, write_simulated
from pasta.studies.ratings.protocol import load_protocol
from pasta.studies.ratings.rateable import explained
from pasta.studies.ratings.settings import QUESTIONS
from pasta.studies.ratings.simulation.quality import measure, overlap, spread
from pasta.studies.ratings.simulation.study import simulate, simulated_study
from pasta.studies.ratings.study import first_answers, ratings
from pasta.studies.ratings.tables import ANSWERS
from tests.conftest import ROOT, names
from tests.studies.ratings.simulation_study import parameters, plan_for
from tests.studies.ratings.small_group import IMAGES, SIDE, WORDS, sample, write_group

MAPS = "gradcam/resnet50"
CONCEPTS = "clip_linear/clip_linear"
PROTOCOL = load_protocol("p2")


@pytest.fixture
def group(tmp_path: Path) -> Group:
    """Two techniques on three images; the last map and its lightly perturbed one are empty."""
    maps = np.zeros((9, SIDE, SIDE), np.float16)
    maps[0, :4, :4] = maps[0, 4:, 4:] = 1  # on the head of a cat called cat, and on a wheel
    maps[1, 4:, 4:] = 1  # beside the wheel of a car called cat
    maps[3], maps[4] = maps[0], maps[1]  # light: nothing changes
    maps[6, 4:], maps[7], maps[8] = 1, maps[1], maps[0]
    values = generator(0, "test", "concepts").uniform(-0.5, 0.5, (9, len(WORDS.concepts)))
    values[0] = 0
    values[0, WORDS.concepts.index("head")] = 1
    empty = {(MAPS, 2): "zero", (MAPS, 5): "zero"}
    return write_group(tmp_path, {MAPS: maps, CONCEPTS: values}, empty)


def test_properties_are_measured_on_what_is_stored(group: Group) -> None:
    found = measure(group).set_index("sample_id")
    right, wrong, empty = (found.loc[f"catsdogscars/{image}/{MAPS}"] for image in IMAGES)
    assert (right["overlap"], right["spread"], right["correct"]) == pytest.approx((1 / 3, 0.5, 1))
    assert (right["light"], wrong["light"], wrong["strong"]) == pytest.approx((0, 0, 0))
    assert right["strong"] == pytest.approx(1)
    assert wrong["overlap"] == -1 and wrong["correct"] == 0
    assert np.isnan(empty["overlap"]) and np.isnan(empty["spread"])
    assert (empty["light"], empty["strong"]) == (0, 1)  # nothing stays; nothing becomes something
    concept = found.loc[f"catsdogscars/0000/{CONCEPTS}"]
    assert (concept["overlap"], concept["spread"]) == pytest.approx((1, 1 / len(WORDS.concepts)))


def test_a_study_fulfils_every_contract_and_says_that_it_is_simulated(group: Group) -> None:
    explanations = explained([group])
    plan = plan_for(explanations["sample_id"], 0)
    done = simulate([group], plan, parameters(), seed=0, protocol=PROTOCOL)
    parts = done.frames
    parents = {"explanations": explanations, "annotators": done.frames["annotators"]}
    for name, frame in parts.items():
        check(frame, ANSWERS[name], parents)
        assert frame["simulated"].all()
    assert len(parts["votes"]) == len(plan) * len(QUESTIONS)
    assert len(parts["descriptions"]) == len(plan)
    assert set(parts["rankings"]["question"]) == {"Q7", "Q8", "Q9"}
    assert not parts["boxes"].empty
    assert json.loads(json.dumps(done.truth["effects"]))["raters"]["age_noise"] == 0.1
    assert set(done.truth["raters"]["annotator_id"]) == set(plan["annotator_id"])
    assert list(done.truth["quality"]["sample_id"]) == sorted(explanations["sample_id"])
    assert {"leniency", "noise", "scale"} <= set(done.truth["raters"])


def test_a_map_is_judged_by_the_sign_of_its_method_not_by_its_values(tmp_path: Path) -> None:
    """An all-positive map of LIME, a signed method, is not stretched: people see it as it is."""
    maps = generator(0, "test", "lime").uniform(0.2, 1, (9, SIDE, SIDE)).astype(np.float16)
    group = write_group(tmp_path, {"lime/resnet50": maps, MAPS: maps})
    found = measure(group).set_index("sample_id")
    inside = np.zeros((SIDE, SIDE), bool)
    inside[:4, :4] = True  # the head, which is the only part of a cat in the first image
    for technique, sign in (("lime/resnet50", "signed"), (MAPS, "positive")):
        seen = shown_maps(maps[:1], sign).reshape(1, -1).astype(np.float64)  # type: ignore[arg-type]
        one = found.loc[sample(0, technique)]
        assert one["spread"] == pytest.approx(spread(seen)[0])
        assert one["overlap"] == pytest.approx(overlap(seen, inside.reshape(1, -1))[0])
    spreads = found["spread"]
    assert spreads[sample(0, "lime/resnet50")] > spreads[sample(0, MAPS)] + 0.02


def test_two_groups_of_a_dataset_are_one_study_whoever_measures_them_in_whatever_order(
    tmp_path: Path, group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    maps = generator(1, "test", "maps").uniform(0, 1, (9, SIDE, SIDE)).astype(np.float16)
    second = write_group(tmp_path, {"gradcam/vit_b_16": maps}, key="catsdogscars-vit")
    plan = plan_for(explained([group, second])["sample_id"], 0)
    monkeypatch.setenv("PASTA_WORKERS", "1")
    done = simulate([group, second], plan, parameters(), seed=0, protocol=PROTOCOL)
    monkeypatch.setenv("PASTA_WORKERS", "2")
    shuffled = plan.sample(frac=1, random_state=2)
    turned = simulate([second, group], shuffled, parameters(), seed=0, protocol=PROTOCOL)
    for name, frame in done.frames.items():
        pd.testing.assert_frame_equal(frame, turned.frames[name])
    other = simulate([group, second], plan, parameters(), seed=5, protocol=PROTOCOL)
    assert not done.frames["votes"].equals(other.frames["votes"])
    assert len(done.truth["properties"]) == 9
    assert not done.frames["boxes"].duplicated(["sample_id", "annotator_id", "x0", "y1"]).any()


def test_the_stage_leaves_a_batch_and_what_was_planted_and_no_clock(
    tmp_path: Path, group: Group
) -> None:
    params = load_params(ROOT / "params.yaml")
    settings = params.annotations.model_copy(update={"annotators": 6})
    params = params.model_copy(update={"annotations": settings})
    study, out = ratings(params), [tmp_path / "first", tmp_path / "second"]
    for root in out:
        simulated = simulated_study([group], params)
        write_simulated(study, simulated, root)
        write_simulated(study, simulated, root)  # may be there already
    assert names(out[0] / study.planted_folder) == [
        "expected.parquet",
        "planted.json",
        "properties.parquet",
        "quality.parquet",
        "raters.parquet",
    ]
    for folder in (study.simulated_folder, study.planted_folder):
        for file in (out[0] / folder).iterdir():
            assert file.read_bytes() == (out[1] / folder / file.name).read_bytes(), file.name
    batch = read_batch(study, out[0] / study.simulated_folder)
    assert len(batch["votes"]) == 6 * 5 * len(QUESTIONS)
    imported = settings.model_copy(update={"source": "imported"})
    nothing = first_answers([], params.model_copy(update={"annotations": imported}))
    assert nothing.frames["votes"].empty
