"""The engine on a whole dataset: complete, resumable, independent of batches, frugal."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from pasta import store, tables
from pasta.errors import PastaError
from pasta.explanations import suite as explaining
from pasta.explanations.base import METHODS
from pasta.explanations.engine import attributions
from pasta.explanations.results import explanations_table, metrics, perturbed_table, timings
from pasta.explanations.samples import chosen_rows
from pasta.explanations.sink import attribution_file
from pasta.explanations.suite import Explained, explain_dataset
from pasta.explanations.techniques import technique, techniques
from pasta.models.clip.stage import make_clip
from pasta.models.data import TrainingData
from pasta.models.suite import train_suite
from pasta.params import Params
from tests.models.small import silent, tiny_data

SOME = [technique(key) for key in ("gradcam/resnet50", "eigencam/resnet50", "lime/resnet50")]


def quiet(*_: object) -> None:
    """Nobody listens."""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> TrainingData:
    root = tmp_path_factory.mktemp("explanations")
    data = tiny_data(root)
    make_clip([data], data.params.clip, 0, root / "pipelines/data/clip", silent)
    train_suite(data, data.dataset.folder / "models", quiet, workers=2)
    return data


@pytest.fixture(scope="module")
def done(data: TrainingData) -> list[Explained]:
    return explain(data, techniques())


def explain(data: TrainingData, chosen: Any, params: Params | None = None) -> list[Explained]:
    return explain_dataset(data.dataset, params or data.params, data.root, chosen, quiet)


def with_settings(params: Params, **values: Any) -> Params:
    section = params.explanations.model_copy(update=values)
    return params.model_copy(update={"explanations": section})


def clear(data: TrainingData) -> Path:
    folder: Path = data.dataset.folder / "explanations"
    shutil.rmtree(folder, ignore_errors=True)
    return folder


def test_every_technique_explains_original_and_perturbed_images(
    data: TrainingData, done: list[Explained]
) -> None:
    images = data.params.explanations.images
    table, pairs = explanations_table("monumai", done), perturbed_table("monumai", done)
    assert len(table) == images * len(techniques())
    assert len(pairs) == 2 * len(table)
    store.write(
        table, data.root / "e.parquet", tables.EXPLANATIONS, {"images": data.dataset.images}
    )
    store.write(pairs, data.root / "p.parquet", tables.PERTURBED, {"explanations": table})
    folder = data.dataset.folder / "explanations"
    for one in techniques():
        file = attribution_file(folder, one)
        if one.kind == "saliency":
            array = store.read_array(file, (3 * images, data.size, data.size))
            assert array.dtype == np.float16
        else:
            values = store.read(file, tables.ATTRIBUTIONS)
            assert values["concept"].tolist() == [*data.concepts] * (3 * images)


def test_light_perturbations_keep_the_class_and_changes_are_told(done: list[Explained]) -> None:
    pairs = perturbed_table("monumai", done).merge(
        explanations_table("monumai", done), on="sample_id", suffixes=("", "_original")
    )
    light, strong = (pairs[pairs["strength"] == kind] for kind in ("light", "strong"))
    assert (light["predicted"] == light["predicted_original"]).all()
    assert ((strong["predicted"] != strong["predicted_original"]) == strong["changed"]).all()


def test_the_metrics_count_maps_that_are_not_ok(done: list[Explained]) -> None:
    shares = metrics(done)["not_ok"]
    assert set(shares) == {one.key for one in techniques()}
    table = explanations_table("monumai", done)
    both = pd.concat([table[["sample_id", "status"]], perturbed_table("monumai", done)])
    wrong = (both["status"] != "ok").groupby(both["sample_id"].str.split("/", n=2).str[2]).mean()
    assert shares == pytest.approx(wrong.to_dict(), abs=1e-4)
    assert set(metrics(done)["changed"]) == {one.backbone for one in techniques()}
    assert timings(done)["seconds"].ge(0).all()


def test_a_second_run_computes_nothing_and_a_new_technique_only_itself(
    data: TrainingData, done: list[Explained], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    real = attributions

    def watched(work: Any, methods: Any, seconds: Any) -> Any:
        asked.extend(methods)
        return real(work, methods, seconds)

    monkeypatch.setattr(explaining, "attributions", watched)
    explain(data, techniques())
    assert asked == []
    folder = data.dataset.folder / "explanations"
    attribution_file(folder, technique("hirescam/vit_b_16")).unlink()
    explain(data, techniques())
    assert asked == ["hirescam"]


def test_other_settings_of_a_method_compute_that_method_alone(
    data: TrainingData, done: list[Explained], monkeypatch: pytest.MonkeyPatch
) -> None:
    values = data.params.explanations.methods
    other = values.model_copy(update={"lime": values.lime.model_copy(update={"samples": 21})})
    asked: list[str] = []
    real = attributions

    def watched(work: Any, methods: Any, seconds: Any) -> Any:
        asked.extend(methods)
        return real(work, methods, seconds)

    monkeypatch.setattr(explaining, "attributions", watched)
    explain(data, techniques(), with_settings(data.params, methods=other))
    assert asked == ["lime"] * 3  # one for each backbone


def test_an_interrupted_run_leaves_whole_techniques_and_goes_on(
    data: TrainingData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = clear(data)
    real = attributions

    def broken(work: Any, methods: Any, seconds: Any) -> Any:
        for number, part in enumerate(real(work, methods, seconds)):
            if methods != ["lime"] and number == 3:  # what takes longest comes first
                raise KeyboardInterrupt
            yield part

    monkeypatch.setattr(explaining, "attributions", broken)
    with pytest.raises(KeyboardInterrupt):
        explain(data, SOME)
    assert attribution_file(folder, SOME[2]).exists()
    assert not attribution_file(folder, SOME[0]).exists()
    assert not list(folder.glob(".*"))
    monkeypatch.setattr(explaining, "attributions", real)
    explain(data, SOME)
    resumed = attribution_file(folder, SOME[0]).read_bytes()
    clear(data)
    explain(data, SOME)
    assert attribution_file(folder, SOME[0]).read_bytes() == resumed


def test_the_number_of_processes_changes_nothing(data: TrainingData) -> None:
    folder = clear(data)
    alone = explanations_table("monumai", explain(data, SOME))
    kept = {one: attribution_file(folder, one).read_bytes() for one in SOME}
    clear(data)
    several = explain_dataset(data.dataset, data.params, data.root, SOME, quiet, processes=2)
    assert explanations_table("monumai", several).equals(alone)
    assert {one: attribution_file(folder, one).read_bytes() for one in SOME} == kept


def test_neither_batch_size_nor_budget_change_the_maps(data: TrainingData) -> None:
    chosen = techniques()
    clear(data)
    first = explanations_table("monumai", explain(data, chosen))
    folder = data.dataset.folder / "explanations"
    kept = {one: _stored(folder, one) for one in chosen}
    clear(data)
    other = with_settings(data.params, batch_size=3, budget=7)
    second = explanations_table("monumai", explain(data, chosen, other))
    for one in chosen:
        np.testing.assert_allclose(_stored(folder, one), kept[one], atol=4e-3, err_msg=one.key)
    np.testing.assert_allclose(first["scale"], second["scale"], rtol=2e-3, atol=1e-6)


def _stored(folder: Path, one: Any) -> Any:
    file = attribution_file(folder, one)
    if one.kind == "saliency":
        return np.asarray(store.read_array(file)).astype(np.float64)
    return store.read(file, tables.ATTRIBUTIONS)["value"].to_numpy()


def test_a_map_that_is_not_a_number_is_stored_and_told(
    data: TrainingData, monkeypatch: pytest.MonkeyPatch
) -> None:
    clear(data)
    real = METHODS["gradcam"]
    entry = METHODS.entry("gradcam")

    def spoilt(given: Any) -> torch.Tensor:
        return real(given) * torch.nan

    monkeypatch.setitem(METHODS._entries, "gradcam", type(entry)("gradcam", spoilt, entry.metadata))
    table = explanations_table("monumai", explain(data, SOME[:2]))
    assert (table.loc[table["method"] == "gradcam", "status"] == "nan").all()
    assert (table.loc[table["method"] == "eigencam", "status"] == "ok").any()


def test_more_images_than_there_are_is_an_error(data: TrainingData) -> None:
    with pytest.raises(PastaError, match="there are 8 test images"):
        chosen_rows(data.dataset, 9, 0)
