"""The votes of a release on its own explanations, and later votes beside them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from pasta.config import Params, checked_params, profile_text
from pasta.datasets.build import build_dataset, chosen_items
from pasta.datasets.released import FILE, read_release, released_source
from pasta.datasets.stored import open_dataset
from pasta.explanations.released import explain_released
from pasta.layout import Group, groups
from pasta.studies.batches import merged, project_batches, write_simulated
from pasta.studies.importing import SubmissionError, import_file
from pasta.studies.ratings.rateable import explained
from pasta.studies.ratings.study import ratings, released_answers
from tests.conftest import ROOT
from tests.release_generator import Planted, Settings, generate


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Planted]:
    """A release, a project that has stored its explanations, and what was planted."""
    root = tmp_path_factory.mktemp("votes")
    planted = generate(root / "release", Settings(images=8, techniques=4, people=3, size=16))
    params = params_of(root / "release")
    release = read_release(root / "release")
    for group in groups(params, root / "project"):
        source = released_source(release, group.dataset)
        items = chosen_items(source, params.datasets[group.dataset])
        build_dataset(group.dataset, source, items, 16, group.images)
        explain_released(release, open_dataset(group.images), group.explanations)
    return root / "release", root / "project", planted


def params_of(folder: Path, *, lenient: bool = False) -> Params:
    section = {"root": str(folder), "lenient": lenient}
    return checked_params(Path("released.yaml"), profile_text(["released", "ci"], ROOT, section))


def groups_of(project: Path) -> list[Group]:
    return groups(params_of(project), project)


def test_all_votes_come_in_as_those_of_nobody_known(made: tuple[Path, Path, Planted]) -> None:
    folder, project, planted = made
    found = released_answers(groups_of(project), params_of(folder), folder)
    votes = found.frames["votes"]
    assert len(votes) == planted.votes and set(votes["sample_id"]) == set(planted.samples)
    assert not votes["simulated"].any() and found.frames["annotators"]["anonymous"].all()
    first = json.loads((folder / FILE).read_text())[0]
    own = votes[votes["sample_id"].str.startswith(_image(first["img"]))]
    given = [vote["Q1"] for vote in first["Annotation"] if "Q1" in vote]
    assert (
        own[own["question"] == "Q1"].groupby("sample_id")["rating"].apply(list).isin([given]).any()
    )


def _image(path: str) -> str:
    dataset, image, *_ = Path(path).name.split("_")
    return f"{dataset}/{image}/"


def test_a_vote_for_an_explanation_that_is_not_there_is_refused_or_left_out(
    made: tuple[Path, Path, Planted], tmp_path: Path
) -> None:
    folder, project, planted = made
    entries = json.loads((folder / FILE).read_text())
    entries.append({**entries[0], "explication": "./expl/coco_999_0.png"})
    (tmp_path / FILE).write_text(json.dumps(entries))
    with pytest.raises(SubmissionError) as refusal:
        released_answers(groups_of(project), params_of(tmp_path), tmp_path)
    told = str(refusal.value)
    assert "the sample is not known" in told and f"entry {len(entries)}" in told
    assert "coco/999/gradcam/resnet50" in told and "nothing was stored" in told
    lenient = params_of(tmp_path, lenient=True)
    found = released_answers(groups_of(project), lenient, tmp_path)
    assert len(found.frames["votes"]) == planted.votes
    [(reason, number)] = found.dropped.items()
    assert reason == "votes on explanations that were left out" and number > 0


def test_a_rating_that_is_none_is_refused_with_its_entry_even_by_the_lenient(
    made: tuple[Path, Path, Planted], tmp_path: Path
) -> None:
    folder, project, _ = made
    entries = json.loads((folder / FILE).read_text())
    entries[2]["Annotation"][1]["Q1"] = 9
    (tmp_path / FILE).write_text(json.dumps(entries))
    for lenient in (False, True):
        with pytest.raises(SubmissionError, match="entry 3, Annotation 2"):
            params = params_of(tmp_path, lenient=lenient)
            released_answers(groups_of(project), params, tmp_path)


def test_later_votes_are_added_to_those_of_the_release(
    made: tuple[Path, Path, Planted], tmp_path: Path
) -> None:
    folder, done, planted = made
    project = Path(shutil.copytree(done, tmp_path / "project"))
    params = params_of(folder)
    study = ratings(params)
    write_simulated(study, released_answers(groups_of(project), params, folder), project)
    sample = next(iter(planted.samples))
    file = tmp_path / "votes.csv"
    file.write_text(f"sample_id,annotator_id,question,rating\n{sample},anna,Q1,4\n")
    people = tmp_path / "people.csv"
    people.write_text("annotator_id\nanna\n")
    outside = {"explanations": explained(groups_of(project))[["sample_id"]]}
    first, batches = project / study.simulated_folder, project / study.batch_folder
    import_file(file, study, batches, outside, False, first, people)
    both = merged(study, project_batches(study, project))
    assert len(both["votes"]) == planted.votes + 1
    again = import_file(folder, study, batches, outside, False, first)
    assert again.batch is None and "stored already" in again.message
