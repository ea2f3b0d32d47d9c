"""`pasta score`: names read from both ends, a folder in, a mean and a place out."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from typer.testing import CliRunner

from pasta.commands.score import score as command
from pasta.errors import InputError, PastaError
from pasta.scoring.files import KNOWN, Named, list_folder, parse_name
from pasta.scoring.score import PastaScore, Scores, better_techniques, summarise_scores
from tests.scoring.small_scorer import ORDINAL, ORIGIN, heat, make_root, make_scorer, pictures, tiny

PAIRS = [(dataset, label) for dataset, labels in KNOWN.items() for label in labels]


@given(st.sampled_from(PAIRS), st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,8}", fullmatch=True))
def test_what_was_written_is_read(pair: tuple[str, str], image_id: str) -> None:
    dataset, label = pair
    name = f"{dataset}_{image_id}_{label}"
    for suffix in (".png", ".jpg", ".jpeg", ".npy", ".json"):
        assert parse_name(Path("somewhere") / f"{name}{suffix}") == Named(dataset, image_id, label)


@given(st.text(max_size=30))
def test_any_text_is_the_name_of_an_image(text: str) -> None:
    found = parse_name(text)
    assert found.dataset is None or found.dataset in KNOWN
    assert found.image_id == Path(text).stem or found.dataset is not None
    assert found.label is None or found.dataset is not None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("catsdogscars_0052_cats.png", Named("catsdogscars", "0052", "cat")),
        ("catsdogscars_137_dog.npy", Named("catsdogscars", "137", "dog")),
        ("coco_7_sports_and_leisure.json", Named("coco", "7", "sports_and_leisure")),
        ("monumai_3_Hispanic-Muslim.npy", Named("monumai", "3", "Hispanic-Muslim")),
    ],
)
def test_released_names(name: str, expected: Named) -> None:
    assert parse_name(name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("heat.npy", Named(None, "heat", None)),
        ("coco_12.npy", Named("coco", "12", None)),
        ("coco__workplace.npy", Named(None, "coco__workplace", None)),
        ("cocoa_12_workplace.npy", Named(None, "cocoa_12_workplace", None)),
        ("coco_12_work_place.npy", Named("coco", "12", "work_place")),
        ("ILSVRC2012_val_00000293.JPEG", Named(None, "ILSVRC2012_val_00000293", None)),
    ],
)
def test_other_names_are_those_of_images_without_a_known_label(name: str, expected: Named) -> None:
    assert parse_name(name) == expected


def test_a_scorers_own_classes_decide() -> None:
    own = {"birds": ("great_tit", "tit"), "birds_north": ("owl",)}
    assert parse_name("birds_1_great_tit.npy", own) == Named("birds", "1", "great_tit")
    assert parse_name("birds_north_1_owl.npy", own) == Named("birds_north", "1", "owl")


NAMES = ("catsdogscars_1_cat", "coco_2_home_or_hotel", "monumai_3_Gothic", "pascalpart_4_bus")
LABELS = ["cat", "home_or_hotel", "Gothic", "bus"]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    encoder = tiny()
    root = make_root(tmp_path_factory.mktemp("project"), encoder)
    make_scorer(root, encoder)
    return root


@pytest.fixture(autouse=True)
def inside(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)


def run(*arguments: str) -> Any:
    app = typer.Typer()
    app.command()(command)
    result = CliRunner().invoke(app, arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def maps_in(folder: Path) -> Path:
    folder.mkdir()
    for name, image, saliency in zip(NAMES, pictures(4), heat(12)[::3], strict=True):
        Image.fromarray(image).save(folder / f"{name}.png")
        np.save(folder / f"{name}.npy", saliency)
    return folder


def test_json_says_what_python_says(tmp_path: Path) -> None:
    report = json.loads(run(str(maps_in(tmp_path / "maps")), "--json").stdout)
    metric = PastaScore.load("Q1")
    found = metric(image=pictures(4), saliency=heat(12)[::3], label=LABELS)
    assert isinstance(found, Scores)
    assert found.low is not None
    assert [one["file"] for one in report["scores"]] == [f"{name}.npy" for name in NAMES]
    assert [one["score"] for one in report["scores"]] == pytest.approx(found.score, abs=1e-4)
    assert [one["interval"][0] for one in report["scores"]] == pytest.approx(found.low, abs=1e-4)
    assert (report["question"], report["n"]) == ("Q1", 4)
    assert report["mean"] == pytest.approx(float(found.score.mean()), abs=1e-4)
    assert report["ci95"][0] <= report["mean"] <= report["ci95"][1]
    means = metric.card.techniques["Q1"]
    assert report["rank"] == 1 + sum(mean > report["mean"] for mean in means.values())
    assert report["techniques"] == len(means) == 3
    assert report["origin"] == found.origin == ORIGIN


def test_the_place_follows_the_direction_of_the_question(tmp_path: Path) -> None:
    folder = maps_in(tmp_path / "maps")
    report = json.loads(run(str(folder), "--question", "Q3", "--json").stdout)
    means = PastaScore.load("Q3").card.techniques["Q3"]
    assert report["rank"] == 1 + sum(mean < report["mean"] for mean in means.values())
    page = " ".join(run(str(folder), "--question", "Q3").stdout.split())
    assert "(fewer stars are better)" in page and f"The scorer has {ORIGIN}." in page


def test_csv_and_the_page_for_people(tmp_path: Path) -> None:
    folder = maps_in(tmp_path / "maps")
    table = tmp_path / "scores.csv"
    assert f"wrote {table}" in run(str(folder), "--out", str(table)).stdout
    rows = list(csv.DictReader(io.StringIO(table.read_text())))
    assert [row["file"] for row in rows] == [f"{name}.npy" for name in NAMES]
    assert all(1 <= float(row["low"]) <= float(row["score"]) <= float(row["high"]) for row in rows)
    page = run(str(folder), "--question", "Q3").stdout
    assert "mean of 4" in page
    assert "95 % CI" in page
    assert "among the 3 techniques" in page
    assert run(str(folder), "--out", "scores.txt").exit_code == 2


def test_images_may_be_elsewhere_and_concepts_need_none(tmp_path: Path) -> None:
    folder, images = maps_in(tmp_path / "maps"), tmp_path / "images"
    beside = json.loads(run(str(folder), "--json").stdout)
    images.mkdir()
    for file in folder.glob("*.png"):
        shutil.move(file, images / file.name)
    apart = json.loads(run(str(folder), "--json", "--images", str(images)).stdout)
    assert apart == beside
    for file in folder.glob("*.npy"):
        file.unlink()
        file.with_suffix(".json").write_text(json.dumps({"wheel": 0.5, "eye": -0.1}))
    assert json.loads(run(str(folder), "--json").stdout)["n"] == 4


def test_photographs_of_any_name_are_scored_without_a_label(tmp_path: Path) -> None:
    folder = tmp_path / "maps"
    folder.mkdir()
    for name, image in zip(("first.jpg", "second.JPEG"), pictures(2), strict=True):
        Image.fromarray(image).save(folder / name.lower())
        np.save(folder / f"{Path(name).stem}.npy", 7 * heat(1)[0, ::4, ::4])
    report = json.loads(run(str(folder), "--json").stdout)
    assert [one["status"] for one in report["scores"]] == ["ok", "ok"]
    for one in report["scores"]:
        assert one["notes"][:3] == [
            "the map was resized from 8 x 8 to 32 x 32",
            one["notes"][1],
            "scored without a label: none was given",
        ]
        assert one["notes"][1].startswith("the map was divided by")
    page = " ".join(run(str(folder)).stdout.split())
    assert "Note: 2 of 2 maps were resized to their images." in page
    assert "Note: 2 of 2 maps were divided by their largest value." in page
    assert "Note: 2 of 2 were scored without a label that the scorer knows." in page
    named = json.loads(run(str(folder), "--json", "--label", "cat").stdout)
    assert not any("label" in note for one in named["scores"] for note in one["notes"])
    assert named["mean"] != pytest.approx(report["mean"], abs=1e-6)
    Image.fromarray(pictures(1)[0]).save(folder / "first.png")
    with pytest.raises(InputError, match=r"there are first.png and first.jpg"):
        run(str(folder))


def test_an_unknown_class_in_a_name_is_a_note(tmp_path: Path) -> None:
    folder = maps_in(tmp_path / "maps")
    for suffix in (".png", ".npy"):
        (folder / f"{NAMES[1]}{suffix}").rename(folder / f"coco_2_workplce{suffix}")
    notes = {
        one["file"]: one["notes"] for one in json.loads(run(str(folder), "--json").stdout)["scores"]
    }
    assert "Did you mean 'workplace'?" in notes["coco_2_workplce.npy"][0]
    assert not any("label" in line for line in notes[f"{NAMES[0]}.npy"])


def test_a_question_that_is_hardly_predicted_is_answered_with_a_warning(tmp_path: Path) -> None:
    folder = maps_in(tmp_path / "maps")
    weak = "the scorer hardly predicts Q3: held-out kappa 0.10"
    report = json.loads(run(str(folder), "--question", "Q3", "--json").stdout)
    assert (report["kappa"], report["warning"]) == (0.1, weak)
    assert all(weak in one["notes"] for one in report["scores"])
    assert f"Warning: {weak}." in " ".join(run(str(folder), "--question", "Q3").stdout.split())
    good = json.loads(run(str(folder), "--json").stdout)
    assert (good["kappa"], good["warning"]) == (0.6, None)


def test_scores_without_information_are_marked(tmp_path: Path) -> None:
    """Ratings were random, so with a coverage of 99.9 % every interval is nearly the scale."""
    encoder = tiny()
    wide = ORDINAL.model_copy(update={"coverage": 0.999})
    other = make_scorer(tmp_path / "wide", encoder, settings=wide)
    result = run(str(maps_in(tmp_path / "maps")), "--json", "--scorer", str(other))
    report = json.loads(result.stdout)
    assert report["uninformative"] == 4
    assert "4 of 4 scores carry no information" in result.stderr
    for one in report["scores"]:
        assert not one["informative"]
        assert any(note.startswith("no information: the interval covers") for note in one["notes"])
    page = run(str(tmp_path / "maps"), "--scorer", str(other)).stdout
    assert page.count("no information") >= 4
    table = tmp_path / "scores.csv"
    run(str(tmp_path / "maps"), "--out", str(table), "--scorer", str(other))
    assert not pd.read_csv(table)["informative"].any()


def test_only_pictures_are_explanations_already_drawn(tmp_path: Path) -> None:
    folder = maps_in(tmp_path / "maps")
    for file in folder.glob("*.npy"):
        file.unlink()
    result = run(str(folder), "--json")
    assert "already drawn" in result.stderr
    found = PastaScore.load("Q1")(picture=pictures(4), label=LABELS)
    assert isinstance(found, Scores)
    stars = [one["score"] for one in json.loads(result.stdout)["scores"]]
    assert stars == pytest.approx(found.score, abs=1e-4)


def test_constant_maps_have_no_score_and_are_counted(tmp_path: Path) -> None:
    folder = maps_in(tmp_path / "maps")
    np.save(folder / f"{NAMES[1]}.npy", np.full((32, 32), 0.5))
    result = run(str(folder), "--json")
    report = json.loads(result.stdout)
    assert report["n"] == 3
    assert report["scores"][1] == {
        "file": f"{NAMES[1]}.npy",
        "score": None,
        "interval": None,
        "familiar": False,
        "informative": True,
        "status": "constant",
        "notes": [],
    }
    assert f"1 of 4 explanations show nothing and have no score, the first is {NAMES[1]}.npy" in (
        result.stderr
    )
    for name in NAMES:
        np.save(folder / f"{name}.npy", np.zeros((32, 32)))
    empty = json.loads(run(str(folder), "--json").stdout)
    assert (empty["n"], empty["mean"], empty["ci95"], empty["rank"]) == (0, None, None, None)
    assert "no explanation here can be scored" in run(str(folder)).stdout


def test_strange_inputs_are_warned_about(tmp_path: Path, project: Path) -> None:
    encoder = tiny()
    other = make_scorer(tmp_path / "strict", encoder, familiar={})  # knows no kind at all
    result = run(str(maps_in(tmp_path / "maps")), "--json", "--scorer", str(other))
    assert "4 of 4 explanations look unlike what the scorer was trained on" in result.stderr
    assert json.loads(result.stdout)["unfamiliar"] == 4
    usual = run(str(tmp_path / "maps"), "--json")
    assert "look unlike" not in usual.stderr


@pytest.mark.parametrize(
    ("name", "saliency", "message"),
    [
        (NAMES[2], np.full((32, 32), np.nan), r"monumai_3_Gothic.npy: the map: 1024 of 1024"),
        (NAMES[0], heat(1)[0, 0], r"catsdogscars_1_cat.npy: .*it is 32 \(expected height x width"),
        ("coco_9_workplace", heat(1)[0], r"coco_9_workplace.npy: there is no image for this map"),
        ("mine", heat(1)[0], r"mine.npy: there is no image for this map"),
    ],
)
def test_a_bad_file_is_named(tmp_path: Path, name: str, saliency: Any, message: str) -> None:
    folder = maps_in(tmp_path / "maps")
    np.save(folder / f"{name}.npy", saliency)
    with pytest.raises(PastaError, match=message):
        run(str(folder))


def test_folders_that_cannot_be_scored_say_why(tmp_path: Path) -> None:
    with pytest.raises(PastaError, match="there is no such folder"):
        run(str(tmp_path / "nothing"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="the folder is empty"):
        run(str(tmp_path / "empty"))
    folder = maps_in(tmp_path / "maps")
    with pytest.raises(PastaError, match="has not learned 'Q7'"):
        run(str(folder), "--question", "Q7")
    (folder / "coco_5_workplace.json").write_text('{"bed": 1}')
    with pytest.raises(InputError, match=r"there are maps .* and concepts .* in one folder"):
        run(str(folder))
    (folder / "coco_5_workplace.json").unlink()
    (folder / "notes.txt").touch()
    with pytest.raises(InputError, match=r"notes.txt: is no explanation"):
        run(str(folder))
    (folder / "notes.txt").unlink()
    (folder / f"{NAMES[3]}.npy").unlink()
    with pytest.raises(InputError, match=rf"{NAMES[3]}.png: has no map of the same name"):
        run(str(folder))


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    folder = maps_in(tmp_path / "maps")
    (folder / f"{NAMES[0]}.npy").write_bytes(b"no array")
    with pytest.raises(InputError, match=rf"{NAMES[0]}.npy: cannot be read"):
        run(str(folder))
    np.save(folder / f"{NAMES[0]}.npy", heat(1)[0])
    (folder / f"{NAMES[0]}.png").write_bytes(b"no picture")
    with pytest.raises(InputError, match=rf"{NAMES[0]}.png: cannot be read"):
        run(str(folder))


def test_hidden_files_are_not_looked_at(tmp_path: Path) -> None:
    folder = maps_in(tmp_path / "maps")
    (folder / ".DS_Store").touch()
    assert len(list_folder(folder, KNOWN).files) == 4


def test_the_interval_of_the_mean_is_that_of_the_normal_approximation() -> None:
    scores = np.random.default_rng(0).normal(3, 0.5, 400)
    found = summarise_scores(np.append(scores, np.nan))
    half = 1.96 * scores.std() / 20
    assert found.n == 400
    assert found.ci95 is not None
    assert found.ci95 == pytest.approx((scores.mean() - half, scores.mean() + half), abs=0.005)
    assert summarise_scores(np.array([2.5])) == (1, 2.5, None)
    assert summarise_scores(scores) == summarise_scores(scores)


def test_places_count_the_better_techniques_in_the_direction_of_the_question() -> None:
    means = {"a": 2.0, "b": 3.0, "c": 4.0}
    more = [better_techniques(mean, means, 1) for mean in (4.5, 4.0, 3.5, 1.0)]
    assert more == [[], [], ["c"], ["a", "b", "c"]]
    fewer = [better_techniques(mean, means, -1) for mean in (4.5, 4.0, 2.5, 1.0)]
    assert fewer == [["c", "b", "a"], ["b", "a"], ["a"], []]
    assert better_techniques(float("nan"), means, 1) is None
    assert better_techniques(3.0, {}, 1) is None
