"""The measure stage: its table, its units, and what they share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor, nn

from pasta import store, tables
from pasta.errors import InputError, PastaError
from pasta.explanations.engine import Work, attributions
from pasta.layout import Group
from pasta.metrics import runner
from pasta.metrics.api import evaluate
from pasta.metrics.base import require
from pasta.metrics.catalog import METRICS
from pasta.metrics.runner import NOT_MEASURED, TABLE, Subjects, list_wanted, measure_group
from pasta.models import checkpoint
from pasta.resume import UNITS
from tests.metrics.small_stage import (
    HEADS,
    NUMBER,
    PARAMS,
    TECHNIQUES,
    WORDS,
    map_file,
    measured,
    metrics,
    of,
    write_maps,
    write_project,
)


@pytest.fixture
def group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Group:
    written = write_project(tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setenv("PASTA_WORKERS", "1")
    monkeypatch.setenv("PASTA_DEVICE", "cpu")
    return written


def opened(group: Group) -> Subjects:
    return Subjects(group, PARAMS, group.data.parent.parent)


class Counter:
    """Counts the images that each classifier sees, and those of passes that go back as well."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seen: dict[str, int] = {}
        self.back: dict[str, int] = {}
        load = checkpoint.load

        def counted(folder: Path, *rest: Any) -> Any:
            model, card = load(folder, *rest)

            def count(_: nn.Module, given: tuple[Tensor, ...]) -> None:
                where = self.back if torch.is_grad_enabled() else self.seen
                where[folder.name] = where.get(folder.name, 0) + len(given[0])

            model.register_forward_pre_hook(count)
            return model, card

        monkeypatch.setattr(checkpoint, "load", counted)
        runner._open_material.cache_clear()


def test_every_saliency_map_has_a_row_for_each_metric_and_variant(group: Group) -> None:
    table = measured(group)
    assert len(table) == len(TECHNIQUES) * NUMBER * (4 + 1 + 1 + 2 + 1 + 1)
    assert not table["sample_id"].str.contains("clip_qda").any()
    assert set(of(table, "faithfulness", "gradcam/resnet50", "road published")["status"]) == {"ok"}
    skipped = of(table, "max_sensitivity", "lime/vit_b_16", "gaussian")
    assert set(skipped["status"]) == {NOT_MEASURED} and skipped["value"].isna().all()
    assert table["sample_id"].iloc[:NUMBER].is_monotonic_increasing


