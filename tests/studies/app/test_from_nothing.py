"""From stored explanations to imported votes: prepare, serve, let people answer, pull."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from pasta.commands.study import app
from pasta.config import load_params
from pasta.paths import DATA
from pasta.seeds import generator
from pasta.studies.app.database import open_database
from pasta.studies.app.design import Design, load_design
from pasta.studies.base import Frames
from pasta.studies.batches import list_batches, merged, project_batches
from pasta.studies.ratings.settings import QUESTIONS
from pasta.studies.ratings.study import ratings
from tests.conftest import ROOT
from tests.studies.app.serving import Choose, Json, everybody_answers, knowing, with_taste
from tests.studies.ratings.small_group import IMAGES, SIDE, WORDS, write_group

PEOPLE, VOTES = 15, 5
SAMPLES = 2 * len(IMAGES)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A project with six explanations, saliency maps and concepts, and nothing else."""
    root = tmp_path_factory.mktemp("project")
    for name in ("dvc.yaml", "params.yaml"):
        (root / name).write_text((ROOT / name).read_text())
    random = generator(1, "explanations")
    values = {
        "gradcam/resnet50": random.random((9, SIDE, SIDE)),
        "clip_qda/clip_qda": random.uniform(-1, 1, (9, len(WORDS.concepts))),
    }
    write_group(root / DATA, values)
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(root)
        yield root


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments), catch_exceptions=False)


def answer_as(number: int, design: Design) -> Choose:
    """Answers of one person, with words that are hard to keep."""
    usual = with_taste(number)

    def choose(state: Json) -> Json:
        step = state["step"]
        if step["kind"] == "demographics":
            return {"age": 20 + number, "sex": 'woman, "she"\nand so on', "country": None}
        if step["kind"] == "before" and number == 3:
            return {"Q0.1": '=1+1, "whiskers"\r\n– and ears 🐱', "Q0.2": []}
        return usual(state)

    return knowing(design, choose)


def test_fifteen_people_answer_in_the_browsers_protocol_and_their_votes_are_pulled(
    project: Path,
) -> None:
    folder = project / "study"
    made = run("ratings", "new", str(folder), "--annotators", str(PEOPLE), "--votes", str(VOTES))
    assert made.exit_code == 0, made.output
    assert f"wrote {SAMPLES} samples for {PEOPLE} people" in made.output
    design = load_design(folder)
    everybody_answers(folder, PEOPLE, lambda number: answer_as(number, design))
    status = run("status", str(folder))
    assert f"items: {SAMPLES * VOTES} of {SAMPLES * VOTES} answers" in status.output
    assert "so far: stars of Q1, ordinal, over samples: Krippendorff's alpha" in status.output
    out = project / "out"
    assert run("export", str(folder), str(out)).exit_code == 0
    checked = run("ratings", "check", str(out))
    assert checked.exit_code == 0 and "everything is in order" in checked.output, checked.output
    pulled = run("pull", str(folder), "--no-track")
    assert pulled.exit_code == 0 and "dvc repro" in pulled.output, pulled.output
    frames = stored(project)
    votes = frames["votes"]
    assert len(votes) == SAMPLES * VOTES * len(QUESTIONS) and not votes["simulated"].any()
    people = votes.groupby("sample_id")["annotator_id"].nunique()
    assert len(people) == SAMPLES and (people == VOTES).all()
    assert votes["submitted_at"].notna().all()
    assert len(frames["rankings"]) == PEOPLE * (5 + 6 + 6)
    assert set(frames["descriptions"]["text"]) >= {'=1+1, "whiskers"\n– and ears 🐱'}
    compare_with_batch(project, out)
    again = run("pull", str(folder), "--no-track")
    assert "nothing changes" in again.output and len(list_batches(batches(project))) == 1


def test_what_was_pulled_counts_instead_of_simulated_votes_and_withdrawn_people_are_named(
    project: Path,
) -> None:
    folder = project / "study"
    before = stored(project)["annotators"]["annotator_id"].tolist()
    from pasta.studies.app.taking_part import TakingPart

    database = open_database(folder)
    TakingPart(load_design(folder), database).withdraw(before[0])
    database.close()
    pulled = run("pull", str(folder), "--no-track")
    name = list_batches(batches(project))[0].name
    assert f"{before[0]} withdrew after batch {name} was stored" in pulled.output
    assert f"`pasta study ratings withdraw {name}`" in pulled.output
    assert run("ratings", "withdraw", name, "--no-track").exit_code == 0
    assert run("pull", str(folder), "--no-track").exit_code == 0
    after = stored(project)["votes"]["annotator_id"]
    assert before[0] not in set(after) and after.nunique() == PEOPLE - 1


def batches(project: Path) -> Path:
    return project / ratings(load_params()).batch_folder


def stored(project: Path) -> Frames:
    study = ratings(load_params())
    return merged(study, project_batches(study, project))


def compare_with_batch(project: Path, out: Path) -> None:
    """The stored batch has the same cells as the file: nothing was mended on the way."""
    (batch,) = list_batches(batches(project))
    for file in sorted(batch.glob("*.csv")):
        key = list(ratings(load_params()).parts[file.stem].table.key)
        mine, theirs = (
            pd.read_csv(one, dtype=str, keep_default_na=False).sort_values(key, ignore_index=True)
            for one in (out / file.name, file)
        )
        pd.testing.assert_frame_equal(mine, theirs[list(mine)])
    assert {one.name for one in out.glob("*.csv")} == {one.name for one in batch.glob("*.csv")}
