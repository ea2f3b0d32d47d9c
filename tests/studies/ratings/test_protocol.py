"""The protocol says what the papers say, and a broken one is refused with its place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from pasta.config import load_params
from pasta.errors import InputError, PastaError
from pasta.studies.ratings.protocol import (
    FILE,
    IDS,
    Protocol,
    load_protocol,
    study_protocol,
    versions,
)
from pasta.studies.ratings.settings import QUESTIONS
from pasta.studies.ratings.tables import RANKINGS
from tests.conftest import ROOT

CHANGED = "With this perturbed image, to what extent has the explanation changed?"
PUBLISHED = {  # P1, section 3.4 and B.5
    "Q0.1": "What part makes you classify this image as ***?",
    "Q0.2": "What part of the input helps the prediction?",
    "Q1": "The provided explanation is consistent with how I would explain the predicted class?",
    "Q2": "Overall the explanation provided for the model prediction can be trusted?",
    "Q3": "Is the explanation easy to understand?",
    "Q4": "The explanation can be understood by a large number of people, independently of their "
    "demographics (age, gender, country, etc.) and culture?",
    "Q5": CHANGED,
    "Q6": CHANGED,
    "Q7": "Could you rank the different qualities of the explanation in order of importance?",
    "Q8": "Can you please order the different questions from Q1, Q2, Q3, Q4, Q5, and Q6 from the "
    "less important to the more important questions to assess the quality of the explanation?",
    "Q9": "Can you please order the different questions from Q1, Q2, Q3, Q4, Q5 and Q6 from the "
    "most difficult to the easiest?",
}
REWORDED = {  # P2, "Creating the PASTA-dataset"
    "Q1": "Is the provided explanation consistent with how I would explain the predicted class?",
    "Q4": "Can the explanation be understood by a large number of people, independently of their "
    "demographics (age, gender, country, etc.) and culture?",
}
Change = Callable[[Any], object]


@pytest.fixture(params=["p1", "p2"])
def protocol(request: pytest.FixtureRequest) -> Protocol:
    return load_protocol(request.param)


def test_wordings_are_those_of_the_papers() -> None:
    first, second = load_protocol("p1"), load_protocol("p2")
    assert {question.id: question.wording for question in first.questions} == PUBLISHED
    assert {question.id: question.wording for question in second.questions} == PUBLISHED | REWORDED


def test_only_q1_q4_and_the_direction_of_q5_differ() -> None:
    first, second = load_protocol("p1"), load_protocol("p2")
    pairs = zip(first.questions, second.questions, strict=True)
    assert [one.id for one, other in pairs if one != other] == ["Q1", "Q4", "Q5"]
    assert (first.instructions, first.training) == (second.instructions, second.training)


def test_the_published_version_is_the_default() -> None:
    assert load_protocol("p2") == load_protocol("p2") != load_protocol("p1")
    assert versions() == ("p1", "p2")


def test_questions_fit_the_tables(protocol: Protocol) -> None:
    assert tuple(question.id for question in protocol.questions) == IDS
    assert protocol.stars == QUESTIONS
    assert tuple(question.id for question in protocol.rankings) == RANKINGS
    assert protocol.revision >= 1


def test_desiderata_are_those_of_p1(protocol: Protocol) -> None:
    found = [protocol.question(key).desideratum for key in protocol.stars]
    assert found == [
        *("fidelity", "complexity", "complexity", "objectivity", "robustness", "robustness")
    ]


def test_every_phase_has_its_questions(protocol: Protocol) -> None:
    asked = {phase.id: [one.id for one in protocol.during(phase.id)] for phase in protocol.phases}
    assert asked == {
        "before": ["Q0.1", "Q0.2"],
        "explanation": ["Q1", "Q2", "Q3", "Q4"],
        "light": ["Q5"],
        "strong": ["Q6"],
        "end": ["Q7", "Q8", "Q9"],
    }


def test_rankings_name_their_items_and_what_comes_first(protocol: Protocol) -> None:
    axioms, importance, difficulty = protocol.rankings
    assert set(axioms.item_ids) == {  # P1, Table 13
        *("Trustworthy", "Complexity", "Robustness", "Expectedness", "Objectivity")
    }
    assert importance.item_ids == difficulty.item_ids == QUESTIONS
    # P1, Tables 13 and 14: a low position is important in Q7, unimportant in Q8, difficult in Q9.
    first = [ranking.lowest for ranking in protocol.rankings]
    assert first == ["Most important", "Least important", "Most difficult"]


def test_the_predicted_class_is_filled_in(protocol: Protocol) -> None:
    asked = protocol.question("Q0.1").asked("cat")
    assert asked == "What part makes you classify this image as cat?"
    assert protocol.question("Q3").asked("cat") == protocol.question("Q3").wording


def test_unknown_names_are_refused_with_the_nearest(protocol: Protocol) -> None:
    with pytest.raises(PastaError, match=r"no version 'p3' of the protocol. Known: p1, p2"):
        load_protocol("p3")
    with pytest.raises(PastaError, match=r"no version 'pp2' .* Did you mean 'p2'"):
        load_protocol("pp2")
    with pytest.raises(PastaError, match=r"has no question 'Q10'. Did you mean 'Q1'"):
        protocol.question("Q10")


def _delete(*path: str) -> Change:
    def change(content: Any) -> None:
        for step in path[:-1]:
            content = content[step]
        del content[path[-1]]

    return change


def _put(value: object, *path: str | int) -> Change:
    def change(content: Any) -> None:
        for step in path[:-1]:
            content = content[step]
        content[path[-1]] = value

    return change


_Q = ("shared", "questions")
BROKEN: list[tuple[Change, str]] = [
    (_delete("shared"), r"shared: Field required"),
    (_delete("versions"), r"versions: Field required"),
    (_delete("shared", "questions"), r"should be a valid dictionary"),
    (_put("text", *_Q, "Q1"), r"Q1: Input should be a valid dictionary"),
    (_put([1], "versions", "p2", "questions"), r"should be a valid dictionary"),
    (_delete("versions", "p2", "revision"), r"revision: Field required"),
    (_put(0, "versions", "p2", "revision"), r"revision: .*greater than or equal to 1"),
    (_put("1", "versions", "p2", "revision"), r"revision: .*valid integer"),
    (_delete(*_Q, "Q9"), r"the questions are Q0.1, .*, Q8, expected Q0.1"),
    (_put({}, "versions", "p2", "questions", "Q10"), r"questions\.Q10\.kind: Field required"),
    (_put("often", *_Q, "Q2", "shown"), r"questions\.Q2\.shown: Input should be 'before'"),
    (_put("", *_Q, "Q3", "wording"), r"questions\.Q3\.wording: .*at least 1 character"),
    (_put("text", *_Q, "Q3", "kind"), r"questions\.Q3: .*'text', expected 'stars'"),
    (_put("long", *_Q, "Q3", "colour"), r"questions\.Q3\.colour: Extra inputs"),
    (_put(0, *_Q, "Q3", "direction"), r"questions\.Q3\.direction: Input should be 1 or -1"),
    (_delete(*_Q, "Q6", "direction"), r"questions\.Q6: .*direction must be given"),
    (_put(1, *_Q, "Q8", "direction"), r"questions\.Q8: .*direction must not be given"),
    (_delete(*_Q, "Q7", "items"), r"questions\.Q7: .*items must be given"),
    (_put("Q2", *_Q, "Q8", "items", 0, "id"), r"questions\.Q8: .*an item occurs twice"),
    (_delete("shared", "training"), r"training: Field required"),
    (_put([], "shared", "phases"), r"no phase describes before, end, explanation, light, strong"),
]


@pytest.mark.parametrize(("change", "message"), BROKEN)
def test_a_broken_protocol_is_refused_with_its_place(
    change: Change, message: str, tmp_path: Path
) -> None:
    yaml = YAML(typ="safe")
    content = yaml.load(FILE.read_text())
    change(content)
    file = tmp_path / "protocol.yaml"
    yaml.dump(content, file)
    with pytest.raises(InputError, match=message) as caught:
        load_protocol("p2", file)
    assert caught.value.file == file


@pytest.mark.parametrize("text", [b"", b"- a\n", b"a: [", b"a: 1\na: 2\n", b"\xff\xfe", b"&a *a"])
def test_a_file_that_is_no_protocol_is_refused(text: bytes, tmp_path: Path) -> None:
    file = tmp_path / "protocol.yaml"
    file.write_bytes(text)
    with pytest.raises(InputError):
        load_protocol("p2", file)
    with pytest.raises(InputError, match="cannot be read"):
        load_protocol("p2", tmp_path / "nowhere.yaml")


@pytest.mark.parametrize("version", ["p1", "p2"])
def test_the_protocol_of_a_study_is_the_one_in_its_parameters(version: str) -> None:
    params = load_params(ROOT / "params.yaml")
    settings = params.annotations.model_copy(update={"protocol": version})
    found = study_protocol(params.model_copy(update={"annotations": settings}))
    assert found == load_protocol(version)
    scales = [found.question(key).scale for key in found.stars]
    assert all(scale is not None and scale.numbers == (1, 2, 3, 4, 5) for scale in scales)
    # P2 reads few stars of Q5 as good; all else reads many.
    fifth = {"p1": 1, "p2": -1}[version]
    assert [scale.direction for scale in scales if scale] == [1, 1, 1, 1, fifth, 1]
