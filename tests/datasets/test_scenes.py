"""Scene labels of COCO: the table of scenes, published weights, kept units, bad input."""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import pickletools
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torchvision import models
from typer.testing import CliRunner

from pasta import store
from pasta.commands.data import app
from pasta.datasets.files import FILES
from pasta.datasets.files.check import inspect
from pasta.datasets.files.scenes import (
    OUTDOOR,
    SceneNetwork,
    find_weights,
    group_scenes,
    label_coco,
    scene_groups,
)
from pasta.datasets.vocabulary import VOCABULARIES
from pasta.errors import InputError, PastaError
from tests.datasets import trees

CLASSES = VOCABULARIES["coco"].classes
SCENES = list(scene_groups())
UNTRAINED = SceneNetwork("resnet18", "random", 3)
# sha256 of categories_places365.txt in github.com/CSAILVision/places365
OFFICIAL = "2affba635eb657e7ca95f4e6cc69bd9fac29ef4c32aeb83cafdfcd06ec6a1ea6"


def checkpoint(path: Path, scene: str, architecture: str = "resnet18", outputs: int = 365) -> Path:
    """Weights as the authors publish them, of a network that sees one scene in every image."""
    model: Any = models.get_model(architecture, weights=None, num_classes=outputs)
    with torch.no_grad():
        model.fc.weight.zero_()
        model.fc.bias.zero_()
        model.fc.bias[SCENES.index(scene) if outputs == 365 else 0] = 30
    state = {f"module.{name}": value for name, value in model.state_dict().items()}
    content = {"arch": architecture, "epoch": 90, "best_prec1": 54.6, "state_dict": state}
    torch.save(content, path, _use_new_zipfile_serialization=False)
    return path


def write_as_python_2(path: Path) -> Path:
    """Rewrite the texts of an old checkpoint as Python 2 wrote them, as bytes."""
    stream, out = io.BytesIO(path.read_bytes()), io.BytesIO()
    for _ in range(5):  # magic number, protocol, system, content, keys of the storages
        ops = list(pickletools.genops(stream))
        places = [int(position or 0) for _, _, position in ops] + [stream.tell()]
        whole = stream.getvalue()
        for (op, argument, _), start, end in zip(ops, places, places[1:], strict=False):
            if op.name == "BINUNICODE":
                letters = str(argument).encode()
                out.write(b"U" + bytes([len(letters)]) + letters)
            else:
                out.write(whole[start:end])
    out.write(stream.read())
    path.write_bytes(out.getvalue())
    return path


def use(weights: Path, architecture: str = "resnet18") -> SceneNetwork:
    return SceneNetwork(architecture, find_weights(architecture, str(weights)))


@pytest.fixture
def coco(tmp_path: Path) -> Path:
    """COCO without scene labels; the image 285 has no object."""
    root = trees.coco(tmp_path / "coco")
    (root / "scene_labels.csv").unlink()
    return root


def test_the_table_has_each_of_the_365_scenes_in_the_order_of_the_outputs() -> None:
    lines = (f"/{scene[0]}/{scene} {place}" for place, scene in enumerate(SCENES))
    assert hashlib.sha256("\n".join(lines).encode()).hexdigest() == OFFICIAL
    assert set(scene_groups().values()) == {*CLASSES, OUTDOOR}
    sides = Counter("out" if group == OUTDOOR else "in" for group in scene_groups().values())
    assert sides == {"in": 160, "out": 205}
    named = {scene: group for scene, group in scene_groups().items() if scene.endswith("/outdoor")}
    assert named and set(named.values()) == {OUTDOOR}


