"""The studies: what they vary, what they share, and what comes out of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pasta import contracts, store, tables
from pasta.config import Params, load_params
from pasta.embedding.stored import Embedded, array_folder, load_embeddings, variants, write_vectors
from pasta.errors import PastaError
from pasta.layout import Group
from pasta.resume import KeptUnits
from pasta.scoring import material as material_module
from pasta.scoring import studies
from pasta.scoring.evaluation import summarise
from pasta.scoring.material import Material, collect, split
from pasta.scoring.settings import SplitParams
from pasta.scoring.studies import (
    KEYS,
    Setup,
    compare,
    coverage,
    describe_centre,
    headline,
    people,
    run_setups,
    settings_of,
    setups,
)
from pasta.seeds import generator
from pasta.studies.ratings import tables as rating_tables
from pasta.studies.ratings.aggregate import Ties, aggregate
from pasta.studies.ratings.settings import QUESTIONS
from tests.conftest import ROOT

DATASET, IMAGES = "catsdogscars", 60
BACKBONES = ("resnet50", "vit_b_16")  # a group each
EMPTY = f"{DATASET}/0001/gradcam/resnet50"


@pytest.fixture(scope="module")
def params() -> Params:
    return load_params(ROOT / "params.yaml")


def votes_of(samples: Sequence[str], ratings: Sequence[Sequence[int]]) -> pd.DataFrame:
    """The same votes on all questions."""
    rows = [
        {"sample_id": sample, "annotator_id": f"a{person}", "question": question, "rating": rating}
        for sample, given in zip(samples, ratings, strict=True)
        for person, rating in enumerate(given)
        for question in QUESTIONS
    ]
    when = pd.Timestamp("2025-01-06", tz="UTC")
    return pd.DataFrame(rows).assign(submitted_at=when, simulated=False)


def random_votes() -> pd.DataFrame:
    """Five votes on every explanation."""
    samples = [f"{DATASET}/{row:04d}/gradcam/{name}" for name in BACKBONES for row in range(IMAGES)]
    return votes_of(samples, generator(0, "votes").integers(1, 6, (len(samples), 5)).tolist())


def embedded(group: Group, settings: Any) -> Embedded:
    """Random vectors that depend on what is shown; one explanation shows nothing."""
    table = store.read(group.explanations / "explanations.parquet", tables.EXPLANATIONS)
    random = generator(0, "vectors", group.key, settings.image, settings.n_top)
    vectors = random.normal(size=(len(table), 9)).astype(np.float32)
    vectors[table["sample_id"] == EMPTY] = np.nan
    about = {"encoder": settings.encoder, "md5": "0", "size": 16, "width": 9}
    return Embedded(table, vectors, about)


@pytest.fixture
def groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Group]:
    """One dataset in two groups."""
    monkeypatch.setattr(material_module, "load_embeddings", embedded)
    found = [Group(f"{DATASET}-{name}", DATASET, tmp_path) for name in BACKBONES]
    for group, backbone in zip(found, BACKBONES, strict=True):
        rows = [
            {
                "sample_id": f"{DATASET}/{row:04d}/gradcam/{backbone}",
                "dataset": DATASET,
                "image_id": f"{row:04d}",
                "method": "gradcam",
                "backbone": backbone,
                "kind": "saliency",
                "predicted": "cat",
                "status": "ok",
                "scale": 1.0,
                "row": row,
            }
            for row in range(IMAGES)
        ]
        file = group.explanations / "explanations.parquet"
        store.write(tables.EXPLANATIONS.frame(rows), file, tables.EXPLANATIONS)
    return found


SAMPLES = [f"{DATASET}/{row:04d}/gradcam/resnet50" for row in range(3)]
RATINGS = [(3, 4, 4, 4, 4), (1, 2, 3, 4, 5), (1, 1, 3, 5, 5)]


@pytest.mark.parametrize(("ties", "modes"), [("smallest", [4, 1, 1]), ("largest", [4, 5, 5])])
def test_scorers_learn_the_labels_of_the_table(
    groups: list[Group], params: Params, ties: Ties, modes: list[int]
) -> None:
    labels = aggregate(votes_of(SAMPLES, RATINGS), ties)
    labels = labels[(labels["question"] != "Q2") | (labels["sample_id"] != SAMPLES[0])]
    material = collect(groups, labels)
    assert material.labels["mode"][:, 0].tolist() == modes
    assert material.labels["mean"][:, 0].tolist() == pytest.approx([3.8, 3, 3])
    assert material.labels["median"][:, 0].tolist() == [4, 3, 3]
    assert np.isnan(material.labels["mode"][0, 1])
    assert material.counts[0, 0].tolist() == [0, 0, 1, 4, 0]
    assert not material.counts[0, 1].any()
    rated, _ = material.rated(params.embedding, "mode")
    assert rated.labels[:, 0].tolist() == [modes[0], modes[2]]


def test_what_could_not_be_embedded_is_left_out_and_rows_say_so(
    groups: list[Group], params: Params
) -> None:
    material = collect(groups, aggregate(votes_of(SAMPLES, RATINGS)))
    rated, rows = material.rated(params.embedding, with_label=False)
    assert rows.tolist() == [0, 2]
    assert rated.counts[1, 0].tolist() == [2, 0, 1, 0, 2]
    labelled, _ = material.rated(params.embedding, with_label=True, questions=("Q3",))
    added = labelled.features.shape[1] - rated.features.shape[1]
    assert added == 3 and labelled.labels.shape == (2, 1)
    assert labelled.features[:, -added:].sum(1).tolist() == [1, 1]


def test_no_votes_and_votes_on_unknown_explanations_are_errors(groups: list[Group]) -> None:
    nobody = aggregate(votes_of(["coco/1/lime/vit_b_16"], [(1,)]))
    with pytest.raises(PastaError, match="no explanation has votes"):
        collect(groups, nobody.iloc[:0])
    with pytest.raises(PastaError, match=r"1 of 1 rated .* the first is coco/1/lime/vit_b_16"):
        collect(groups, nobody)


def test_groups_of_different_encoders_are_not_mixed(
    groups: list[Group], params: Params, monkeypatch: pytest.MonkeyPatch
) -> None:
    def other(group: Group, settings: Any) -> Embedded:
        found = embedded(group, settings)
        return Embedded(found.table, found.vectors, {**found.encoder, "md5": group.key})

    monkeypatch.setattr(material_module, "load_embeddings", other)
    material = collect(groups, aggregate(votes_of(SAMPLES, RATINGS)))
    with pytest.raises(PastaError, match="different encoders: `dvc repro embed`"):
        material.vectors(params.embedding)


# what P1 (section 4.3) and P2 (as released) vary around, or train all encoders with
P1 = {"scorer": "pasta-linear", "by": "image", "label_input": False, "n_top": 20}
P2 = {"scorer": "pasta-mlp", "by": "image_and_technique", "label_input": True, "n_top": 15}


@pytest.mark.parametrize("paper", [P1, P2])
def test_every_table_of_the_papers_is_a_study_around_the_centre_of_the_parameters(
    params: Params, paper: dict[str, Any]
) -> None:
    scoring = params.scoring.model_copy(
        update={
            "label_input": paper["label_input"],
            "split": params.scoring.split.model_copy(update={"by": paper["by"]}),
            "studies": params.scoring.studies.model_copy(update={"scorer": paper["scorer"]}),
        }
    )
    embedding = params.embedding.model_copy(update={"n_top": paper["n_top"]})
    every = setups(embedding, scoring)
    assert {setup.study for setup in every} == {
        "main",
        "split",
        "label type",
        "label input",
        "scoring function",
        "saliency image",
        "n top",
        "concept embedding",
    }
    assert len({(setup.study, setup.level) for setup in every}) == len(every)
    centre = next(setup for setup in every if setup.level == paper["scorer"])
    assert (centre.split, centre.with_label) == (paper["by"], paper["label_input"])
    assert centre.embedding.n_top == paper["n_top"]
    said = dict(describe_centre(embedding, scoring).to_numpy().tolist())
    for study in {setup.study for setup in every} - {"main"}:
        own = [setup for setup in every if setup.study == study]
        [middle] = [setup for setup in own if centre.answers(setup)]
        assert middle.level == said[study]
        assert all(one is other or not one.answers(other) for one in own for other in own)


def test_every_further_encoder_gets_the_networks_that_the_parameters_name(params: Params) -> None:
    encoders = {"clip-vit-l-14-336": "openai", "blip-base": "x", "eva02-l-14-336": "y"}
    more = params.embedding.variants.model_copy(update={"encoders": encoders})
    embedding = params.embedding.model_copy(update={"variants": more})
    scoring = params.scoring.model_copy(update={"further_scorers": ("pasta-mlp",)})
    found = [one for one in setups(embedding, scoring) if one.embedding.encoder in encoders]
    assert [one.level for one in found] == [f"{name}, pasta-mlp" for name in encoders]
    assert {one.scorer for one in found} == {"pasta-mlp"}
    assert [one.embedding.weights for one in found] == list(encoders.values())


def test_handcrafted_features_go_through_ridge_and_through_the_network(params: Params) -> None:
    every = setups(params.embedding, params.scoring)
    rows = {one.scorer for one in every if one.embedding.encoder == "handcrafted"}
    assert rows == {"handcrafted", "handcrafted-pasta"}
    assert settings_of("handcrafted-pasta", params.scoring) == params.scoring.linear


def test_everything_that_a_study_asks_for_is_embedded(params: Params) -> None:
    more = params.embedding.variants.model_copy(update={"encoders": {"siglip": "webli"}})
    settings = params.embedding.model_copy(update={"variants": more})
    ways = variants(settings)
    assert ways[0] == settings
    assert all(ways.count(way) == 1 and way.variants == more for way in ways)
    assert {way.image for way in ways} == {"overlay", "masked", "blur"}
    assert {way.encoder for way in ways} == {settings.encoder, "siglip", "handcrafted"}
    assert all(setup.embedding in ways for setup in setups(settings, params.scoring))


@pytest.fixture
def labels(groups: list[Group], tmp_path: Path) -> Path:
    """Labels of random votes on all explanations."""
    file = tmp_path / "labels.parquet"
    store.write(aggregate(random_votes()), file, rating_tables.LABELS)
    return file


def quick(params: Params, *scorers: str) -> list[Setup]:
    return [
        Setup("main", name, name, params.embedding, "none", with_label=False) for name in scorers
    ]


def silent(words: str, done: int, total: int) -> None:
    assert words and 0 < done <= total


def test_equal_work_is_done_once_and_every_row_is_there(
    params: Params, groups: list[Group], labels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Any] = []

    def run(_material: Material, setup: Setup, _scoring: Any, seeds: tuple[int, ...]) -> Any:
        calls.append((setup, seeds))
        rows = [
            {"question": question, "seed": seed, "measure": "qwk", "estimate": 0.1 * seed}
            for question in setup.questions
            for seed in seeds
        ]
        described = {"scorer": setup.scorer, "encoder": "e", "split": setup.split}
        return pd.DataFrame(rows).assign(n=9, reason="", **described), pd.DataFrame()

    monkeypatch.setenv("PASTA_WORKERS", "1")
    monkeypatch.setattr(studies, "run_setup", run)
    wanted = setups(params.embedding, params.scoring)
    found, _ = run_setups(groups, labels, wanted, params.scoring, silent)
    contracts.check(found, tables.SCORE_RESULTS)
    assert not any(
        one is not other and one[1] == other[1] and one[0].answers(other[0])
        for one in calls
        for other in calls
    )
    number = params.scoring.split.seeds
    for setup in wanted:
        own = found[(found["study"] == setup.study) & (found["level"] == setup.level)]
        assert sorted(set(own["question"])) == sorted(setup.questions)
        assert sorted(own["seed"]) == sorted([*range(number)] * len(setup.questions))


def test_a_killed_stage_goes_on_with_what_is_missing(
    params: Params,
    groups: list[Group],
    labels: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PASTA_WORKERS", "1")
    wanted, kept = quick(params, "ridge", "global-mean"), KeptUnits(tmp_path / "units")
    expected, _ = run_setups(groups, labels, wanted, params.scoring, silent)
    run_setups(groups, labels, wanted[:1], params.scoring, silent, kept)
    done: list[str] = []
    real = studies.run_setup

    def counted(material: Material, setup: Setup, *more: Any) -> Any:
        done.append(setup.level)
        return real(material, setup, *more)

    monkeypatch.setattr(studies, "run_setup", counted)
    found, _ = run_setups(groups, labels, wanted, params.scoring, silent, kept)
    assert set(done) == {"global-mean"}
    pd.testing.assert_frame_equal(found, expected)
    contracts.check(found, tables.SCORE_RESULTS)
    assert set(found["seed"]) == set(range(params.scoring.split.seeds))


@pytest.mark.slow
def test_results_do_not_depend_on_the_number_of_processes(
    params: Params, groups: list[Group], labels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for group, backbone in zip(groups, BACKBONES, strict=True):
        found = embedded(group, params.embedding)
        folder = group.embeddings / array_folder(params.embedding, "saliency")
        write_vectors({f"gradcam.{backbone}": found.vectors}, found.encoder, folder)
    monkeypatch.setattr(material_module, "load_embeddings", load_embeddings)
    wanted = quick(params, "ridge", "pasta-linear")
    monkeypatch.setenv("PASTA_WORKERS", "1")
    alone, _ = run_setups(groups, labels, wanted, params.scoring, silent)
    monkeypatch.setenv("PASTA_WORKERS", "2")
    beside, _ = run_setups(groups, labels, wanted, params.scoring, silent)
    pd.testing.assert_frame_equal(alone, beside)


def test_differences_are_paired_by_seed() -> None:
    rng = np.random.default_rng(0)
    hard = rng.normal(size=10)  # some splits are hard for everybody
    rows = [
        {"study": "main", "level": level, "question": "Q1", "measure": "qwk", "seed": seed}
        | {"estimate": hard[seed] + gain + 0.01 * rng.normal()}
        for level, gain in (("ours", 0.1), ("theirs", 0.0))
        for seed in range(10)
    ]
    found = compare(pd.DataFrame(rows), "ours", ["theirs", "absent"], 0.25)
    assert len(found) == 1 and found["n"].item() == 10
    assert found["low"].item() > 0.08 and found["high"].item() < 0.12 and found["p"].item() < 1e-6


def test_p_is_adjusted_over_all_questions_and_scorers_of_a_measure() -> None:
    rng = np.random.default_rng(1)
    rows = [
        {"study": "main", "level": level, "question": question, "measure": measure, "seed": seed}
        | {"estimate": rng.normal() + (level == "ours")}
        for level in ("ours", "theirs", "another")
        for question in ("Q1", "Q2", "Q3")
        for measure in ("qwk", "mse")
        for seed in range(10)
    ]
    found = compare(pd.DataFrame(rows), "ours", ["theirs", "another"], 0.25)
    own = found[found["measure"] == "qwk"]
    assert len(own) == 6 and own["p_holm"].min() == pytest.approx(6 * own["p"].min())
    plain = compare(pd.DataFrame(rows), "ours", ["theirs", "another"], 0.0)
    assert (found["p"] > plain["p"]).all() and (found["low"] < plain["low"]).all()


def test_a_split_tests_half_of_what_it_does_not_train_on() -> None:
    places = pd.DataFrame({"dataset": "d", "technique": "t", "image": np.arange(400).astype(str)})
    part = split(places, "image", 0.75, 0)
    assert len(part.test) / len(part.train) == pytest.approx(SplitParams(train=0.75).test_to_train)


def test_coverage_counts_both_ends_and_leaves_gaps_out() -> None:
    truth = np.array([1.0, 3.0, 5.0, np.nan])
    low, high = np.array([1.0, 3.5, 2.0, 1.0]), np.array([2.0, 5.0, 5.0, 1.0])
    covered, width = coverage(truth, low, high)
    assert covered[:2] == ("coverage", 2 / 3) and width[:2] == ("width", (1 + 1.5 + 3) / 3)
    assert covered[2:] == width[2:] == (3, "")


def test_people_stand_beside_the_scorers() -> None:
    votes = pd.DataFrame(
        [
            {"sample_id": f"s{sample}", "annotator_id": name, "question": "Q1", "rating": rating}
            for sample, ratings in enumerate([(1, 1, 2), (3, 3, 3), (5, 5, 4), (2, 2, 2)])
            for name, rating in zip("abc", ratings, strict=True)
        ]
    )
    found = people(votes, aggregate(votes.assign(simulated=False)), "smallest")
    contracts.check(found, tables.SCORE_RESULTS)
    assert set(found["scorer"]) == {"people"} and set(found["seed"]) == {0, 1, 2}
    told = headline(summarise(found, KEYS))
    assert told["people (own vote in the mode)"]["Q1"]["mse"] == pytest.approx(0.5 / 3, abs=1e-4)
    loo = told["people (leave one out)"]["Q1"]["mse"]
    assert loo > told["people (own vote in the mode)"]["Q1"]["mse"]
