"""The studies: what they vary, what they share, and what comes out of them."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pasta import tables, validation
from pasta.embedding.embed import embed_dataset
from pasta.embedding.stored import FOLDER
from pasta.errors import PastaError
from pasta.params import Params, load_params
from pasta.scoring import running
from pasta.scoring.material import Material, collect
from pasta.scoring.reporting import headline, people, summary
from pasta.scoring.running import at_work, compare, coverage, run_setups
from pasta.scoring.studies import Setup, embeddings, setups
from pasta.tables import QUESTIONS, STARS
from tests.conftest import ROOT
from tests.embedding.small import NUMBER, Counting, settings, silent, write_dataset


@pytest.fixture(scope="module")
def params() -> Params:
    return load_params(ROOT / "pipelines/profiles/demo.yaml")


def labels_of(samples: list[str], rows: Sequence[tuple[int, ...]]) -> pd.DataFrame:
    """Labels with given counts of stars, the same for all questions."""
    frame = pd.DataFrame(
        [
            {
                "sample_id": sample,
                "question": question,
                "mode": 1 + int(np.argmax(counts)),
                "mean": float(np.average(STARS, weights=counts)),
                "median": 3.0,
                "n_votes": sum(counts),
                **{f"votes_{star}": counts[star - 1] for star in STARS},
                "entropy": 0.0,
                "simulated": False,
            }
            for sample, counts in zip(samples, rows, strict=True)
            for question in QUESTIONS
        ]
    )
    validation.check(frame, tables.LABELS)
    return frame


@pytest.fixture
def material(tmp_path: Path) -> Material:
    """Some of the small dataset's explanations, rated; one of them cannot be embedded."""
    folder = write_dataset(tmp_path / "catsdogscars", "catsdogscars/0001/gradcam/resnet50")
    embed_dataset(folder, Counting(), settings(), folder / FOLDER, silent)
    samples = [f"catsdogscars/{row:04d}/gradcam/resnet50" for row in range(NUMBER)]
    rows = [(0, 0, 1, 4, 0), (1, 1, 1, 1, 1), (2, 2, 1, 0, 0), (0, 0, 0, 0, 5)]
    return collect([folder], labels_of(samples[: len(rows)], rows))


def test_labels_are_aggregated_as_asked_and_gaps_stay_gaps(material: Material) -> None:
    assert material.aggregates["mode"][:, 0].tolist() == [4, 1, 1, 5]
    assert material.aggregates["mean"][:, 0].tolist() == pytest.approx([3.8, 3.0, 1.8, 5.0])
    assert material.aggregates["median"][:, 0].tolist() == [4, 3, 2, 5]
    silenced = Material(material.samples, 0 * material.counts, material.folders)
    assert np.isnan(silenced.aggregates["mode"]).all()


def test_what_could_not_be_embedded_is_left_out_and_rows_say_so(material: Material) -> None:
    rated, rows = material.rated(settings(), with_label=False)
    assert rows.tolist() == [0, 2, 3]
    assert rated.labels[:, 0].tolist() == [4, 1, 5]
    assert rated.counts[1, 0].tolist() == [2, 2, 1, 0, 0]
    labelled, _ = material.rated(settings(), with_label=True, questions=("Q3",))
    added = labelled.features.shape[1] - rated.features.shape[1]
    assert added == 26 and labelled.labels.shape == (3, 1)
    assert labelled.features[:, -added:].sum(1).tolist() == [1, 1, 1]


def test_without_votes_there_is_nothing_to_learn_from(material: Material) -> None:
    nobody = labels_of(["coco/1/lime/vit_b_16"], [(1, 0, 0, 0, 0)])
    with pytest.raises(PastaError, match="no explanation has votes"):
        collect(list(material.folders), nobody)


def test_every_table_of_the_papers_is_a_study_around_one_centre(params: Params) -> None:
    every = setups(params.embedding, params.scoring)
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
    centre = next(setup for setup in every if setup.level == "pasta-linear")
    for study in {setup.study for setup in every} - {"main"}:
        keys = [setup.same_work() for setup in every if setup.study == study]
        assert keys.count(centre.same_work()) == 1, study
        assert len(set(keys)) == len(keys)
    ways = embeddings(params.embedding, params.scoring)
    assert ways[0] == params.embedding and len(set(ways)) == len(ways)
    assert {way.image for way in ways} == {"overlay", "masked", "blur"}


