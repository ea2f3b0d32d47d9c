"""What the dashboard says of the answers so far, against slow counts of the same answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from pasta.seeds import generator
from pasta.studies.app.access import Signer
from pasta.studies.app.database import Database, open_database
from pasta.studies.app.design import Design, load_design
from pasta.studies.app.exporting import Rows, export_tables, hook_of
from pasta.studies.app.overview import overview
from pasta.studies.app.people import invite
from pasta.studies.app.so_far import ALPHA, Measure, measures
from pasta.studies.app.taking_part import TakingPart
from pasta.studies.attention.app_so_far import measure as attention
from pasta.studies.prediction.screening import flow, screen
from pasta.studies.prediction.settings import DesignParams
from pasta.studies.ratings.app_so_far import measure as ratings
from tests.studies.app.made import SIDE, attention_study, prediction_study
from tests.studies.app.serving import usual_answer


class Study:
    """A study and people who answer it by chance."""

    def __init__(self, folder: Path) -> None:
        self.design: Design = load_design(folder)
        self.database: Database = open_database(folder)
        self.people = TakingPart(self.design, self.database)

    def answer(self, wrong: frozenset[str] = frozenset(), stop: int = 1_000) -> str:
        """Let one more person answer so many pages; checks are right but for those named."""
        ((person, _),) = invite(self.database, Signer("k" * 40), 1)
        random = generator(3, "person", len(self.tables()["participants"]), *sorted(wrong))
        for number in range(stop):
            now = self.people.stand(person).now
            if now.step is None:
                break
            page = {"id": now.id, "kind": now.step.kind, **now.step.page}
            if now.step.expected is not None:
                content = dict(now.step.expected)
                if now.step.id in wrong and now.attempt == 1:
                    name = next(iter(content))
                    options = now.step.fields[name]["options"]
                    content[name] = next(one for one in options if one != content[name])
            elif now.step.about.get("phase") == "catch" and "catch" not in wrong:
                content = {"class": now.step.about["shown"]}
            elif now.step.kind == "choice":
                content = {"class": str(random.choice(now.step.page["classes"]))}
            else:
                content = usual_answer({"step": page})
            self.people.answer(person, now.id, f"key-{number:05d}", 1.0, content)
        return person

    def tables(self) -> Mapping[str, Rows]:
        """What would be exported."""
        return export_tables(self.design, self.database).tables


@pytest.fixture
def prediction(tmp_path: Path) -> Iterator[Study]:
    study = Study(prediction_study(tmp_path / "study", participants=8))
    yield study
    study.database.close()


def test_the_share_of_right_answers_is_that_of_the_trials_that_count(prediction: Study) -> None:
    assert measures(prediction.design, prediction.database) == []
    for _ in range(3):
        prediction.answer()
    prediction.answer(stop=30)  # does not count: is not through
    tables = prediction.tables()
    trials, people = (pd.DataFrame(tables[name]) for name in ("trials", "participants"))
    both = trials.dropna(subset="right").merge(people, on="participant_id")
    found = {one.about: one for one in measures(prediction.design, prediction.database)}
    assert len(both["participant_id"].unique()) == 3 and len(both["condition"].unique()) == 2
    for (phase, condition), own in both.groupby(["phase", "condition"]):
        one = found.pop(f"{phase}, {condition}")
        assert one.value == pytest.approx(own["right"].astype(float).mean(), abs=5e-4)
        assert (one.measure, one.n) == ("share right", len(own))
    assert not found


def test_the_flow_through_the_checks_is_that_of_the_studys_screening(prediction: Study) -> None:
    for wrong in ((), ("practice",), ("practice", "quiz"), ("quiz", "catch"), ("catch",), ()):
        prediction.answer(frozenset(wrong))
    gone = prediction.answer(frozenset({"practice"}))
    prediction.people.withdraw(gone)
    tables = prediction.tables()
    participants, trials = (pd.DataFrame(tables[name]) for name in ("participants", "trials"))
    expected = flow(screen(participants.astype({"practice_tries": float}), trials, DesignParams()))
    expected = expected[(expected["condition"] == "all") & (expected["stage"] != "no answers")]
    now = prediction.people.clock()
    found = overview(prediction.design, prediction.database, now)
    assert [(one["stage"], one["in"], one["out"]) for one in found["screening"]] == list(
        expected[["stage", "came", "left"]].itertuples(index=False, name=None)
    )
    assert [one["out"] for one in found["screening"]] == [2, 1, 1]
    states = {one["person"]: one["state"] for one in found["persons"]}
    assert states.pop(gone) == "withdrawn" and set(states.values()) == {"finished"}


def test_agreement_on_marks_and_words_is_the_mean_over_pairs_of_people(tmp_path: Path) -> None:
    design = load_design(attention_study(tmp_path / "study"))
    corners = {"ann": 10, "bob": 20, "eve": 40}
    masks = {}
    rows: Rows = []
    for name, corner in corners.items():
        end = corner + 20
        points = f"POLYGON (({corner} {corner}, {end} {corner}, {end} {end}, {corner} {end}))"
        points = points.replace("))", f", {corner} {corner}))")
        masks[name] = np.zeros((SIDE, SIDE), bool)
        masks[name][corner:end, corner:end] = True
        for image in ("made/cat", "made/check1"):
            row = {"image_id": image, "annotator_id": name, "region": 0, "shape": "box"}
            rows.append({**row, "points": points if image == "made/cat" else None})
    chosen = {"ann": "0 4", "bob": "4", "eve": ""}
    words: Rows = [
        {"text_id": "text1", "annotator_id": name, "words": text} for name, text in chosen.items()
    ]
    found = attention({"regions": rows, "words": words, "goodness": []}, design)
    overlaps = [
        (masks[one] & masks[two]).sum() / (masks[one] | masks[two]).sum()
        for one, two in combinations(corners, 2)
    ]
    units = np.stack([one.ravel() for one in masks.values()], 1)
    assert found == [
        Measure("overlap of two people (IoU)", "marks in images", round(np.mean(overlaps), 3), 1),
        Measure(ALPHA, "marks in images", round(nominal_alpha(units), 3), 1),
        Measure("overlap of two people (IoU)", "words of texts", round(0.5 / 3, 3), 1),
        Measure(ALPHA, "words of texts", found[-1].value, 1),
    ]
    picked = np.array([[str(k) in text.split() for text in chosen.values()] for k in range(10)])
    assert found[-1].value == round(nominal_alpha(picked), 3)


def nominal_alpha(units: NDArray[np.bool_]) -> float:
    """Krippendorff's alpha from its definition: pairs of values within units, and of all."""
    count, people = units.shape
    observed = sum(
        float(one != two) * 2 / (people - 1) for row in units for one, two in combinations(row, 2)
    )
    marked = int(units.sum())
    expected = 2 * marked * (count * people - marked) / (count * people - 1)
    return float(1 - observed / expected)


def test_agreement_of_votes_needs_two_on_two_samples(tmp_path: Path) -> None:
    design = load_design(attention_study(tmp_path / "study"))
    assert ratings(hook_of("ratings").tables([]), design) == []
    rows: Rows = [
        {"sample_id": sample, "annotator_id": person, "question": "Q1", "rating": rating}
        for person in ("ann", "bob")
        for sample, rating in (("a", 1), ("b", 5), ("c", 3))
    ]
    (found,) = ratings({"votes": rows}, design)
    assert (found.measure, found.value, found.n) == (ALPHA, 1.0, 3)
    assert ratings({"votes": rows[:4]}, design) == []
