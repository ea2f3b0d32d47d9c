"""A finished pipeline in a reader's hands: README's commands, damaged files, changed code."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import mlflow
import numpy as np
import pandas as pd
import pytest
from PIL import Image
from ruamel.yaml import YAML

from pasta import store
from pasta.errors import InputError
from pasta.layout import find_group
from pasta.pinned import require_inputs, stage_inputs, stage_names
from tests.conftest import Runner
from tests.readme import readme_blocks


def test_a_plan_becomes_a_label_studio_project(run: Runner, project: Path) -> None:
    said = run("pasta", "annotations", "plan", "--annotators", "7", "--out", "plan.csv").stdout
    assert "7 annotators" in said and "hours" in said
    run("pasta", "annotations", "tasks", "plan.csv", "--out", "studio")
    tasks = json.loads((project / "studio/tasks.json").read_text())
    assert len(tasks) == pd.read_csv(project / "plan.csv")["sample_id"].nunique()
    with Image.open(project / tasks[0]["data"]["strong_changed"].partition("=")[2]) as picture:
        assert picture.width > 300


@pytest.mark.slow
def test_the_commands_of_the_readme_run_as_printed(
    run: Runner, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for person in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{person}_NAME", "test")
        monkeypatch.setenv(f"GIT_{person}_EMAIL", "test@example.org")
    _write_what_a_reader_has(project, run)
    for block in readme_blocks():
        if block.language == "sh" and block.not_run is None:
            for command in block.commands:
                if command[0] != "make":  # `make ui` stays
                    done = run(*command)
                    assert "Warning" not in done.stderr, command
    monkeypatch.chdir(project)
    (score,) = [block for block in readme_blocks() if "PastaScore" in block.text]
    names = {"image": np.zeros((96, 96, 3), np.uint8), "heatmap": np.eye(96)}
    exec(compile(score.text, f"README.md:{score.line}", "exec"), names)  # noqa: S102
    commands = [
        one for block in readme_blocks() if block.language == "sh" for one in block.commands
    ]
    (curl,) = [one for one in commands if one[0] == "curl"]
    (serve,) = [one for one in commands if one[:2] == ["mlflow", "models"]]
    request = json.loads(curl[curl.index("-d") + 1])
    mlflow.set_tracking_uri(f"sqlite:///{project / 'mlflow.db'}")
    name = serve[serve.index("-m") + 1].replace("@demo", "@ci")  # aliases are profiles
    served = mlflow.pyfunc.load_model(name)
    (answer,) = served.predict(request["dataframe_records"], params=request["params"])
    assert answer["question"] == "Q1" and 1 <= answer["score"] <= 5


def _write_what_a_reader_has(project: Path, run: Runner) -> None:
    """Files by the names that the README uses."""
    random = np.random.default_rng(0)
    pixels = random.integers(0, 256, (90, 120, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(project / "photo.jpg")
    (project / "my-method").mkdir()
    Image.fromarray(pixels[:90, :90]).save(project / "my-method/coco_1_workplace.png")
    np.save(project / "my-method/coco_1_workplace.npy", random.random((90, 90)))
    np.save(project / "maps.npy", random.random((3, 10, 10)))
    np.save(project / "images.npy", random.random((3, 3, 10, 10), dtype=np.float32))
    (project / "mymodel.py").write_text(
        "import torch\n\n\ndef load():\n"
        "    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(300, 4))\n"
    )
    run("pasta", "study", "ratings", "simulate", "reader", "--samples", "4", "--seed", "9")
    votes = pd.read_csv(project / "reader/votes.csv")
    votes[["sample_id", "annotator_id", "question", "rating"]].to_csv(
        project / "ratings.csv", index=False
    )
    (project / "people.csv").write_bytes((project / "reader/annotators.csv").read_bytes())
    (project / "votes.csv").write_bytes((project / "reader/votes.csv").read_bytes())


def test_every_stage_notices_a_flipped_byte_in_any_kind_of_file_that_it_reads(
    run: Runner, project: Path
) -> None:
    for stage in stage_names(project):
        require_inputs(stage, project)
        for file in _one_of_each_kind(project / path for path in stage_inputs(stage, project)):
            before = file.read_bytes()
            damaged = bytearray(before)
            damaged[len(damaged) // 2] ^= 1
            file.write_bytes(damaged)
            with pytest.raises(InputError, match="was changed after it was made") as caught:
                require_inputs(stage, project)
            file.write_bytes(before)
            assert caught.value.file in (file, file.parent), stage


def _one_of_each_kind(places: Iterable[Path]) -> list[Path]:
    """A file of each suffix in each of these places that stages have made."""
    made = [place for place in places if {"data", "figures"} & set(place.parts)]
    found = {
        (place, file.suffix): file
        for place in made
        for file in ([place] if place.is_file() else sorted(place.rglob("*")))
        if file.is_file() and file.stat().st_size
    }
    return list(found.values())


@pytest.mark.slow
def test_a_change_of_a_helper_far_from_the_method_gives_new_maps(
    run: Runner, project: Path
) -> None:
    """A stale map would be pinned as the new version: nothing is worse in this repository."""
    group = find_group("coco", root=project)
    before = np.array(store.read_array(group.explanations / "gradcam.resnet50.npy"))
    helper = project / "pasta/explanations/image.py"
    text = helper.read_text()
    assert text.count('"bilinear"') == 1
    helper.write_text(text.replace('"bilinear"', '"bicubic"'))
    said = run("dvc", "repro", "--single-item", "explain@coco").stdout
    helper.write_text(text)
    assert "Running stage 'explain@coco'" in said
    after = np.array(store.read_array(group.explanations / "gradcam.resnet50.npy"))
    assert before.shape == after.shape and (before != after).mean() > 0.1


def test_a_learning_rate_concerns_its_group_and_what_follows(run: Runner, project: Path) -> None:
    params = project / "params.yaml"
    before = params.read_text()
    parsed = YAML(typ="safe").load(before)
    parsed["models"]["coco"]["vit_b_16"]["training"]["learning_rate"] = 0.0021
    with params.open("w") as file:
        YAML(typ="safe").dump(parsed, file)
    stale = run("dvc", "status").stdout
    changes = run("dvc", "params", "diff").stdout
    params.write_text(before)
    assert "train@coco" in stale and "train@monumai" not in stale and "images@" not in stale
    assert "models.coco.vit_b_16.training.learning_rate" in changes