def fake_setup(calls: list[Any]) -> Any:
    def run(_material: Any, setup: Any, _scoring: Any, seeds: range) -> pd.DataFrame:
        calls.append((setup.same_work(), seeds))
        rows = [
            {"question": question, "seed": seed, "measure": "qwk", "estimate": 0.1 * seed}
            for question in setup.questions
            for seed in seeds
        ]
        described = {"scorer": setup.scorer, "encoder": "e", "split": setup.split}
        return pd.DataFrame(rows).assign(n=9, reason="", **described)

    return run


def test_equal_work_is_done_once_and_every_row_is_there(
    params: Params, material: Material, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Any] = []
    monkeypatch.setattr(running, "run_setup", fake_setup(calls))
    wanted = setups(params.embedding, params.scoring)
    found = run_setups(material, wanted, params.scoring, silent)
    validation.check(found, tables.SCORE_RESULTS)
    assert len(set(calls)) == len(calls)
    assert len({work for work, _ in calls}) == len({one.same_work() for one in wanted})
    number = params.scoring.split.seeds
    for setup in wanted:
        own = found[(found["study"] == setup.study) & (found["level"] == setup.level)]
        assert sorted(set(own["question"])) == sorted(setup.questions)
        assert sorted(own["seed"]) == sorted([*range(number)] * len(setup.questions))


class Planted(Material):
    """Vectors that need no files."""

    def vectors(self, settings: Any) -> Any:  # noqa: ARG002
        return np.random.default_rng(7).normal(size=(len(self.samples), 9)).astype(np.float32)


@pytest.fixture
def planted() -> Planted:
    number = 120
    names = [f"sample{row}" for row in range(number)]
    plain = {"dataset": "catsdogscars", "technique": "gradcam", "kind": "saliency"}
    samples = pd.DataFrame({"sample_id": names, "image": names, "predicted": "cat"})
    votes = np.random.default_rng(8).integers(1, 6, (number, len(QUESTIONS), 1, 5))
    counts = (votes == np.array(STARS)[:, None]).sum(axis=-1)
    return Planted(samples.assign(**plain), counts, ())


def test_results_do_not_depend_on_the_number_of_processes(params: Params, planted: Planted) -> None:
    wanted = [
        Setup("main", name, name, params.embedding, "none", with_label=False)
        for name in ("ridge", "global-mean")
    ]
    alone = run_setups(planted, wanted, params.scoring, silent)
    told: list[str] = []
    with at_work(planted, wanted, params.scoring, processes=2) as found:
        beside = found(told.append)
    pd.testing.assert_frame_equal(alone, beside)
    seeds = set(range(params.scoring.split.seeds))
    assert set(beside.loc[beside["level"] == "ridge", "seed"]) == seeds
    assert sorted(told) == ["main: global-mean", "main: ridge"]
    assert not multiprocessing.active_children()


def test_processes_end_if_the_block_fails(params: Params, planted: Planted) -> None:
    wanted = [Setup("main", "ridge", "ridge", params.embedding, "none", with_label=False)]
    with pytest.raises(ZeroDivisionError), at_work(planted, wanted, params.scoring, 2):
        raise ZeroDivisionError
    for process in multiprocessing.active_children():
        process.join(30)
    assert not multiprocessing.active_children()


def test_differences_are_paired_by_seed() -> None:
    rng = np.random.default_rng(0)
    hard = rng.normal(size=10)  # some splits are hard for everybody
    rows = [
        {"study": "main", "level": level, "question": "Q1", "measure": "qwk", "seed": seed}
        | {"estimate": hard[seed] + gain + 0.01 * rng.normal()}
        for level, gain in (("ours", 0.1), ("theirs", 0.0))
        for seed in range(10)
    ]
    found = compare(pd.DataFrame(rows), "ours", ["theirs", "absent"])
    assert len(found) == 1 and found["n"].item() == 10
    assert found["low"].item() > 0.08 and found["high"].item() < 0.12 and found["p"].item() < 1e-6


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
    found = people(votes)
    validation.check(found, tables.SCORE_RESULTS)
    assert set(found["scorer"]) == {"people"} and set(found["seed"]) == {0, 1, 2}
    told = headline(summary(found))
    assert told["people (own vote in the mode)"]["Q1"]["mse"] == pytest.approx(0.5 / 3, abs=1e-4)
    loo = told["people (leave one out)"]["Q1"]["mse"]
    assert loo > told["people (own vote in the mode)"]["Q1"]["mse"]
