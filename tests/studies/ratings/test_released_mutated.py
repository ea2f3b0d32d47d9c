"""Damaged releases: what the importer accepts is exactly what a slow, literal reader finds.

The reader here shares nothing with the importer but the numbers of the techniques. It goes through
the file entry by entry and gives up at the first thing that it is not sure of.
"""

from __future__ import annotations

import copy
import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pasta.errors import InputError
from pasta.explanations.techniques import RELEASED
from pasta.studies.checking import Known, check
from pasta.studies.reading import read
from tests.studies.ratings.format_cases import STUDY, json_values

NAMES = {number: technique for technique, number in RELEASED.items()}
SAMPLES = [
    f"{image}/{NAMES[number]}" for image in ("coco/75", "monumai/0137") for number in (0, 39)
]
OUTSIDE = {"explanations": pd.DataFrame({"sample_id": SAMPLES}, dtype="str")}
LIMIT = 5  # votes on a sample and question

Vote = tuple[str, str, str, int]


class GivesUpError(Exception):
    """The literal reader is not sure what is meant."""


def read_literally(text: str) -> set[Vote]:
    """All votes of a release, or an error."""
    entries = json.loads(text, object_pairs_hook=_once)
    _sure(isinstance(entries, list))
    votes: list[Vote] = []
    for entry in entries:
        _sure(isinstance(entry, dict) and isinstance(entry.get("Annotation"), list))
        sample = _read_sample(entry)
        for number, vote in enumerate(entry["Annotation"], start=1):
            _sure(isinstance(vote, dict))
            person = vote.get("annotator", f"anonymous-{number}")
            _sure(isinstance(person, str) and person.split() == [person] and "/" not in person)
            for key, value in vote.items():
                if key in ("annotator", "submitted_at", "simulated"):
                    continue
                if key == "Q0.1":
                    _sure(isinstance(value, str) and value != "")
                    continue
                _sure(key in ("Q1", "Q2", "Q3", "Q4", "Q5", "Q6"))
                votes.append((sample, str(person), key, _read_star(value)))
    keys = Counter(vote[:3] for vote in votes)
    _sure(all(number == 1 for number in keys.values()))
    full = Counter((sample, question) for sample, _, question, _ in votes)
    _sure(all(number <= LIMIT for number in full.values()))
    return set(votes)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    _sure(len(dict(pairs)) == len(pairs))
    return dict(pairs)


def _read_sample(entry: dict[str, Any]) -> str:
    said = entry.get("sample_id")
    _sure(said is None or isinstance(said, str))
    shown = entry.get("explication")
    drawn = None
    if isinstance(shown, str):
        parts = shown.replace("\\", "/").split("/")[-1].split("_")
        if len(parts) > 2 and parts[1].isascii() and parts[1].isdigit():
            digits = ""
            for letter in parts[2]:
                if not (letter.isascii() and letter.isdigit()):
                    break
                digits += letter
            if digits and int(digits) in NAMES:
                drawn = f"{parts[0]}/{parts[1]}/{NAMES[int(digits)]}"
    _sure(said is not None or drawn is not None)
    _sure(said is None or drawn is None or said == drawn)
    sample = str(said if said is not None else drawn)
    _sure(sample in SAMPLES)
    return sample


def _read_star(value: Any) -> int:
    _sure(isinstance(value, (int, float, str)) and not isinstance(value, bool))
    star = {"1": 1, "2": 2, "3": 3, "4": 4, "5": 5}.get(str(value).removesuffix(".0"))
    _sure(star is not None)
    assert star is not None
    return star


def _sure(holds: bool) -> None:
    if not holds:
        raise GivesUpError


def release() -> list[dict[str, Any]]:
    """A small valid release: two images by two techniques, two votes each."""
    entries = []
    for place, sample in enumerate(SAMPLES):
        dataset, image, *technique = sample.split("/")
        name = f"{dataset}_{image}_{RELEASED['/'.join(technique)]}"
        votes = [
            {f"Q{question}": 1 + (place + vote + question) % 5 for question in (1, 2, 6)}
            for vote in range(2)
        ]
        entry: dict[str, Any] = {
            "explication": f"expl/{name}.png",
            "GTclass": "a",
            "Annotation": votes,
        }
        entries.append(entry if place % 2 else {**entry, "sample_id": sample})
    entries[1]["Annotation"][0]["annotator"] = "anna"
    return entries


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of everything in a JSON value but itself."""
    keys: list[Any] = []
    if isinstance(value, dict):
        keys = list(value)
    elif isinstance(value, list):
        keys = list(range(len(value)))
    return [place for key in keys for place in [(*path, key), *places(value[key], (*path, key))]]


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


likely: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, 0, 3, 6, 4.0, 2.5, "3", "", "anna", "anonymous-1", [], {}, *SAMPLES]
) | st.sampled_from(["expl/coco_75_39.png", "coco_0075_0.png", "x/monumai_137_39_a.png", "a.png"])
new_keys = st.sampled_from(["Q1", "Q2", "Q7", "Q0.1", "annotator", "sample_id", "simulated", "x"])


@st.composite
def damaged(draw: st.DrawFn) -> list[Any]:
    """A release after one to three changes: dropped, swapped, replaced, copied or added values."""
    entries: list[Any] = copy.deepcopy(release())
    for _ in range(draw(st.integers(1, 3))):
        paths = places(entries)
        if not paths:
            break
        *above, key = draw(st.sampled_from(paths))
        parent = at(entries, tuple(above))
        change = draw(st.sampled_from(["drop", "swap", "replace", "copy", "add"]))
        if change == "drop":
            del parent[key]
        elif change == "replace":
            parent[key] = draw(likely | json_values)
        elif change == "swap":
            *others, other = draw(st.sampled_from(paths))
            partner = at(entries, tuple(others))
            parent[key], partner[other] = copy.deepcopy((partner[other], parent[key]))
        elif isinstance(parent, list):
            parent.insert(key, copy.deepcopy(parent[key]))
        else:
            parent[draw(new_keys)] = draw(likely) if change == "add" else copy.deepcopy(parent[key])
    return entries


def imported(text: str) -> set[Vote] | None:
    """The votes that the importer would store, or None if it refuses the file."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "human_annotations.json"
        file.write_text(text, encoding="utf-8")
        try:
            submission = read(file, STUDY, OUTSIDE)
        except InputError:
            return None
        checked = check(submission, STUDY, Known(OUTSIDE, STUDY.frames({})))
    if checked.answers is None:
        return None
    votes = checked.answers["votes"]
    columns = ("sample_id", "annotator_id", "question", "rating")
    return {tuple(row) for row in zip(*(votes[name].tolist() for name in columns), strict=True)}


def test_the_undamaged_release_is_read_alike_and_completely() -> None:
    text = json.dumps(release())
    votes = imported(text)
    assert votes == read_literally(text) and votes is not None and len(votes) == 24


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(damaged())
@example([{**release()[0], "sample_id": SAMPLES[1]}])
@example([{**release()[2], "explication": "expl/monumai_137_0.png"}])
@example([{**release()[1], "sample_id": None}])
def test_what_is_accepted_of_a_damaged_release_is_what_a_literal_reader_finds(
    entries: list[Any],
) -> None:
    text = json.dumps(entries)
    votes = imported(text)
    if votes is None:
        return
    try:
        expected = read_literally(text)
    except GivesUpError:
        raise AssertionError(f"accepted, but not sure: {text}") from None
    assert votes == expected, text