def test_the_kind_of_place_is_that_of_most_probability_together() -> None:
    def row(**shares: float) -> list[float]:
        known = {name.replace("__", "/"): share for name, share in shares.items()}
        return [known.get(scene, 0.0) for scene in SCENES]

    probabilities = np.array(
        [
            row(kitchen=0.2, bedroom=0.2, office=0.3, beach=0.3),  # home .4 against workplace .3
            row(beach=0.6, kitchen=0.4),  # not indoor enough
            row(beach=0.4, museum__indoor=0.6),
            row(ski_slope=0.5, bar=0.5),  # exactly half is not more than half
        ]
    )
    inside, labels = group_scenes(probabilities, CLASSES, 0.5)
    assert inside == pytest.approx([0.7, 0.4, 0.6, 0.5])
    assert labels.tolist() == ["home_or_hotel", "", "cultural", ""]
    assert group_scenes(probabilities, CLASSES, 0.39)[1][1] == "home_or_hotel"


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0, 1))
def test_grouping_agrees_with_a_plain_loop(seed: int, indoor: float) -> None:
    probabilities = np.random.default_rng(seed).dirichlet(np.full(365, 0.05), 4)
    inside, labels = group_scenes(probabilities, CLASSES, indoor)
    for row, share, label in zip(probabilities, inside, labels, strict=True):
        sums = dict.fromkeys(CLASSES, 0.0)
        for scene, probability in zip(SCENES, row, strict=True):
            if scene_groups()[scene] != OUTDOOR:
                sums[scene_groups()[scene]] += probability
        assert share == pytest.approx(sum(sums.values()))
        if abs(share - indoor) > 1e-9:
            assert label == (max(sums, key=lambda name: sums[name]) if share > indoor else "")


@pytest.mark.parametrize("python", [2, 3])
def test_published_weights_label_what_the_importer_reads(
    coco: Path, tmp_path: Path, python: int
) -> None:
    weights = checkpoint(tmp_path / "resnet18_places365.pth.tar", "library/indoor")
    if python == 2:
        write_as_python_2(weights)
    table, left_out = label_coco(coco, use(weights))
    assert not left_out
    assert table["image_id"].tolist() == [139, 9, 25]  # 285 shows nothing that COCO knows
    assert set(table["scene"]) == {"library/indoor"} and table["probability"].min() > 0.99
    items = FILES["coco"](coco, 0).items()
    assert [item.label for item in items] == ["cultural"] * 3
    assert pd.read_csv(coco / "scenes.csv")["label"].tolist() == ["cultural"] * 3
    assert not [file for file in coco.iterdir() if file.name.endswith(".unfinished")]


def test_random_weights_run_the_real_network_and_depend_on_the_seed(coco: Path) -> None:
    runner = CliRunner()
    command = ["label", "coco", "--root", str(coco), "--weights", "random", "--network", "resnet18"]
    done = runner.invoke(app, [*command, "--indoor", "0.2"])
    assert done.exit_code == 0, done.output
    assert "3 of 3 images are indoor (P1 has 53,051)" in done.output
    assert "random weights" in done.output
    first = (coco / "scenes.csv").read_bytes()
    again = runner.invoke(app, [*command, "--indoor", "0.2"])
    assert isinstance(again.exception, PastaError) and "--overwrite" in str(again.exception)
    assert runner.invoke(app, [*command, "--indoor", "0.2", "--overwrite"]).exit_code == 0
    assert (coco / "scenes.csv").read_bytes() == first
    label_coco(coco, SceneNetwork("resnet18", "random", 77), indoor=0.2, overwrite=True)
    assert (coco / "scenes.csv").read_bytes() != first
    sizes = next(one for one in inspect("coco", coco) if one.what == "published size")
    assert sizes.state == "ok" and "P1 has 53,051 indoor images, this folder 3" in sizes.detail


def test_a_run_that_stopped_goes_on_and_does_nothing_twice(coco: Path) -> None:
    bad = coco / "train2017/000000000025.jpg"
    whole = bad.read_bytes()
    bad.write_bytes(whole[:300])
    with pytest.raises(InputError, match=r"1 of 3 images cannot be read: train2017/000000000025"):
        label_coco(coco, UNTRAINED, indoor=0.2, batch=1)
    assert not (coco / "scene_labels.csv").exists() and not (coco / "scenes.csv").exists()
    kept = next((coco / ".scene_labels.csv.unfinished").iterdir())
    # What was finished is taken as it stands: say that one image shows nothing but a kitchen.
    before = {file: file.read_bytes() for file in kept.iterdir()}
    assert len(before) == 3
    kitchen = np.eye(365, dtype=np.float16)[[SCENES.index("kitchen")]]
    for file in before:
        with np.load(file) as found:
            if not found["problems"][0]:
                np.savez(file, probabilities=kitchen, problems=found["problems"])
    bad.write_bytes(whole)
    table, _ = label_coco(coco, UNTRAINED, indoor=0.2, batch=1)
    kitchens = table.set_index("image_id")["scene"] == "kitchen"
    assert kitchens.to_dict() == {139: True, 9: True, 25: False}
    assert not kept.exists()


