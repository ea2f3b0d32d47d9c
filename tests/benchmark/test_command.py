"""`pasta benchmark`: ranks of what is stored, a method and a model of a user, the cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor, nn
from typer.testing import CliRunner

from pasta.benchmark.given import Choice, benchmark_model
from pasta.cli import app
from pasta.config import load_params
from pasta.cost import list_benchmark
from pasta.explanations.cloud import CLOUD
from pasta.explanations.modality import Modality
from pasta.explanations.volume import VOLUME
from pasta.layout import Group
from pasta.progress import QUIET
from tests.benchmark.small_study import DATASET, params, study, write_project

MINE = """
import torch
from torch import nn

def twin(model, images, targets):
    inputs = images.clone().requires_grad_()
    chosen = model(inputs).gather(1, targets[:, None]).sum()
    (found,) = torch.autograd.grad(chosen, inputs)
    return (found * inputs).sum(1)

def network():
    torch.manual_seed(0)
    last = nn.Linear(4, 3)
    return nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), last
    )
"""
QUICK = ("--metrics", "SP,FC", "--resamples", "20", "--json")


@pytest.fixture
def group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Group:
    written = write_project(tmp_path / "project")
    (tmp_path / "project" / "benchmarked.py").write_text(MINE)
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.syspath_prepend(str(tmp_path / "project"))
    monkeypatch.setenv("PASTA_DEVICE", "cpu")
    monkeypatch.setenv("PASTA_WORKERS", "1")
    return written


def ask(*arguments: str) -> Any:
    return CliRunner(env={QUIET: "1"}).invoke(
        app, ["benchmark", *arguments], catch_exceptions=False
    )


def test_a_method_of_a_user_is_ranked_beside_its_twin(group: Group, tmp_path: Path) -> None:
    study(group, methods=("VG", "IxG"), metrics=("SP", "FC"))
    listed = json.loads(ask("rank", "--dataset", DATASET, *QUICK).stdout)
    assert {row["method"] for row in listed} == {"saliency", "input_x_gradient"}
    table = tmp_path / "values.csv"
    found = ask("run", DATASET, "--method", "benchmarked:twin", *QUICK, "--out", str(table))
    ranks = pd.DataFrame(json.loads(found.stdout[found.stdout.index("[") :]))
    ours = ranks[ranks["method"] == "twin"]["estimate"].to_numpy()
    twins = ranks[ranks["method"] == "input_x_gradient"]["estimate"].to_numpy()
    np.testing.assert_allclose(ours, twins)
    written = pd.read_csv(table)
    assert set(written["method"]) == {"saliency", "input_x_gradient", "twin"}


def test_a_model_of_a_user_needs_nothing_of_the_project(group: Group, tmp_path: Path) -> None:
    file = tmp_path / "images.npy"
    np.save(file, np.random.default_rng(0).random((3, 3, 32, 32), dtype=np.float32))
    given = ("--model", "benchmarked:network", "--images", str(file), "--methods", "VG,GC,RA")
    found = ask("run", *given, *QUICK)
    ranks = json.loads(found.stdout[found.stdout.index("[") :])
    assert {row["method"] for row in ranks} == {"saliency", "gradcam"}  # it is no transformer
    assert all(1 <= row["estimate"] <= 2 for row in ranks)


class Blind(nn.Module):
    """A model without a layer that has places."""

    def __init__(self) -> None:
        super().__init__()
        self.line = nn.Linear(3 * 16 * 16, 2)

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self.line(images.flatten(1))
        return logits


def test_a_model_without_the_layer_that_a_method_needs_is_told_and_ranked_by_the_others(
    capsys: pytest.CaptureFixture[str],
) -> None:
    torch.manual_seed(0)
    choice = Choice(methods=("VG", "GC", "IxG"), metrics=("SP",))
    found = benchmark_model(Blind().eval(), torch.rand(2, 3, 16, 16), params(), choice=choice)
    assert set(found["method"]) == {"saliency", "input_x_gradient"}
    assert "GradCAM looks at a layer that was not found: left out" in capsys.readouterr().err


@pytest.mark.parametrize(("modality", "shape"), [(VOLUME, (1, 8, 8, 8)), (CLOUD, (3, 24))])
def test_volumes_and_clouds_of_a_user_are_benchmarked(
    modality: Modality, shape: tuple[int, ...]
) -> None:
    torch.manual_seed(0)
    kind = nn.Conv3d if modality is VOLUME else nn.Conv1d
    network = nn.Sequential(kind(shape[0], 4, 1), nn.ReLU(), nn.Flatten(), nn.LazyLinear(2)).eval()
    inputs = torch.rand(2, *shape)
    choice = Choice(methods=("OC", "VG", "LRP"), metrics=("DEL", "ROAD", "INF", "SP"))
    given: Any = {"choice": choice, "modality": modality}
    found = benchmark_model(network, inputs, params(), **given)
    assert len(found) == 3 * 4 * 2 and (found["status"] == "ok").mean() > 0.9


def test_the_cost_counts_every_cell_of_the_study(monkeypatch: pytest.MonkeyPatch) -> None:
    work = list(list_benchmark(load_params()))
    items = [one.item for one in work]
    assert len(items) == 8 * 3 + 2 * 3 and "coco/vit_b_16, corrected" in items
    assert {"organ/simple3dformer, corrected", "faces/dgcnn, corrected"} <= set(items)
    assert all(one.equivalent > 1000 for one in work)
    corrected = {one.item: one.equivalent for one in work}
    # a transformer has three methods more than a network of convolutions
    assert corrected["coco/vit_b_16, corrected"] != corrected["coco/resnet50, corrected"]
    whole = ask("cost", "--no-probe", "--json")
    rows = json.loads(whole.stdout[whole.stdout.index("[") :])
    assert rows[-1]["stage"] == "all together"
    assert min(row["passes"] for row in rows) > 1000
    assert rows[-1]["passes"] == pytest.approx(sum(row["passes"] for row in rows[:-1]))
