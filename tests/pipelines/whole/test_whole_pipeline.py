"""The whole pipeline of the tiny profile: trained, tracked, asked, run again."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import mlflow
import numpy as np
import pandas as pd
import pypdfium2
import pytest
from dvc.repo import Repo
from PIL import Image

from pasta import store, tables
from pasta.datasets.released import read_release
from pasta.explanations.released import sample_id
from pasta.layout import find_group, groups
from pasta.studies.app.design import load_design
from pasta.studies.ratings import tables as rating_tables
from pasta.tracking import locked_md5s
from tests.conftest import Runner, runner
from tests.models.small import profile
from tests.studies.app.serving import everybody_answers, knowing, with_taste

PEOPLE, VOTES, SAMPLES = 15, 5, 100  # of the study in the app
ORDER = profile().models["monumai"].backbones
DATASETS = ("catsdogscars", "pascalpart", "monumai", "coco")
REPORTS = (
    *("overview", "dataset", "agreement", "correlation"),
    *("score", "applications", "replication", "latec"),
)


pytestmark = pytest.mark.slow


def test_everything_is_made_and_a_second_run_makes_nothing(run: Runner, project: Path) -> None:
    again = run("dvc", "repro").stdout
    assert "Data and pipelines are up to date" in again or "Running stage" not in again
    for group in groups(root=project):
        images = store.read(group.images / "images.parquet", tables.IMAGES)
        file = group.models / "predictions.parquet"
        table = store.read(file, tables.PREDICTIONS, {"images": images})
        assert set(table["model"]) == set(ORDER)
    assert (project / "reports/figures/accuracy.svg").stat().st_size > 1000


def test_every_parameter_that_a_stage_reads_is_declared(run: Runner, project: Path) -> None:
    with Repo(str(project)) as repo:
        stages = {str(one.name): one for one in repo.index.stages if one.cmd}
    assert {file.stem for file in (project / "noted").iterdir()} <= set(stages)
    undeclared = []
    for name, stage in stages.items():
        declared = {key for dep in stage.deps for key in getattr(dep, "params", ())}
        file = project / "noted" / f"{name}.txt"
        read = set(file.read_text().split()) if file.exists() else set()
        read.discard("profile")  # a tag of every MLflow run
        undeclared += [
            (name, path)
            for path in sorted(read)
            if not any(path == key or path.startswith(f"{key}.") for key in declared)
        ]
    assert not undeclared
    assert (project / "noted/score.txt").read_text()  # the recorder was at work


def test_a_run_with_other_workers_makes_the_same_bytes(
    run: Runner, project: Path, tmp_path: Path
) -> None:
    again = tmp_path / "again"
    subprocess.run(["git", "clone", "-q", str(project), str(again)], check=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PASTA_WORKERS", "2")
        runner(again)("pasta", "workers", "dvc", "repro")
    first, second = locked_md5s(project), locked_md5s(again)
    assert first.keys() == second.keys() and len(first) > 30
    differing = {path for path in first if first[path] != second[path]}
    assert differing <= {"reports/seconds.csv"}  # the one table that holds a clock


def test_there_is_one_run_per_classifier_with_the_md5s_of_its_data(
    run: Runner, project: Path
) -> None:
    client = mlflow.MlflowClient(f"sqlite:///{project / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("classifiers")
    assert experiment is not None
    runs = client.search_runs([experiment.experiment_id], max_results=100)
    named = {entry.info.run_name: entry for entry in runs}
    others = 1 + 2 * 3  # the encoder, and three networks each of volumes and of clouds
    assert len(runs) == len(DATASETS) * len(ORDER) + others and "clip" in named
    table = pd.read_csv(project / "pipelines/data/accuracy/accuracy.csv")
    for row in table[table["measure"] == "accuracy"].itertuples():
        logged = named[f"{row.dataset}-{row.model}"].data.metrics["accuracy"]
        assert logged == pytest.approx(row.estimate, abs=1e-4)  # not a curve's last point
    one = named["coco-resnet50"]
    images = "pipelines/data/images/coco"
    assert one.data.tags[f"md5.{images}"] == locked_md5s(project)[images]
    assert {"accuracy", "macro_f1", "seconds", "parameters"} <= set(one.data.metrics)
    assert one.data.params["training.learning_rate"] == "0.004"
    files = {file.path for file in client.list_artifacts(one.info.run_id)}
    assert {"curves.png", "confusion.png"} <= files
    version = client.get_model_version("coco-resnet50", "1")
    assert version.run_id == one.info.run_id


def test_a_registered_model_predicts_like_the_stored_table(
    run: Runner, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    mlflow.set_tracking_uri(f"sqlite:///{project / 'mlflow.db'}")
    served = mlflow.pyfunc.load_model("models:/monumai-resnet50/1")
    group = find_group("monumai", root=project)
    images = store.read(group.images / "images.parquet", tables.IMAGES)
    rows = images.loc[images["split"] == "test", "row"].to_numpy()
    probabilities = served.predict(np.array(store.read_array(group.images / "images.npy")[rows]))
    table = store.read(group.models / "predictions.parquet", tables.PREDICTIONS)
    expected = table.loc[table["model"] == "resnet50", "probability"].to_numpy()
    np.testing.assert_allclose(probabilities.max(1), expected, atol=1e-5)


def test_every_technique_has_explained_original_and_perturbed_images(
    run: Runner, project: Path
) -> None:
    listed = json.loads(run("pasta", "techniques", "--json").stdout)
    assert len(listed) == 46 and not any(row["extra"] for row in listed)
    every = json.loads(run("pasta", "techniques", "--json", "--extras").stdout)
    every = [row for row in every if row["backbone"] in ORDER]  # the profile has no VGG-19
    for group in groups(root=project):
        folder = group.explanations
        explained = store.read(folder / "explanations.parquet", tables.EXPLANATIONS)
        assert set(explained["method"] + "/" + explained["backbone"]) == {
            row["technique"] for row in every
        }
        perturbed = store.read(folder / "perturbed.parquet", tables.PERTURBED)
        assert len(perturbed) == 2 * len(explained)
        shares = store.read_json(folder / "explanations.json")["not_ok"]
        assert set(shares) == {row["technique"] for row in every}
    for name in ("resnet50", "vit_b_16", "clip_zero_shot", "concepts"):
        with Image.open(project / f"reports/figures/gallery/{name}.jpg") as picture:
            assert picture.width > 500


def test_an_image_is_explained_from_the_command_line(run: Runner, project: Path) -> None:
    pixels = store.read_array(project / "pipelines/data/images/coco/images.npy")
    Image.fromarray(np.array(pixels[1])).save(project / "two.png")
    asked = ("pasta", "explain", "two.png", "--dataset", "coco")
    run(*asked, "--technique", "gradcam/resnet50")
    run(*asked, "--technique", "rise_cbm/clip_qda", "--out", "bars.png", "--class", "workplace")
    run(*asked, "--all", "--out", "sheet.jpg")
    for name in ("two.gradcam-resnet50.png", "bars.png", "sheet.jpg"):
        with Image.open(project / name) as picture:
            assert min(picture.size) > 100
    for wrong, reason in {
        "rise_cbm/vit_b_16": "RISE-CBM needs a concept model; vit_b_16 is not one",
        "gradcam": "method/backbone",
    }.items():
        refused = run(*asked, "--technique", wrong, "--out", "no.png", check=False)
        assert refused.returncode == 1 and reason in refused.stderr
    unnamed = run(*asked, "--technique", "gradcam/resnet50", "--out", "no.txt", check=False)
    assert unnamed.returncode == 2 and not (project / "no.png").exists()


def test_images_are_predicted_from_the_command_line(run: Runner, project: Path) -> None:
    pixels = store.read_array(project / "pipelines/data/images/coco/images.npy")
    Image.fromarray(np.array(pixels[0])).save(project / "one.png")
    asked = ("pasta", "predict", "one.png", "--dataset", "coco", "--model")
    answer = json.loads(run(*asked, "clip_qda", "--json").stdout)[0]
    assert len(answer["classes"]) == 5 and len(answer["concepts"]) == 5
    assert sum(entry["probability"] for entry in answer["classes"]) <= 1 + 1e-6
    assert answer["trained_on"] == "drawings"
    told = run(*asked, "resnet50")
    assert "probability" in told.stdout and "were trained on drawings" in told.stderr
    wrong = run(*asked, "resnet51", check=False)
    assert wrong.returncode == 1 and "Did you mean 'resnet50'?" in wrong.stderr
    assert "resnet50_bcos" in run("pasta", "models").stdout


def test_every_report_is_there_and_the_outcome_names_them(run: Runner, project: Path) -> None:
    said = run("pasta", "outcome").stdout
    assert "What was found" in said and said.count("\n- ") == 5  # one for each study
    for name in REPORTS:
        assert f"reports/{name}.pdf" in said
        text = _text(project / f"reports/{name}.pdf")
        assert "Made of simulated votes" in text and "this was not computed" not in text
    before = (project / "reports/agreement.pdf").read_bytes()
    run("pasta", "report", "agreement", "--out", "elsewhere")
    assert (project / "elsewhere/agreement.pdf").read_bytes() == before
    assert (project / "reports/agreement.pdf").read_bytes() == before
    assert "replication" in run("pasta", "report").stdout
    refused = run("pasta", "report", "agreement", "--out", "reports", check=False)
    assert refused.returncode == 1 and "choose another folder" in refused.stderr


def test_metrics_and_their_study_are_tables_and_a_run(run: Runner, project: Path) -> None:
    for group in groups(root=project):
        explained = store.read(group.explanations / "explanations.parquet", tables.EXPLANATIONS)
        values = store.read(
            group.metrics / "metric_values.parquet",
            tables.METRIC_VALUES,
            {"explanations": explained},
        )
        maps = explained.loc[explained["kind"] == "saliency", "sample_id"]
        assert set(values["sample_id"]) == set(maps)
        assert (values["value"].notna() == (values["status"] == "ok")).all()
    found = pd.read_csv(project / "pipelines/data/analyse/correlation/correlations.csv")
    assert {"overall", "dataset", "backbone", "within technique"} == set(found["scope"])
    client = mlflow.MlflowClient(f"sqlite:///{project / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("correlations")
    assert experiment is not None
    wanted = "tags.stage = 'analyse@correlation'"
    (study,) = client.search_runs([experiment.experiment_id], wanted)
    assert "closest rho.Q1" in study.data.metrics and len(study.data.metrics) == 6
    for experiment in client.search_experiments():
        for one in client.search_runs([experiment.experiment_id], max_results=1000):
            assert one.data.metrics and one.data.tags["mlflow.note.content"], one.info.run_name
            assert {"stage", "seeds", "data", "git.commit"} <= set(one.data.tags)
            read = one.inputs is not None and one.inputs.dataset_inputs
            draws = one.data.tags["stage"].partition("@")[0] in ("texts", "experiments")
            assert read or draws, one.info.run_name  # these two draw what they need
    alias = client.get_model_version_by_alias("pasta-score", "ci")
    assert str(alias.version) == "1"


def test_the_joins_hold_attention_against_utility_and_score_what_participants_saw(
    project: Path,
) -> None:
    folder = project / "pipelines/data/joins"
    rivals = pd.read_csv(folder / "rivals.csv")
    utility = rivals[rivals["target"].str.startswith("utility")]
    assert set(utility["kind"]) == {"segmentation", "metrics"}
    assert set(utility["n"]) == {2} and utility["estimate"].isna().all()  # methods with both
    assert set(rivals["target"]) >= {"Q1", "Q4"}
    shown = pd.read_csv(folder / "shown.csv").set_index(["experiment", "condition"])
    assert "control" not in shown.index.get_level_values(1) and (shown["n"] > 0).all()
    assert shown["stars"].between(1, 5).all() and shown["familiar"].between(0, 1).all()


def test_what_people_answer_in_the_app_is_in_the_reports_and_only_that_runs_again(
    run: Runner, project: Path
) -> None:
    before = store.read_json(project / "pipelines/data/votes/ratings/annotations.json")
    assert before["simulated"] == before["votes"] > 0
    run("pasta", "annotations", "simulate", "new", "--samples", "5")
    wrong = (project / "new/votes.csv").read_text().replace(",Q1,5,", ",Q1,7,")
    (project / "wrong.csv").write_text(wrong + "coco/1/lime/vit_b_16,nobody,Q1,3,,true\n")
    for command in ("check", "import"):
        file = ("wrong.csv", "--annotators", "new/annotators.csv")
        refused = run("pasta", "annotations", command, *file, check=False)
        said = refused.stdout + refused.stderr
        assert refused.returncode == 1 and "'nobody'" in said and "line" in said
    assert "up to date" in run("dvc", "status").stdout
    _answer_in_the_app(run, project / "study")
    pulled = run("pasta", "study", "pull", "study").stdout
    assert f"Q6 {SAMPLES * VOTES}" in pulled and "simulated votes give way" in pulled
    assert (project / "pipelines/annotations/batches.dvc").is_file()
    assert "nothing changes" in run("pasta", "study", "pull", "study").stdout
    again = run("dvc", "repro").stdout
    ran = {line.split("'")[1] for line in again.splitlines() if line.startswith("Running stage")}
    analysed = {"analyse", "joins", "headlines", "report"}
    again_after_votes = {"votes", "score", "applications", *analysed}
    assert {name.partition("@")[0] for name in ran} == again_after_votes
    overview = _text(project / "reports/overview.pdf")
    assert "What changed since the version before" in overview
    assert re.search(r"votes before, 3.000 now", overview) and "study.votes" not in overview
    assert "The number of votes" in run("pasta", "changes", "--all").stdout
    after = store.read_json(project / "pipelines/data/votes/ratings/annotations.json")
    assert (after["votes"], after["simulated"]) == (SAMPLES * VOTES * 6, 0)
    assert after["simulated_left_out"] == before["votes"]
    folder = project / "pipelines/data/votes/ratings"
    labels = store.read(folder / "labels.parquet", rating_tables.LABELS)
    assert labels["sample_id"].nunique() == SAMPLES
    agreement = _text(project / "reports/agreement.pdf")
    assert f"{PEOPLE} annotators gave" in agreement
    assert "votes are simulated" not in agreement and "simulated votes" not in agreement
    assert "study" in run("pasta", "annotations", "batches").stdout


def _answer_in_the_app(run: Runner, folder: Path) -> None:
    """People come to the rating study by HTTP and answer it to the end."""
    size = ("--annotators", str(PEOPLE), "--votes", str(VOTES), "--samples", str(SAMPLES))
    run("pasta", "study", "ratings", "new", folder.name, *size)
    design = load_design(folder)
    everybody_answers(folder, PEOPLE, lambda number: knowing(design, with_taste(number)))


@pytest.mark.parametrize("form", ["tidy", "released", "label_studio"])
def test_what_is_exported_can_be_imported_unchanged(
    run: Runner, project: Path, form: str, tmp_path: Path
) -> None:
    from pasta.studies.batches import merged, project_batches
    from pasta.studies.importing import import_file
    from pasta.studies.ratings.protocol import load_protocol
    from pasta.studies.ratings.study import rating_study

    out = tmp_path / "export"
    run("pasta", "annotations", "export", str(out), "--format", form, "--pictures")
    if form == "label_studio":
        assert "Rating" in (out / "config.xml").read_text()
    study = rating_study(load_protocol("p2"))
    import_file(out, study, tmp_path / "batches", study.outside(project))
    original = merged(study, project_batches(study, project))
    for name, part in merged(study, [*(tmp_path / "batches").iterdir()]).items():
        pd.testing.assert_frame_equal(part, original[name])
    if form == "released":  # and complete for somebody who has nothing but the folder
        release = read_release(out)
        assert set(map(sample_id, release.entries)) == set(original["votes"]["sample_id"])
        assert not release.left_out


def test_the_studies_are_nested_runs_and_the_score_answers(run: Runner, project: Path) -> None:
    found = store.read(project / "pipelines/data/score/score_results.parquet", tables.SCORE_RESULTS)
    assert {"main", "split", "n top"} <= set(found["study"])
    assert set(found.loc[found["level"] == "ordinal", "measure"]) >= {"qwk", "mse", "coverage"}
    client = mlflow.MlflowClient(f"sqlite:///{project / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("scorers")
    assert experiment is not None
    runs = client.search_runs([experiment.experiment_id], max_results=500)
    main = next(one for one in runs if one.info.run_name == "score: main")
    children = [one for one in runs if one.data.tags.get("mlflow.parentRunId") == main.info.run_id]
    assert {"main: ordinal", "main: pasta-linear"} <= {one.info.run_name for one in children}
    folder = project / "mine"
    folder.mkdir(exist_ok=True)
    random = np.random.default_rng(0)
    for number in range(3):
        pixels = random.integers(0, 256, (96, 96, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"coco_{number}_workplace.png")
        np.save(folder / f"coco_{number}_workplace.npy", random.random((96, 96)))
    answer = json.loads(run("pasta", "score", "mine", "--question", "Q1", "--json").stdout)
    assert answer["question"] == "Q1" and answer["n"] == 3 and len(answer["scores"]) == 3
    assert 1 <= answer["ci95"][0] <= answer["mean"] <= answer["ci95"][1] <= 5
    assert 1 <= answer["rank"] <= 47
    empty = run("pasta", "score", "reports", "--question", "Q9", check=False)
    assert empty.returncode == 1


def _text(file: Path) -> str:
    pdf = pypdfium2.PdfDocument(file)
    pages = [pdf[number].get_textpage().get_text_range() for number in range(len(pdf))]
    pdf.close()
    return "\n".join(pages)
