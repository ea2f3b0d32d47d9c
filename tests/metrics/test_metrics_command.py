"""`pasta metrics` and `pasta measure`: lists, tables, estimates, and errors that help."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import typer
from torch import Tensor, nn
from typer.testing import CliRunner

from pasta.commands.metrics import measure, metrics
from pasta.errors import PastaError
from pasta.metrics.api import Inputs, evaluate
from pasta.metrics.catalog import METRICS
from pasta.metrics.given import estimate, parse_metrics
from pasta.metrics.quantus_metrics import list_metrics
from tests.conftest import names
from tests.metrics.known import WeightedSum, distinct_weights, random_maps

torch.set_num_threads(1)
NUMBER, SIZE = 5, 12
APP = typer.Typer()
APP.command("metrics")(metrics)
APP.command("measure")(measure)


class Counting(nn.Module):
    """Two classes by the brightness of the left half; counts what it sees."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = 0

    def forward(self, images: Tensor) -> Tensor:
        self.seen += len(images)
        bright = images[:, :, :, : SIZE // 2].mean((1, 2, 3))
        return torch.stack([1 - bright, bright], 1)


class Explaining:
    """The image itself as a map; counts what it explains."""

    def __init__(self) -> None:
        self.seen = 0

    def __call__(self, images: Tensor, targets: Tensor) -> Tensor:
        assert len(images) == len(targets)
        self.seen += len(images)
        return images.mean(1)


def bright_model() -> nn.Module:
    return Counting()


def weighted_model() -> nn.Module:
    return WeightedSum(distinct_weights(SIZE))


def logits_model() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(3 * SIZE * SIZE, 4))


def explain(images: Tensor, targets: Tensor) -> Tensor:
    return images.mean(1) * (1 + targets[:, None, None])


def broken_model() -> nn.Module:
    raise OSError("no weights")


