"""`new` for the studies of prediction and attention: from stages to answers for the importer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from ruamel.yaml import YAML
from typer.testing import CliRunner, Result

from pasta import store
from pasta.commands.study import app
from pasta.config import load_params
from pasta.errors import PastaError
from pasta.paths import DATA
from pasta.seeds import generator
from pasta.studies.app.design import load_design
from pasta.studies.prediction.app_new import app_plan, shown_experiment
from pasta.studies.prediction.shown import shown_experiments
from pasta.texts.tables import DOCUMENTS, TEXT_DOCUMENTS
from tests.conftest import ROOT
from tests.studies.app.serving import Json, everybody_answers, knowing, usual_answer
from tests.studies.prediction.small import CONDITIONS, write_experiment
from tests.studies.ratings.small_group import SIDE, write_group

PRACTICE = 2


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of small studies in which no stage has run."""
    (tmp_path / "dvc.yaml").write_text((ROOT / "dvc.yaml").read_text())
    params = YAML(typ="safe").load((ROOT / "params.yaml").read_text())
    design = {"per_condition": 1, "practice": PRACTICE, "catch": 2}
    params["prediction"] = {"conditions": list(CONDITIONS), "design": design}
    params["attention"] = {"images": 2, "checks": 1, "people": 2, "raters": 2, "ratings": 2}
    params["attention"] |= {"texts": 2, "methods": ["gradcam"]}
    YAML().dump(params, tmp_path / "params.yaml")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments), catch_exceptions=False)


def small_marks(state: Json) -> Json:
    """Marks that fit into the small images here, and what is usual on other pages."""
    if state["step"]["kind"] == "regions":
        return {"regions": [{"shape": "box", "points": [[1, 1], [5, 6]]}]}
    return usual_answer(state)


def take_part(folder: Path) -> Result:
    """Let everybody answer, and check what comes out with the study's own importer."""
    design = load_design(folder)
    everybody_answers(folder, len(design.seats), lambda _: knowing(design, small_marks))
    out = folder.with_name("out")
    assert run("export", str(folder), str(out)).exit_code == 0
    return run(design.settings.kind, "check", str(out))


def test_an_experiment_becomes_a_study_whose_answers_can_be_imported(project: Path) -> None:
    write_experiment(project, "small", practice=4)
    write_experiment(project, "twin", practice=4)
    made = run("prediction", "new", str(project / "study"), "--only", "twin")
    assert f"images of the experiment 'twin' for {len(CONDITIONS)} people" in made.output
    checked = take_part(project / "study")
    assert checked.exit_code == 0 and "everything is in order" in checked.output, checked.output
    people = pd.read_csv(project / "out" / "participants.csv")
    assert set(people["condition"]) == set(CONDITIONS) and set(people["experiment"]) == {"twin"}
    assert people["practice_passed"].all() and (people["practice_tries"] == 1).all()
    trials = pd.read_csv(project / "out" / "trials.csv")
    phases = trials.groupby("phase").size() / len(CONDITIONS)
    assert phases.to_dict() == {"practice": PRACTICE, "training": 15, "test": 21, "catch": 6}


def test_catch_trials_stand_at_the_same_places_in_all_conditions(project: Path) -> None:
    shown = write_experiment(project, practice=4)
    plan = app_plan(shown, load_params().prediction, 0)
    asked = plan[plan["phase"].isin(["test", "catch"])].sort_values(["session", "order"])
    orders = {
        tuple(zip(own["session"], own["phase"], own["image_id"], strict=True))
        for _, own in asked.groupby("participant_id")
    }
    assert len(orders) == 1 and not asked.duplicated(["participant_id", "session", "order"]).any()


def test_a_condition_shows_its_map_and_the_baseline_nothing(project: Path) -> None:
    write_experiment(project, practice=4)
    (shown,) = shown_experiments(project)
    experiment = shown_experiment(shown, load_params().prediction)
    image = experiment.image("small-test0")
    assert experiment.explanation("baseline", "small-test0") is None
    good, control = (experiment.explanation(one, "small-test0") for one in ("good", "control"))
    assert good is not None and control is not None
    assert good.shape == control.shape == image.shape and not np.array_equal(good, control)
    assert [name for name, _ in experiment.practice] == ["practice0", "practice1"]


def write_materials(root: Path) -> None:
    """Images with explanations, and three texts, one of them not explained."""
    write_group(root / DATA, {"gradcam/resnet50": generator(1, "maps").random((9, SIDE, SIDE))})
    text = "A film of joy, from the first minute to the last."
    about = {"split": "test", "label": "positive", "text": text, "words": 11, "cues": "3"}
    about |= {"predicted": "positive", "probability": 0.9}
    rows = [{"text_id": f"t{n}", **about, "explained": n < 2} for n in range(3)]
    store.write(TEXT_DOCUMENTS.frame(rows), root / DATA / "texts" / DOCUMENTS, TEXT_DOCUMENTS)


def test_images_maps_and_texts_become_a_study_whose_answers_can_be_imported(project: Path) -> None:
    write_materials(project)
    made = run("attention", "new", str(project / "study"))
    assert "images, maps, texts for 6 people" in made.output, made.output
    checked = take_part(project / "study")
    assert checked.exit_code == 0 and "everything is in order" in checked.output, checked.output
    tables = {one.stem: pd.read_csv(one) for one in (project / "out").glob("*.csv")}
    assert set(tables) == {"regions", "words", "goodness", "people"}
    assert tables["regions"].groupby("image_id")["annotator_id"].nunique().tolist() == [2, 2, 2]
    assert set(tables["words"]["text_id"]) == {"t0", "t1"} and len(tables["words"]) == 4
    assert (
        tables["goodness"].groupby("annotator_id")["position"].apply(list).tolist() == [[1, 2]] * 2
    )


@pytest.mark.parametrize(
    ("only", "kind"), [("images", "regions"), ("maps", "goodness"), ("texts", "words")]
)
def test_one_part_of_the_study_alone(project: Path, only: str, kind: str) -> None:
    write_materials(project)
    assert run("attention", "new", str(project / "study"), "--only", only).exit_code == 0
    design = load_design(project / "study")
    assert {step.kind for one in design.items.values() for step in one.steps} == {kind}
    assert design.check is not None and design.check.expected is not None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("prediction", "new", "study"), "dvc repro experiments"),
        (("attention", "new", "study"), "dvc repro explain"),
        (("attention", "new", "study", "--only", "maps"), "dvc repro explain"),
        (("attention", "new", "study", "--only", "texts"), "dvc repro texts"),
        (("attention", "new", "study", "--only", "text"), "Did you mean 'texts'"),
    ],
)
def test_before_a_stage_has_run_the_error_names_it(
    project: Path, arguments: tuple[str, ...], words: str
) -> None:
    with pytest.raises(PastaError, match=words):
        run(*arguments)
    assert not (project / "study").exists()


def test_an_unknown_experiment_missing_maps_and_an_old_folder_are_errors(project: Path) -> None:
    shown = write_experiment(project, practice=4)
    with pytest.raises(PastaError, match="there is no experiment 'smal'"):
        run("prediction", "new", "study", "--only", "smal")
    assert run("prediction", "new", "study").exit_code == 0
    with pytest.raises(PastaError, match="exists already"):
        run("prediction", "new", "study")
    (shown.folder / "maps_good.npy").unlink()
    with pytest.raises(PastaError, match=r"'good'.*dvc repro experiments"):
        run("prediction", "new", "another")
