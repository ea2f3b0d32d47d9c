"""The study of one dataset: the same images in all cells, nothing lost, nothing old mixed in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pasta import store
from pasta.benchmark import runner
from pasta.benchmark.material import choose_observations, prepare
from pasta.benchmark.ranks import rank_tables
from pasta.benchmark.tables import BENCHMARK_VALUES, RATED, VALUES
from pasta.datasets.stored import open_dataset
from pasta.errors import PastaError
from pasta.layout import Group
from pasta.metrics import runner as metric_runner
from pasta.metrics.api import Inputs, Wanted, measure
from pasta.resume import KeptUnits
from tests.benchmark.small_study import (
    DATASET,
    METHODS,
    METRICS,
    observed,
    params,
    study,
    write_own,
    write_project,
)

CELLS = 3 + 4  # methods on the CNN and on the transformer


@pytest.fixture
def group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Group:
    written = write_project(tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setenv("PASTA_DEVICE", "cpu")
    monkeypatch.setenv("PASTA_WORKERS", "1")
    return written


def test_every_cell_has_the_same_images_and_every_metric(group: Group) -> None:
    found = study(group)
    values = found.values
    assert len(values) == CELLS * len(METRICS) * 4
    images = values.groupby(["model", "method", "metric"])["image_id"].agg(tuple)
    assert len(set(images)) == 1 and len(images) == CELLS * len(METRICS)
    assert set(values["model"]) == {"resnet50", "vit_b_16"}  # there is no EfficientNet
    assert set(values.loc[values["model"] == "resnet50", "method"]) == {
        "saliency",
        "gradcam",
        "expected_gradients",
    }
    out = group.data / "benchmark" / DATASET
    assert store.read(out / VALUES, BENCHMARK_VALUES).equals(values)
    assert (out / RATED).is_file() and len(found.rated) == 0
    maps = store.read_array(out / "maps/corrected/vit_b_16/raw_attention.npy")
    assert maps.dtype == np.float32 and maps.max() == 1 and maps.min() >= 0


def test_values_are_those_of_the_prepared_maps_for_the_label(group: Group) -> None:
    values = study(group).values
    material = observed(group)
    view = material.view("resnet50")
    assert view is not None
    subject: Any = material.of("saliency", "resnet50")
    labels = material.dataset.labels()[material.rows]
    np.testing.assert_array_equal(subject.targets, labels)
    network = view.network
    maps = prepare(_gradients(network, material.inputs(), torch.from_numpy(labels)))
    np.testing.assert_allclose(np.asarray(subject.maps[slice(0, 4)]), maps, atol=1e-5)
    [wanted] = measure(
        [Wanted("faithfulness_correlation")],
        Inputs(maps, material.inputs(), torch.from_numpy(labels), model=network),
        seed=material.params.seeds.measuring,
        base=material.params.metrics,
    )
    own = values[(values["model"] == "resnet50") & (values["method"] == "saliency")]
    own = own[own["metric"] == "faithfulness_correlation"]
    np.testing.assert_allclose(own["value"], wanted.values, atol=1e-4)


def _gradients(network: Any, images: torch.Tensor, targets: torch.Tensor) -> Any:
    """A literal Vanilla Gradient: the largest of the channels."""
    images = images.clone().requires_grad_()
    chosen = network(images).gather(1, targets[:, None]).sum()
    (found,) = torch.autograd.grad(chosen, images)
    return found.abs().amax(1).numpy()


def test_a_killed_study_goes_on_and_gives_the_same(
    group: Group, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = study(group).values
    kept = KeptUnits(tmp_path / "units")
    done, measured = 0, metric_runner.measure_unit

    def dies(unit: Any) -> Any:
        nonlocal done
        done += 1
        if done > 3:
            raise KeyboardInterrupt
        return measured(unit)

    monkeypatch.setattr(metric_runner, "measure_unit", dies)
    with pytest.raises(KeyboardInterrupt):
        study(group, kept=kept)
    before = len(list(kept.folder.glob("*.npz")))
    counted = 0

    def counts(unit: Any) -> Any:
        nonlocal counted
        counted += 1
        return measured(unit)

    monkeypatch.setattr(metric_runner, "measure_unit", counts)
    assert study(group, kept=kept).values.equals(whole)
    after = len(list(kept.folder.glob("*.npz")))
    assert before > 3 and counted == after - before


def test_a_changed_parameter_takes_nothing_that_was_kept(group: Group, tmp_path: Path) -> None:
    kept = KeptUnits(tmp_path / "units")
    first = study(group, kept=kept, methods=("VG",), metrics=("SP",)).values
    number = len(list(kept.folder.glob("*.npz")))
    second = study(group, kept=kept, methods=("VG",), metrics=("SP",), observations=2).values
    assert len(list(kept.folder.glob("*.npz"))) == 2 * number
    assert len(second) == len(first) / 2
    both = second.merge(first, on=["model", "image_id"])  # fewer are some of more
    assert len(both) == len(second)
    assert both["value_x"].to_numpy() == pytest.approx(both["value_y"].to_numpy(), abs=1e-5)


def test_fewer_observations_are_the_first_of_more_and_rated_ones_come_first(group: Group) -> None:
    dataset = open_dataset(group.images)
    given = params()
    every = [choose_observations(dataset, given, number) for number in range(7)]
    assert [len(one) for one in every] == list(range(7))
    assert all(few.tolist() == many[:-1].tolist() for few, many in zip(every, every[1:]))  # noqa: B905, RUF007
    rated = given.explanations.model_copy(update={"images": 2})
    some = given.model_copy(update={"explanations": rated})
    first = set(choose_observations(dataset, some, 2).tolist())
    assert set(choose_observations(dataset, some, 5).tolist()[:2]) == first


def test_maps_of_nothing_have_a_status_and_are_ranked_nowhere(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = group.data.parent.parent
    write_own(root)
    monkeypatch.syspath_prepend(str(root))
    own = ("own_study:edges", "own_study:nothing", "own_study:broken")
    found = study(group, own, methods=("VG",), metrics=("SP", "FC"))
    values = found.values
    status = values.groupby("method")["status"].agg(set)
    assert status["edges"] == {"ok"} and status["nothing"] == {"zero"}
    assert status["broken"] == {"nan"}
    tables = rank_tables(values, found.facts, "corrected", resamples=20, seed=0)
    averages = tables["averages"].set_index(["scope", "criterion", "method"])["estimate"]
    assert averages["all", "complexity", "edges"] <= 2
    assert not np.isfinite(averages.get(("all", "complexity", "nothing"), np.nan))
    assert not np.isfinite(averages.get(("all", "complexity", "broken"), np.nan))
    failed = found.facts[found.facts["quantity"] == "failed"].set_index(["model", "method"])
    assert failed.loc[("resnet50", "nothing"), "note"] == "4 zero"
    assert failed.loc[("vit_b_16", "broken"), "note"] == "4 nan"


def test_other_readings_are_measured_on_some_images_and_leave_no_maps(group: Group) -> None:
    compared = {"datasets": (DATASET,), "observations": 1, "readings": ("paper", "released")}
    found = study(group, metrics=("SP",), methods=("VG", "EG"), compared=compared)
    counts = found.values.groupby("reading").size()
    assert counts.to_dict() == {"corrected": 16, "paper": 4, "released": 4}
    out = group.data / "benchmark" / DATASET / "maps"
    assert [one.name for one in out.iterdir()] == ["corrected"]
    images = found.values.groupby("reading")["image_id"].agg(set)
    assert images["paper"] <= images["corrected"]


def test_rated_maps_are_measured_by_the_same_metrics(group: Group) -> None:
    rated = study(group, methods=("VG",), metrics=("SP", "MS"), rated=2).rated
    techniques = {sample.split("/", 2)[2] for sample in rated["sample_id"]}
    assert techniques == {"gradcam/resnet50", "hirescam/resnet50", "lime/vit_b_16"}
    assert len(rated) == 3 * 2 * 2
    lime = rated[rated["sample_id"].str.contains("lime") & (rated["metric"] == "max_sensitivity")]
    assert set(lime["status"]) == {"not measured"}  # as the parameters of the metrics say


def test_without_classifiers_there_is_nothing_but_no_error(group: Group) -> None:
    found = study(group, models=("efficientnet_b0",))
    assert len(found.values) == 0 and len(found.facts) == 0
    tables = rank_tables(found.values, found.facts, "corrected", resamples=20, seed=0)
    assert tables["missing"]["section"].tolist() == ["averages"]


def test_what_is_not_there_is_named_before_any_work(group: Group) -> None:
    with pytest.raises(PastaError, match="no metric 'FX'"):
        study(group, metrics=("FX",))
    with pytest.raises(PastaError, match="no dataset called 'cocoa'"):
        root = group.data.parent.parent
        runner.benchmark_dataset("cocoa", params(), root, group.data, group.data / "x")
    with pytest.raises(PastaError, match="cannot be found"):
        study(group, ("nowhere:method",))
    assert set(METHODS) == {"VG", "GC", "EG", "RA"}
