"""Parameters: typed, frozen, and errors that say where and what."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from pasta.errors import InputError
from pasta.params import Params, load_params
from tests.conftest import ROOT

PROFILES = ROOT / "pipelines" / "profiles"
DEMO = (PROFILES / "demo.yaml").read_text()


def load(text: str, tmp_path: Path) -> Params:
    file = tmp_path / "params.yaml"
    file.write_text(text)
    return load_params(file)


@pytest.mark.parametrize("name", ["demo", "ci", "paper"])
def test_every_profile_is_valid_and_knows_its_name(name: str) -> None:
    assert load_params(PROFILES / f"{name}.yaml").profile == name


def test_params_yaml_is_the_demo_profile() -> None:
    assert (ROOT / "params.yaml").read_text() == DEMO


def test_the_paper_profile_has_the_papers_settings() -> None:
    """P1 section 4.3, and the settings released with P2."""
    paper = load_params(PROFILES / "paper.yaml")
    linear, mlp = paper.scoring.linear, paper.scoring.mlp
    assert (linear.epochs, linear.batch_size, linear.learning_rate) == (500, 128, 1e-3)
    assert (linear.loss.similarity, linear.loss.squared_error, linear.loss.ranking) == (
        1,
        0.01,
        0.1,
    )
    assert (mlp.epochs, mlp.batch_size, mlp.learning_rate) == (600, 256, 2e-6)
    assert mlp.hidden == (512, 64) and mlp.weight_decay == 1e-6
    assert (mlp.loss.similarity, mlp.loss.squared_error, mlp.loss.ranking) == (0.01, 10, 0.01)
    assert (paper.embedding.encoder, paper.embedding.weights) == ("siglip-vit-l-16-384", "webli")
    assert paper.embedding.n_top == 15 and paper.annotations.ties == "smallest"


def test_parameters_cannot_be_changed_later() -> None:
    params = load_params(PROFILES / "demo.yaml")
    with pytest.raises(ValidationError):
        params.seed = 3


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("seed: 0", "sead: 0", r"sead: unknown key\. Did you mean 'seed'\?"),
        ("seed: 0", "seed: -1", r"seed: found -1, expected greater than or equal to 0"),
        ("seed: 0", "seed: zero", r"seed: found 'zero', expected a valid integer"),
        ("seed: 0", "seed: 0.5", r"seed: found 0\.5, expected a valid integer"),
        ("votes: 5", "vote: 5", r"annotations\.vote: unknown key\. Did you mean 'votes'\?"),
        ("votes: 5", "votes: 0", r"annotations\.votes: found 0, expected greater"),
        ("color_bias: 0.0", "color_bias: 1.5", r"datasets\.\w+\.color_bias: found 1\.5, expected"),
        ("train: 600", "train: null", r"datasets\.catsdogscars: source 'drawn' needs a number"),
        ("source: drawn", "source: files", r"datasets\.\w+: source 'files' needs a root"),
        ("source: drawn", "source: web", r"datasets\.\w+\.source: found 'web', expected 'drawn'"),
        ("image_size: 96", "image_size: 9", r"image_size: found 9, expected greater"),
        ("  coco:", "  cocoa:", r"datasets\.cocoa: unknown key\. Did you mean 'coco'\?"),
        ("seed: 0", "seed: 0\nseed: 1", r"cannot be read: .*duplicate key"),
        ("seed: 0", "seed: [", r"cannot be read"),
    ],
)
def test_a_wrong_value_is_named_by_its_path(
    old: str, new: str, message: str, tmp_path: Path
) -> None:
    assert old in DEMO
    with pytest.raises(InputError, match=f"(?s)params.yaml: .*{message}"):
        load(DEMO.replace(old, new), tmp_path)


def test_a_missing_key_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"annotations\.votes: this key is missing"):
        load(DEMO.replace("  votes: 5\n", ""), tmp_path)


@given(text=st.text(max_size=200))
def test_no_text_raises_anything_but_an_input_error(
    text: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with pytest.raises(InputError):
        load(text, tmp_path_factory.mktemp("params"))