def test_other_weights_take_nothing_of_an_earlier_attempt(coco: Path, tmp_path: Path) -> None:
    image = coco / "val2017/000000000139.jpg"
    whole = image.read_bytes()
    image.write_bytes(b"nothing")
    for weights in (
        checkpoint(tmp_path / "a.pth", "bar"),
        checkpoint(tmp_path / "b.pth", "office"),
    ):
        with pytest.raises(InputError, match="cannot be read"):
            label_coco(coco, use(weights), batch=1)
    image.write_bytes(whole)
    table, _ = label_coco(coco, use(tmp_path / "b.pth"), batch=1)
    assert set(table["label"]) == {"workplace"}


def test_what_cannot_be_read_is_left_out_if_asked_for(coco: Path, tmp_path: Path) -> None:
    (coco / "train2017/000000000025.jpg").write_text("not an image")
    (coco / "train2017/000000000009.jpg").unlink()
    with pytest.raises(InputError, match=r"1 of 3 images are not there: train2017/000000000009"):
        label_coco(coco, UNTRAINED)
    weights = use(checkpoint(tmp_path / "weights.pth", "office"))
    table, left_out = label_coco(coco, weights, lenient=True)
    assert table["image_id"].tolist() == [139]
    assert [problem.split(":")[0] for problem in left_out] == [
        "train2017/000000000009.jpg",
        "train2017/000000000025.jpg",
    ]


def test_two_at_once_are_refused(coco: Path) -> None:
    with (
        store.exclusive(coco / ".scene_labels.csv.lock"),
        pytest.raises(PastaError, match="another command is making"),
    ):
        label_coco(coco, UNTRAINED)
    assert not (coco / "scenes.csv").exists()


class Runs:
    """Pickled, it would write a file when it is loaded."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.target),)


def test_weights_that_are_none_or_another_networks(coco: Path, tmp_path: Path) -> None:
    resnet18 = checkpoint(tmp_path / "resnet18.pth", "bar")
    with pytest.raises(InputError, match=r"another network.*expected a checkpoint of resnet50"):
        label_coco(coco, use(resnet18, "resnet50"))
    imagenet = checkpoint(tmp_path / "imagenet.pth", "bar", outputs=1000)
    with pytest.raises(InputError, match=r"another network.*fc\.weight"):
        label_coco(coco, use(imagenet))
    text = trees.text(tmp_path / "page.pth", "<html>Not found</html>")
    cut = tmp_path / "cut.pth"
    cut.write_bytes(resnet18.read_bytes()[:100_000])
    evil = tmp_path / "evil.pth"
    evil.write_bytes(pickle.dumps(Runs(tmp_path / "ran"), protocol=2))
    for file in (text, cut, evil):
        with pytest.raises(InputError, match="cannot be read as weights") as caught:
            label_coco(coco, use(file))
        assert caught.value.file == file
    assert not (tmp_path / "ran").exists()
    torch.save([1, 2], tmp_path / "list.pth")
    with pytest.raises(InputError, match="holds no weights"):
        label_coco(coco, use(tmp_path / "list.pth"))
    with pytest.raises(PastaError, match=r"no such file.*random"):
        find_weights("resnet50", "no/such/file.pth")
    with pytest.raises(PastaError, match="Did you mean 'resnet50'"):
        find_weights("resnet5", None)


def test_a_wrong_root_and_wrong_datasets(tmp_path: Path) -> None:
    with pytest.raises(PastaError, match=r"no such folder.*(?s:.*)instances_train2017"):
        label_coco(tmp_path / "nowhere", UNTRAINED)
    with pytest.raises(InputError, match=r"instances_val2017\.json.*no such file"):
        label_coco(tmp_path, UNTRAINED)
    done = CliRunner().invoke(app, ["label", "monumai", "--root", str(tmp_path)])
    assert "has labels of its own" in str(done.exception)
    assert not list(tmp_path.iterdir())


def test_nothing_indoor_writes_nothing(coco: Path, tmp_path: Path) -> None:
    weights = use(checkpoint(tmp_path / "weights.pth", "beach"))
    with pytest.raises(PastaError, match=r"none of 3 images is indoor.*--indoor"):
        label_coco(coco, weights)
    assert not (coco / "scene_labels.csv").exists()
