"""The study of volumes and point clouds from drawing to pictures, on disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pasta.benchmark.pictures import draw_examples
from pasta.benchmark.runner import benchmark_dataset
from pasta.benchmark.settings import BenchmarkParams
from pasta.config import Params
from pasta.datasets.build import build_dataset
from pasta.datasets.drawn.source import DrawnSource
from pasta.layout import Group
from pasta.models.settings import ModelsParams
from pasta.models.suite import train_group
from pasta.paths import DATA
from tests.metrics.small_stage import PARAMS

SHORT = {"training": {"epochs": 1, "learning_rate": 0.01}}
SMALL = {
    "vessel": (14, "simple3dformer", {"layers": 1, "hidden": 16, "mlp": 16, "stem": 4, **SHORT}),
    "traffic": (48, "pct", {"stages": [[16, 8, 16]], "features": 32, "hidden": [16], **SHORT}),
}
METRICS = ("FE", "RP", "INS", "IROF", "ROAD", "MS", "CON", "INF", "SP")


def prepared(dataset: str, root: Path) -> Params:
    size, model, settings = SMALL[dataset]
    group = Group(dataset, dataset, root / DATA)
    source = DrawnSource(dataset, 0, (8, 4, 4))
    build_dataset(dataset, source, source.items(), size, group.images)
    section = ModelsParams.model_validate({model: settings})
    study = BenchmarkParams(
        datasets=(dataset,), metrics=METRICS, observations=2, sizes="demo", not_again=("KS",)
    )
    changes = {"models": {dataset: section}, "groups": {dataset: dataset}, "benchmark": study}
    params = PARAMS.model_copy(update=changes)
    train_group(group, params, root)
    return params


@pytest.mark.parametrize(("dataset", "methods"), [("vessel", 17), ("traffic", 14)])
def test_every_method_on_a_transformer_has_a_cell_and_a_picture(
    dataset: str, methods: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PASTA_WORKERS", "1")
    monkeypatch.setenv("PASTA_DEVICE", "cpu")
    params, data = prepared(dataset, tmp_path), tmp_path / DATA
    found = benchmark_dataset(dataset, params, tmp_path, data, data / "benchmark" / dataset)
    values = found.values
    assert len(values) == methods * len(METRICS) * 2
    again = values["metric"].isin(["max_sensitivity", "continuity"]) & (values["method"] == "shap")
    assert (values.loc[again, "status"] == "not measured").all()
    assert (values.loc[~again, "status"] == "ok").mean() > 0.8
    assert found.rated.empty and set(found.facts["quantity"]) >= {"accuracy", "failed"}
    draw_examples(params, data, tmp_path / "pictures")
    (file,) = (tmp_path / "pictures").glob("*.jpg")
    assert file.stem == f"latec_{SMALL[dataset][1]}"
    with Image.open(file) as picture:
        assert np.asarray(picture).std() > 20