def test_noisy_copies_of_some_images_are_explained_with_and_without_the_relative_norm(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The chosen images have the values that they have among all; both norms share the work."""
    names, rest = ["max_sensitivity", "max_sensitivity_absolute"], {"noises": ["uniform"]}
    whole = measured(group, names=names, **rest)
    counter = Counter(monkeypatch)
    images = dict.fromkeys(names, NUMBER - 1)
    some = measured(group, names=names, images=images, **rest)
    both = {name: counter.back[name] for name in counter.back}
    assert some["sample_id"].tolist() == whole["sample_id"].tolist()
    left_out = some["status"] == NOT_MEASURED
    for name in names:
        found = of(some, name, "gradcam/resnet50", "uniform")
        assert (found["status"] == NOT_MEASURED).sum() == 1
        assert found["value"].isna().sum() == 1
    pd.testing.assert_frame_equal(some[~left_out], whole[~left_out])
    counter = Counter(monkeypatch)
    measured(group, names=names[:1], images=images, **rest)
    assert counter.back == both


def test_the_table_is_written_without_seconds_which_are_returned(group: Group) -> None:
    table, seconds = measure_group(group, metrics(), PARAMS, group.data.parent.parent)
    explained = store.read(group.explanations / "explanations.parquet", tables.EXPLANATIONS)
    stored = store.read(group.metrics / TABLE, tables.METRIC_VALUES, {"explanations": explained})
    pd.testing.assert_frame_equal(stored, table)
    assert "seconds" not in stored
    assert seconds.columns.tolist() == ["technique", "metric", "variant", "seconds"]
    assert len(seconds) == len(TECHNIQUES) * 10
    spent = seconds.set_index(["technique", "metric", "variant"])["seconds"]
    assert spent["gradcam/resnet50", "deletion", ""] > 0
    assert spent["lime/vit_b_16", "max_sensitivity", "uniform"] == 0
    assert not (Path.cwd() / UNITS / "measure.catsdogscars").exists()
    before = (group.metrics / TABLE).read_bytes()
    measured(group)
    assert (group.metrics / TABLE).read_bytes() == before


@pytest.mark.parametrize(
    ("name", "variant", "options"),
    [
        ("faithfulness", "black text", {"perturbation": "black", "thresholds": [50, 100]}),
        ("deletion", "", {"steps": 4}),
        ("faithfulness_correlation", "", {"subsets": 5}),
        ("sparseness", "", {}),
    ],
)
def test_values_are_those_of_evaluate(
    group: Group, name: str, variant: str, options: dict[str, Any]
) -> None:
    found = of(measured(group, names=[name]), name, "hirescam/resnet50", variant)
    ours = opened(group)
    subject = ours.of("hirescam", "resnet50")
    if name == "faithfulness":
        options = {**options, "step": 40}
    expected = evaluate(
        name,
        maps=np.asarray(store.read_array(map_file(group, "hirescam", "resnet50"))[:NUMBER]),
        model=require(ours.view("resnet50")).network,
        images=subject.images(slice(0, NUMBER)),
        targets=[WORDS.class_index(one) for one in ("cat", "dog") * 3],
        seed=PARAMS.seeds.measuring,
        **options,
    )
    np.testing.assert_allclose(found["value"], expected, rtol=1e-6, atol=1e-9)


def test_sensitivity_explains_again_through_the_engine(group: Group) -> None:
    table = measured(group, names=["max_sensitivity"])
    found = of(table, "max_sensitivity", "gradcam/resnet50", "uniform")
    ours = opened(group)
    subject, view = ours.of("gradcam", "resnet50"), require(ours.view("resnet50"))

    def explain(images: Tensor, targets: Tensor) -> Any:
        work = Work(
            view,
            lambda part: images[part],
            targets,
            PARAMS.explanations.methods,
            PARAMS.seeds.explaining,
        )
        return np.concatenate([part.raw for part in attributions(work, ["gradcam"])])

    expected = evaluate(
        "max_sensitivity",
        maps=subject.maps[:],
        images=subject.images(slice(0, NUMBER)),
        targets=subject.targets,
        explainer=explain,
        seed=PARAMS.seeds.measuring,
        samples=3,
    )
    np.testing.assert_allclose(found["value"], expected, rtol=1e-4)


def test_methods_of_a_backbone_share_the_passes_of_noisy_copies(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    counter = Counter(monkeypatch)
    measured(group, names=["max_sensitivity"])
    assert counter.back == {"resnet50": NUMBER * 3 * 2}  # images x copies x kinds of noise
    assert "vit_b_16" not in counter.seen  # LIME is not explained again


def test_robustness_metrics_and_methods_share_the_passes_of_their_copies(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["max_sensitivity", "local_lipschitz", "continuity"]
    names += [f"relative_{what}_stability" for what in ("input", "output", "representation")]
    changes: dict[str, Any] = {name: {"samples": 3, "noise": "shared"} for name in names[1:]}
    changes |= {"continuity": {"steps": 4, "part": 8}, "max_sensitivity": {}}
    counter = Counter(monkeypatch)
    table = measured(group, names=names, noises=["uniform"], **changes)
    assert counter.back == {"resnet50": NUMBER * (3 + 4)}
    for name in names:
        found = of(table, name, "gradcam/resnet50", "uniform" if name == names[0] else "")
        # whatever the constant ones of these maps are
        assert len(found) == NUMBER and (found["status"] == "ok").sum() >= NUMBER - 2, name
        alone = measured(group, names=[name], noises=["uniform"], **changes)
        same = of(alone, name, "gradcam/resnet50", "uniform" if name == names[0] else "")
        np.testing.assert_allclose(same["value"], found["value"], rtol=1e-4)


def test_methods_of_a_backbone_share_the_questions_of_faithfulness_correlation(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    counter = Counter(monkeypatch)
    measured(group, names=["faithfulness_correlation"])
    # two techniques: one look at the model each, the other passes once
    assert counter.seen["resnet50"] == 2 + NUMBER * (1 + 5)


def test_a_metric_of_the_registry_needs_no_name_in_the_runner() -> None:
    text = Path(runner.__file__).read_text()
    others = [name for name in METRICS if name in text]
    assert not others
    chosen = list_wanted(metrics(names=["necessity", "max_sensitivity", "iou"]))
    assert [tuple(one.options.values()) for one in chosen] == [
        *(("black", "text"), ("black", "published"), ("road", "text"), ("road", "published")),
        *(("uniform",), ("gaussian",), ()),
    ]


@pytest.mark.parametrize("done", [1, 3])
def test_a_killed_run_resumes_to_the_same_table(
    group: Group, monkeypatch: pytest.MonkeyPatch, done: int
) -> None:
    expected = measured(group)
    work, computed = runner.measure_unit, list[tuple[str, ...]]()

    def counting(unit: runner.Unit) -> Any:
        computed.append(unit.methods)
        return work(unit)

    def killed(unit: runner.Unit) -> Any:
        if len(computed) == done:
            raise KeyboardInterrupt
        return counting(unit)

    monkeypatch.setattr(runner, "measure_unit", killed)
    with pytest.raises(KeyboardInterrupt):
        measured(group)
    assert len(computed) == done
    monkeypatch.setattr(runner, "measure_unit", counting)
    pd.testing.assert_frame_equal(measured(group), expected)
    assert len(computed) == 6  # again, same (two backbones), and three alone: none twice


def test_two_processes_find_the_same(group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = measured(group)
    bytes_alone = (group.metrics / TABLE).read_bytes()
    monkeypatch.setenv("PASTA_WORKERS", "2")
    pd.testing.assert_frame_equal(measured(group), alone)
    assert (group.metrics / TABLE).read_bytes() == bytes_alone


def test_many_rows_make_several_units_with_the_same_values(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = ["deletion", "faithfulness_correlation", "max_sensitivity"]
    whole = measured(group, names=chosen)
    monkeypatch.setattr(runner, "_ROWS", 4)
    pd.testing.assert_frame_equal(measured(group, names=chosen), whole, rtol=1e-3, atol=1e-6)


def test_a_metric_of_a_set_of_maps_sees_all_of_a_technique_at_once(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "_ROWS", 2)
    changes: dict[str, Any] = {"neighbour_sufficiency": {"threshold": 0.97}}
    table = measured(group, names=["neighbour_sufficiency", "deletion"], **changes)
    for name in ("gradcam", "hirescam"):
        ours = opened(group)
        subject = ours.of(name, "resnet50")
        expected, statuses = evaluate(
            "neighbour_sufficiency",
            maps=np.asarray(store.read_array(map_file(group, name, "resnet50"))[:NUMBER]),
            model=require(ours.view("resnet50")).network,
            images=subject.images(slice(0, NUMBER)),
            threshold=0.97,
            return_status=True,
        )
        found = of(table, "neighbour_sufficiency", f"{name}/resnet50")
        assert "ok" in statuses and found["status"].tolist() == statuses
        np.testing.assert_allclose(found["value"], expected)


def test_maps_that_show_nothing_have_a_status_and_no_value(group: Group) -> None:
    file = map_file(group, "gradcam", "resnet50")
    maps = np.array(store.read_array(file))
    maps[0], maps[1], maps[2, 3, 3] = 0, 0.5, np.nan
    store.write_array(maps, file)
    table = measured(group)
    for metric, variant in (("deletion", ""), ("faithfulness", "black text")):
        found = of(table, metric, "gradcam/resnet50", variant)
        assert found["status"].tolist()[:4] == ["zero", "constant", "nan", "ok"]
        assert found["value"].isna().tolist()[:4] == [True, True, True, False]
    sparse = of(table, "sparseness", "gradcam/resnet50")
    assert sparse["status"].tolist()[:3] == ["zero", "ok", "nan"]
    again = of(table, "max_sensitivity", "gradcam/resnet50", "uniform")
    assert again["status"].tolist()[:4] == ["zero", "ok", "nan", "ok"]


def test_masks_are_the_parts_of_the_labelled_class(group: Group) -> None:
    masks = opened(group).of("gradcam", "resnet50").masks[:]
    assert masks[HEADS, :16].all() and not masks[:, 16:24].any()
    dogs = [1, 3, 5]
    assert masks[dogs, 24:].all() and not masks[2, 24:].any()  # a cat has no wheels
    assert not masks[0].any()
    found = of(measured(group, names=["iou"]), "iou", "gradcam/resnet50")
    assert found["status"].tolist() == ["empty mask"] + ["ok"] * 5


def test_techniques_that_are_gone_have_no_rows(group: Group) -> None:
    measured(group)
    write_maps(group, TECHNIQUES[:1])
    assert measured(group)["sample_id"].str.endswith("gradcam/resnet50").all()


def test_a_group_that_explains_by_concepts_alone_has_an_empty_table(group: Group) -> None:
    write_maps(group, ())
    table, seconds = measure_group(group, metrics(), PARAMS, group.data.parent.parent)
    assert len(table) == len(seconds) == 0
    assert len(store.read(group.metrics / TABLE, tables.METRIC_VALUES)) == 0


@pytest.mark.slow
def test_the_stage_writes_one_table_and_tells_its_seconds_to_mlflow(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{Path.cwd() / 'mlflow.db'}")
    from mlflow import MlflowClient

    from pipelines.measure import main

    main(group.key)
    assert [file.name for file in group.metrics.iterdir()] == [TABLE]
    table = store.read(group.metrics / TABLE, tables.METRIC_VALUES)
    client = MlflowClient(f"sqlite:///{Path.cwd() / 'mlflow.db'}")
    [experiment] = [one for one in client.search_experiments() if one.name == "explanations"]
    [run] = client.search_runs([experiment.experiment_id])
    assert run.data.tags["stage"] == "measure@catsdogscars"
    assert run.data.metrics["values"] == len(table) and run.data.metrics["seconds"] > 0
    assert "seconds.csv" in [one.path for one in client.list_artifacts(run.info.run_id)]


def test_unknown_names_and_maps_of_another_size_are_errors_that_say_so(group: Group) -> None:
    with pytest.raises(PastaError, match="Did you mean 'sparseness'"):
        measured(group, names=["sparsenes"])
    with pytest.raises(PastaError, match="Did you mean 'lime'"):
        measured(group, not_again=["limes"])
    store.write_array(np.ones((18, 4, 4), np.float16), map_file(group, "lime", "vit_b_16"))
    with pytest.raises(InputError, match=r"lime/vit_b_16.*\(18, 4, 4\).*32 x 32"):
        measured(group)
    assert not (group.metrics / TABLE).exists()