HERE = "tests.metrics.test_metrics_command"
GIVEN = ("--images", "images.npy", "--model", f"{HERE}:bright_model")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with five maps, images, masks and targets."""
    random = np.random.default_rng(0)
    np.save(tmp_path / "maps.npy", random_maps(NUMBER, SIZE).numpy())
    np.save(tmp_path / "images.npy", random.random((NUMBER, 3, SIZE, SIZE), dtype=np.float32))
    np.save(tmp_path / "masks.npy", random.random((NUMBER, SIZE, SIZE)) > 0.5)
    np.save(tmp_path / "targets.npy", np.array([0, 1, 0, 1, 1]))
    (tmp_path / "targets.csv").write_text("image,target\na,0\nb,1\nc,0\nd,1\ne,1\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def called(*arguments: str) -> Any:
    return CliRunner().invoke(APP, list(arguments))


def said(*arguments: str) -> str:
    found = called(*arguments)
    assert found.exit_code == 0, found.output + str(found.exception)
    return str(found.output)


def refused(*arguments: str) -> str:
    """The message of an error that is meant for the user."""
    found = called(*arguments)
    assert found.exit_code != 0
    if found.exit_code == 2:
        return str(found.output)
    assert isinstance(found.exception, PastaError), repr(found.exception)
    return str(found.exception)


def test_all_metrics_are_listed_by_what_they_need() -> None:
    text = said("metrics")
    assert all(name in text for name in METRICS) and "quantus/Sparsen" in text
    titles = ["From the map alone", "a mask of the object", "and the model", "explaining again"]
    places = [text.index(title) for title in titles]
    assert places == sorted(places)
    assert text.index("sparseness") < places[1] < text.index("pointing_game") < places[2]


def test_the_list_for_machines_has_everything_there_is_to_know() -> None:
    rows = {row["metric"]: row for row in json.loads(said("metrics", "--json"))}
    assert set(rows) == {*METRICS, *(entry.key for entry in list_metrics())}
    theirs = rows["quantus/MaxSensitivity"]
    assert theirs["direction"] == "lower" and theirs["category"] == "robustness"
    assert theirs["settings"]["nr_samples"] == 200 and theirs["no_value_for"]
    found = rows["max_sensitivity"]
    assert found["direction"] == "lower" and found["range"] == [0, None]
    assert found["category"] == "robustness" and found["sign"] == "signed"
    assert found["needs"] == ["maps", "images", "targets", "explainer"]
    assert found["settings"]["samples"] == 10 and found["doi"].startswith("10.")


def test_one_metric_is_shown_with_what_it_is() -> None:
    text = said("metrics", "sparseness")
    assert "Gini" in text and "deletion" not in text
    assert "Did you mean 'sparseness'?" in refused("metrics", "sparsness")


@pytest.mark.parametrize("targets", ["targets.npy", "targets.csv"])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_table_has_the_values_of_evaluate(place: Path, targets: str, suffix: str) -> None:
    text = said(
        *("measure", "maps.npy", *GIVEN, "--targets", targets, "--masks", "masks.npy"),
        *("--metrics", "deletion,sparseness,iou,faithfulness", "--seed", "4"),
        *("--option", "steps=6", "--option", "faithfulness.perturbation=black"),
        *("--out", f"values.{suffix}"),
    )
    file = place / f"values.{suffix}"
    table = pd.read_csv(file) if suffix == "csv" else pd.read_parquet(file)
    assert table.columns.tolist() == ["row", "metric", "variant", "value", "direction", "status"]
    order = [name for name in ("deletion", "sparseness", "iou", "faithfulness") for _ in range(5)]
    assert table["metric"].tolist() == order and table["row"].tolist() == [0, 1, 2, 3, 4] * 4
    given: Any = {
        "maps": np.load("maps.npy"),
        "images": np.load("images.npy"),
        "targets": np.load("targets.npy"),
        "model": bright_model(),
        "seed": 4,
    }
    expected = evaluate("deletion", **given, steps=6)
    np.testing.assert_allclose(table["value"][:5], expected, rtol=1e-6)
    expected = evaluate("faithfulness", **given, perturbation="black")
    np.testing.assert_allclose(table["value"][15:], expected, rtol=1e-6)
    assert set(table["variant"][15:]) == {"black text"}
    assert f"{table['value'][5:10].mean():.4g}" in text and f"wrote values.{suffix}" in text


def test_metrics_of_quantus_are_measured_by_name_and_with_options(place: Path) -> None:
    maps = np.load("maps.npy")
    maps[0] = 0
    np.save("maps.npy", maps)
    name = "quantus/PixelFlipping"
    text = said(
        *("measure", "maps.npy", *GIVEN, "--targets", "targets.npy", "--metrics"),
        *(f"sparseness,{name},quantus/ROAD", "--option", "features_in_step=72"),
        *("--option", "quantus/ROAD.percentages=[10]", "--out", "values.csv"),
    )
    table = pd.read_csv("values.csv")
    found, road = (table[table["metric"] == one] for one in (name, "quantus/ROAD"))
    given: Any = {key: np.load(f"{key}.npy") for key in ("maps", "images", "targets")}
    given |= {"model": bright_model(), "return_status": True}
    expected, statuses = evaluate(name, **given, features_in_step=72)
    np.testing.assert_allclose(found["value"], expected, rtol=1e-6)
    assert found["status"].tolist() == statuses == ["zero"] + ["ok"] * 4
    assert road["status"].str.contains("Error: ").sum() == 4
    assert "1 zero" in text
    dry = said("measure", "maps.npy", *GIVEN, "--metrics", "quantus/PixelFlipping", "--dry-run")
    assert "forward passes" in dry
    assert "Did you mean 'quantus/ROAD'?" in refused("metrics", "quantus/RAOD")


def test_a_map_equal_to_the_weights_scores_best_from_the_command_line(place: Path) -> None:
    weights = distinct_weights(SIZE).numpy()
    np.save("maps.npy", np.stack([weights, weights.max() - weights]))
    np.save("images.npy", np.full((2, SIZE, SIZE, 3), 255, np.uint8))  # bytes, as in image files
    model = f"{HERE}:weighted_model"
    Path("ones.csv").write_text("target\n1\n1\n")
    said(
        *("measure", "maps.npy", "--images", "images.npy", "--model", model, "--targets"),
        *("ones.csv", "--metrics", "faithfulness_correlation", "--out", "values.csv"),
    )
    found = pd.read_csv("values.csv")["value"]
    np.testing.assert_allclose(found, [1, -1], atol=1e-4)


def test_an_explainer_is_asked_again(place: Path) -> None:
    said(
        *("measure", "maps.npy", *GIVEN, "--explainer", f"{HERE}:explain"),
        *("--metrics", "max_sensitivity", "--option", "samples=2", "--out", "values.csv"),
    )
    table = pd.read_csv("values.csv")
    assert (table["value"] > 0).all() and set(table["variant"]) == {"uniform"}


def test_maps_that_show_nothing_get_a_status_and_are_counted(place: Path) -> None:
    maps = np.load("maps.npy")
    maps[0], maps[1], maps[2, 0, 0] = 0, 3, np.nan
    np.save("maps.npy", maps)
    text = said("measure", "maps.npy", *GIVEN, "--metrics", "deletion", "--out", "values.csv")
    table = pd.read_csv("values.csv", keep_default_na=False, na_values={"value": [""]})
    assert table["status"].tolist() == ["zero", "constant", "nan", "ok", "ok"]
    assert table["value"].isna().tolist() == [True, True, True, False, False]
    assert all(words in text for words in ("1 zero", "1 constant", "1 nan"))


@pytest.mark.parametrize("with_targets", [True, False])
@pytest.mark.parametrize("number", [3, 70])
def test_a_dry_run_counts_the_passes_that_are_really_made(number: int, with_targets: bool) -> None:
    wanted = parse_metrics(
        "sufficiency,faithfulness,pixel_flipping,deletion,insertion,faithfulness_correlation,"
        "road,max_sensitivity,sparseness,iou,local_lipschitz,relative_input_stability,"
        "relative_output_stability,continuity,infidelity",
        ["steps=4", "subsets=5", "percentages=[10, 50]", "samples=3", "step=30"],
    )
    maps, images = random_maps(number, SIZE), torch.rand(number, 3, SIZE, SIZE)
    maps[0], maps[1, 2, 2] = 0, torch.nan
    model, explainer = Counting(), Explaining()
    targets = [0] * number if with_targets else None
    masks = torch.ones(number, SIZE, SIZE)
    found = estimate(wanted, Inputs(maps, images, targets, masks, model, explainer))
    assert found.samples == number and found.without_value == 2 and found.seconds > 0
    model.seen = explainer.seen = 0
    from pasta.commands.metrics import _measured

    inputs = Inputs(maps, lambda part: images[part], targets, masks, model, explainer)
    _measured(wanted, inputs, 0, None, None)
    assert (found.forward_passes, found.explanations) == (model.seen, explainer.seen)


def test_a_dry_run_writes_nothing(place: Path) -> None:
    before = names(place)
    text = said("measure", "maps.npy", *GIVEN, "--metrics", "deletion,sparseness", "--dry-run")
    # 1 + 100 steps of five maps, five predicted classes and one look
    assert "forward passes: 511" in text and "minutes" in text
    assert names(place) == before


CASES: list[tuple[list[str], str]] = [
    (["--metrics", "deletoin"], "Did you mean 'deletion'"),
    (["--metrics", "max_sensitivity"], "max_sensitivity needs --explainer"),
    (["--metrics", "iou"], "iou needs --masks"),
    (["--metrics", "deletion", "--option", "stepps=3"], "none of deletion has an option 'stepps'"),
    (["--metrics", "deletion", "--option", "steps"], "expected name=value"),
    (["--metrics", "deletion", "--option", "steps=many"], "steps is 'many', expected a valid int"),
    (["--metrics", "deletion", "--option", "iou.threshold=1"], "not among the metrics"),
    (["--metrics", "deletion", "--targets", "few.csv"], "few.csv: has 2 targets (expected 5"),
    (["--metrics", "deletion", "--targets", "bad.csv"], "bad.csv, row 3, column 'target'"),
    (["--metrics", "deletion", "--targets", "large.npy"], "a target is 7"),
    (["--metrics", "deletion", "--model", "nowhere:model"], "No module named 'nowhere'"),
    (["--metrics", "deletion", "--model", "model"], "expected module:function"),
    (["--metrics", "deletion", "--model", f"{HERE}:NUMBER"], "is a int"),
    (["--metrics", "deletion", "--model", f"{HERE}:logits_model"], "say softmax=True"),
    (["--metrics", "deletion", "--model", f"{HERE}:broken_model"], "cannot be made: OSError: no"),
    (["--metrics", "deletion", "--images", "nan.npy"], "nan.npy, row 1: holds NaN"),
    (["--metrics", "deletion", "--images", "small.npy"], "small.npy: holds 5 of 6 x 6"),
    (["--metrics", "deletion", "--images", "none.npy"], "none.npy: there is no such file"),
    (["--metrics", "iou", "--masks", "images.npy"], "images.npy: holds 5 of 3 x 12 x 12"),
    (["--metrics", "iou", "--masks", "twos.npy"], "twos.npy, row 0: the mask is wrong"),
    (["--metrics", "deletion", "--out", "values.xlsx"], ".csv or .parquet"),
]


@pytest.mark.parametrize(("arguments", "words"), CASES, ids=lambda value: str(value)[-40:])
def test_bad_input_is_named_and_nothing_is_written(
    place: Path, arguments: list[str], words: str
) -> None:
    (place / "few.csv").write_text("target\n0\n1\n")
    (place / "bad.csv").write_text("target\n0\ncat\n")
    np.save("large.npy", np.array([0, 1, 7, 0, 0]))
    images = np.load("images.npy")
    np.save("small.npy", images[:, :, :6, :6])
    images[1, 0, 0, 0] = np.nan
    np.save("nan.npy", images)
    np.save("twos.npy", np.full((NUMBER, SIZE, SIZE), 2.0))
    before = names(place)
    message = refused("measure", "maps.npy", *GIVEN, "--out", "values.csv", *arguments)
    assert words in " ".join(message.replace("│", " ").split())
    assert names(place) == before


def test_maps_of_a_strange_shape_or_kind_are_refused(place: Path) -> None:
    np.save("flat.npy", np.ones((3, 4)))
    np.save("words.npy", np.array(["a", "b"]))
    (place / "maps.txt").write_text("1 2 3")
    for file, words in (
        ("flat.npy", "flat.npy: has the shape 3 x 4 (expected numbers of the shape n x height"),
        ("words.npy", "words.npy: holds <U1"),
        ("maps.txt", "maps.txt: ends in '.txt'"),
    ):
        assert words in refused("measure", file, "--metrics", "sparseness", "--out", "values.csv")


def test_help_teaches_with_an_example() -> None:
    text = " ".join(said("measure", "--help").split())
    assert "pasta measure maps.npy" in text and "--dry-run" in text
