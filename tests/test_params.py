"""Parameters: typed, frozen, and errors that say where and what."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from pasta.config import (
    Params,
    checked_params,
    load_params,
    overlay,
    parse_yaml,
    profile_names,
    profile_text,
)
from pasta.errors import InputError, PastaError
from pasta.models.settings import ResNetParams
from pasta.scoring.studies import setups
from pasta.sections import complete
from tests.conftest import ROOT

DEMO = (ROOT / "params.yaml").read_text()


def load(text: str, tmp_path: Path) -> Params:
    file = tmp_path / "params.yaml"
    file.write_text(text)
    return load_params(file)


def profile(name: str) -> Params:
    return checked_params(Path(f"{name}.yaml"), profile_text(name, ROOT))


@pytest.mark.parametrize("name", profile_names(ROOT))
def test_every_profile_is_valid_and_knows_its_name(name: str) -> None:
    assert profile(name).profile == name


@pytest.mark.parametrize("name", profile_names(ROOT)[1:])
def test_a_profile_says_only_what_differs_from_its_base(name: str) -> None:
    """Laying it over the base twice is the same as once, and every leaf of it changes something.

    It may also name what another profile changes, to be laid over that one.
    """
    changes = parse_yaml(Path(name), (ROOT / f"pipelines/profiles/{name}.yaml").read_text())
    base = changes.pop("extends", "demo")
    whole = overlay(parse_yaml(Path(base), profile_text(base, ROOT)), changes)
    assert whole == parse_yaml(Path(name), profile_text(name, ROOT))
    assert overlay(whole, changes) == whole
    below = [base, "released"] if name == "ci" else [base]  # `released ci` is a release, but tiny
    known = [profile(one).model_dump(mode="json") for one in below]
    assert not [
        path
        for path, value in leaves(changes)
        if all(at(effective, path) == value for effective in known)
    ]


def test_dvc_can_set_what_the_readme_sets() -> None:
    """DVC sets only what stands in params.yaml; a default elsewhere is no key to it."""
    shown = re.findall(r"-S (\S+?)=", (ROOT / "README.md").read_text() + DEMO)
    assert "scoring.public.scorer" in shown
    demo = parse_yaml(Path("demo"), DEMO)
    assert [key for key in shown if at(demo, tuple(key.split("."))) is None] == []


def leaves(section: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, value in section.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, (*path, key))
        else:
            yield (*path, key), value


MISSING = object()


def at(section: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        if not isinstance(section, dict) or step not in section:
            return MISSING
        section = section[step]
    return section


def test_a_profile_merges_sections_replaces_lists_and_drops_keys() -> None:
    base = {"a": {"b": [1, 2], "c": 1}, "d": 4}
    assert overlay(base, {"a": {"b": [3]}, "d": "~drop"}) == {"a": {"b": [3], "c": 1}}
    assert base == {"a": {"b": [1, 2], "c": 1}, "d": 4}


def test_sections_that_share_an_anchor_are_changed_apart() -> None:
    base = parse_yaml(Path("x"), "one: &s {a: {b: 1}}\ntwo: *s\n")
    assert overlay(base, {"one": {"a": {"b": 2}}}) == {
        "one": {"a": {"b": 2}},
        "two": {"a": {"b": 1}},
    }


def test_a_profile_extends_another_and_says_what_is_wrong_with_its_base(tmp_path: Path) -> None:
    folder = tmp_path / "pipelines/profiles"
    folder.mkdir(parents=True)
    (tmp_path / "params.yaml").write_text("{profile: demo, a: {b: 1, c: 2}}")
    (folder / "one.yaml").write_text("{profile: one, a: {b: 2}}")
    (folder / "two.yaml").write_text("{extends: one, profile: two, a: {c: 3}}")
    text = profile_text("two", tmp_path)
    assert parse_yaml(Path("two"), text) == {"profile": "two", "a": {"b": 2, "c": 3}}
    assert "one.yaml, pipelines/profiles/two.yaml" in text
    (folder / "one.yaml").write_text("{extends: two, profile: one}")
    with pytest.raises(PastaError, match="in a circle: two -> one -> two"):
        profile_text("two", tmp_path)
    (folder / "one.yaml").write_text("{extends: tow, profile: one}")
    with pytest.raises(PastaError, match=r"one extends 'tow', and .*Did you mean 'two'"):
        profile_text("one", tmp_path)


def test_the_first_paper_is_an_experiment_of_its_own() -> None:
    """P1: sections 3 and 4.3, Table 3."""
    first = profile("paper_p1")
    study, embedding = first.annotations, first.embedding
    assert (study.protocol, study.annotators, study.samples) == ("p1", 15, 2200)
    assert (embedding.encoder, embedding.weights) == ("clip-vit-l-14-336", "openai")
    assert embedding.n_top == 20 and list(embedding.variants.encoders) == ["llava-1.5-7b"]
    assert first.explanations.images == 25 and first.scoring.split.by == "image"
    assert not first.scoring.label_input and first.scoring.studies.scorer == "pasta-linear"
    centre = next(one for one in setups(embedding, first.scoring) if one.study == "n top")
    assert (centre.scorer, centre.split, centre.with_label) == ("pasta-linear", "image", False)
    levels = {one.level for one in setups(embedding, first.scoring) if one.study == "main"}
    assert {"pasta-linear", "llava-1.5-7b, pasta-linear"} <= levels


@pytest.mark.parametrize("name", ["paper_p1", "paper_p2"])
def test_the_paper_profiles_have_the_papers_settings(name: str) -> None:
    """P1 section 4.3, and the settings released with P2."""
    paper = profile(name)
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
    assert paper.annotations.ties == "smallest"


def test_the_second_paper_has_four_encoders_and_24_people() -> None:
    """P2, Table 1, and the settings released with it."""
    second = profile("paper_p2")
    embedding = second.embedding
    assert (embedding.encoder, embedding.weights) == ("siglip-vit-l-16-384", "webli")
    assert set(embedding.variants.encoders) == {"clip-vit-l-14-336", "eva02-l-14-336", "blip-base"}
    assert embedding.n_top == 15 and second.scoring.split.by == "image_and_technique"
    assert second.annotations.annotators == 24 and second.explanations.images == 250
    assert second.scoring.label_input and second.scoring.studies.scorer == "pasta-mlp"
    rows = [one for one in setups(embedding, second.scoring) if one.study == "main"]
    mlps = {one.embedding.encoder for one in rows if one.scorer == "pasta-mlp"}
    assert mlps == {"siglip-vit-l-16-384", *embedding.variants.encoders}


def test_parameters_cannot_be_changed_later() -> None:
    params = profile("demo")
    with pytest.raises(ValidationError):
        params.seeds = params.seeds


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("seeds:", "seed: 0\nseeds:", r"seed: unknown key\. Did you mean 'seeds'\?"),
        ("drawing: 0", "drawings: 0", r"seeds\.drawings: unknown key\. Did you mean 'drawing'\?"),
        ("drawing: 0", "drawing: -1", r"seeds\.drawing: found -1, expected greater than or equal"),
        ("training: 0", "training: zero", r"seeds\.training: found 'zero', expected a valid int"),
        ("training: 0", "training: 0.5", r"seeds\.training: found 0\.5, expected a valid integer"),
        ("ties: smallest", "vote: 5", r"annotations\.vote: unknown key\. Did you mean 'votes'\?"),
        ("ties: smallest", "votes: 0", r"annotations\.votes: found 0, expected greater"),
        (
            "{train: 600",
            "{color_bias: 1.5, train: 600",
            r"datasets\.\w+\.color_bias: found 1\.5, expected",
        ),
        ("{train: 600", "{train: null", r"datasets\.catsdogscars: source 'drawn' needs a number"),
        (
            "{train: 600",
            "{source: files, train: 600",
            r"datasets\.\w+: source 'files' needs a root",
        ),
        (
            "{train: 600",
            "{source: web, train: 600",
            r"datasets\.\w+\.source: found 'web', expected 'drawn'",
        ),
        ("image_size: 96", "image_size: 9", r"image_size: found 9, expected greater"),
        ("coco: coco}", "coco: cocoa}", r"groups\.coco is 'cocoa', expected one of the datasets"),
        (
            ", others: 10}",
            "}",
            r"explanations\.images has a number for \w+, .*, expected one for each",
        ),
        (
            "others: 10",
            "other: 10",
            r"explanations\.images has a number for \w+, .*, expected one for",
        ),
        ("others: 10", "others: 0", r"explanations\.images.*found 0, expected greater"),
        ("coco: coco}", "two: coco}", r"must have the same keys, but not coco, two"),
        ("resnet50: {}", "resnet50: {wide: 16}", r"models\.\w+\.resnet50\.wide: unknown key"),
        ("{epochs: 10}", "{epoch: 10}", r"resnet50\.training\.epoch: .*Did you mean 'epochs'"),
        ("drawing: 0", "drawing: 0\n  drawing: 1", r"cannot be read: .*duplicate key"),
        ("drawing: 0", "drawing: [", r"cannot be read"),
    ],
)
def test_a_wrong_value_is_named_by_its_path(
    old: str, new: str, message: str, tmp_path: Path
) -> None:
    assert old in DEMO
    with pytest.raises(InputError, match=f"(?s)params.yaml: .*{message}"):
        load(DEMO.replace(old, new), tmp_path)


def test_a_missing_key_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"datasets\.catsdogscars\.train: this key is missing"):
        load(DEMO.replace("train: 600, ", ""), tmp_path)


def test_a_section_that_is_given_in_part_keeps_the_rest_of_its_default(tmp_path: Path) -> None:
    given = load(DEMO.replace("{epochs: 10}", "{epochs: 3}"), tmp_path).models["pascalpart"]
    assert given.resnet50 is not None
    training = given.resnet50.training
    assert training == ResNetParams().training.model_copy(update={"epochs": 3})


def test_the_demo_says_nothing_that_is_the_default() -> None:
    """A value stands in one place: beside the code, or in params.yaml because it differs."""
    whole = profile("demo").model_dump(mode="json")
    needed = {"protocol", "ties", "architecture", "weights", "question", "scorer"}  # for readers
    for path, value in leaves(parse_yaml(Path("demo"), DEMO)):
        if value == {} or path[0] in ("profile", "seeds", "groups") or path[-1] in needed:
            continue
        without = without_leaf(parse_yaml(Path("demo"), DEMO), path)
        try:
            rest = Params.model_validate(complete(Params, without)).model_dump(mode="json")
        except ValidationError:
            continue  # it has no default
        assert at(rest, path) != at(whole, path), ".".join(path)


def without_leaf(section: Any, path: tuple[str, ...]) -> Any:
    copied = copy.deepcopy(section)
    inner = copied
    for step in path[:-1]:
        inner = inner[step]
    del inner[path[-1]]
    return copied


@given(text=st.text(max_size=200))
def test_no_text_raises_anything_but_an_input_error(
    text: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with pytest.raises(InputError):
        load(text, tmp_path_factory.mktemp("params"))


def test_a_profile_laid_over_another_brings_back_nothing_that_the_first_took_out() -> None:
    params = checked_params(ROOT / "params.yaml", profile_text(["released", "ci"], ROOT))
    images = ["catsdogscars", "pascalpart", "monumai", "coco"]
    assert list(params.datasets) == list(params.groups) == list(params.models) == images
    assert set(params.benchmark.datasets) <= set(images)
    alone = checked_params(ROOT / "params.yaml", profile_text("ci", ROOT))
    assert {"vessel", "traffic"} < set(alone.groups)
