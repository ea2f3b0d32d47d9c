"""Quantus' metrics under the names ``quantus/...``: the same values as a direct call, with our
statuses, seeds and options."""

from __future__ import annotations

import inspect
import random
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest
import quantus
import torch
from torch import Tensor, nn

from pasta.errors import PastaError
from pasta.layout import Group
from pasta.metrics import quantus_metrics, runner
from pasta.metrics.api import cost, curves, evaluate, get_settings
from pasta.metrics.base import METRICS, Batch
from pasta.metrics.quantus_metrics import NO_VALUE_PER_SAMPLE, list_metrics
from pasta.seeds import entropy
from tests.explanations.networks import SmallNet, pictures
from tests.metrics.known import random_maps
from tests.metrics.small_stage import measured, metrics, of, write_project

torch.set_num_threads(1)
SIZE = 12
TARGETS = np.array([1, 3, 0])
NAMES = [entry.key for entry in list_metrics()]
# Few steps and samples, and what small images need.
QUICK: dict[str, Any] = {
    "FaithfulnessCorrelation": {"nr_runs": 10, "subset_size": 20},
    "FaithfulnessEstimate": {"features_in_step": 36},
    "PixelFlipping": {"features_in_step": 36},
    "RegionPerturbation": {"patch_size": 4},
    "Monotonicity": {"features_in_step": 36},
    "MonotonicityCorrelation": {"features_in_step": 36, "nr_samples": 3},
    "Selectivity": {"patch_size": 4},
    "Infidelity": {"n_perturb_samples": 2, "perturb_patch_sizes": [4]},
    "Continuity": {"nr_steps": 4},
    "TopKIntersection": {"k": 20},
    "EfficientMPRT": {"abs": True},
}
QUICK |= {
    name: {"nr_samples": 3}
    for name in (
        *("LocalLipschitzEstimate", "MaxSensitivity", "AvgSensitivity", "RelativeInputStability"),
        *("RelativeOutputStability", "RelativeRepresentationStability", "SmoothMPRT"),
    )
}
FAILING = ("quantus/ROAD", "quantus/IROF")  # on colour images


def gradients(images: Tensor, targets: Tensor, model: Any = None) -> Tensor:
    """Of a network of its own, unless a metric brings another one."""
    network = NETWORK if model is None else model
    images = images.detach().requires_grad_()
    score = network(images).gather(1, targets[:, None]).sum()
    return torch.autograd.grad(score, images)[0].sum(1)


NETWORK = SmallNet().eval()


def given(number: int = 3) -> dict[str, Any]:
    images = pictures(number, SIZE)
    return {
        "maps": gradients(images, torch.from_numpy(TARGETS[:number])),
        "images": images,
        "targets": TARGETS[:number],
        "masks": random_maps(number, SIZE, seed=8) > 0.6,
        "explainer": gradients,
        "model": NETWORK,
        "softmax": False,
    }


def options_of(name: str) -> dict[str, Any]:
    return dict(QUICK.get(name.removeprefix("quantus/"), {}))


def call_directly(name: str, number: int, seed: int = 0, softmax: bool = False) -> Any:
    """What a user of Quantus would write for one sample."""
    own, kind = given(), getattr(quantus, name.removeprefix("quantus/"))
    options = options_of(name)
    # Robustness and localisation see images too, if they are given together.
    needs = METRICS.entry(name).metadata["needs"]
    item = own["images"] if "images" in needs else own["maps"]
    digest = Batch(own["maps"], images=own["images"] if "images" in needs else None).digests[number]
    drawn = entropy(seed, "metric", name, digest) % 2**32
    parameters = inspect.signature(kind.__init__).parameters
    if "seed" in parameters:
        options["seed"] = drawn
    if "num_classes" in parameters:
        options["num_classes"] = 4
    part = slice(number, number + 1)

    def explain(model: Any, inputs: Any, targets: Any, **_: Any) -> Any:
        found = gradients(torch.as_tensor(inputs), torch.as_tensor(targets), model)
        return found[:, None].numpy()

    np.random.seed(drawn)  # noqa: NPY002
    torch.manual_seed(drawn)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kind(
            **options, return_aggregate=False, disable_warnings=True, display_progressbar=False
        )(
            model=NETWORK if "model" in needs else None,
            x_batch=item[part].numpy() if item.ndim == 4 else item[part, None].numpy(),
            y_batch=TARGETS[part],
            a_batch=own["maps"][part, None].numpy().copy(),
            channel_first=True,
            softmax=softmax,
            **({"s_batch": own["masks"][part, None].numpy()} if "masks" in needs else {}),
            **({"explain_func": explain} if "explainer" in needs else {}),
        )


def value_of(found: Any) -> float:
    if isinstance(found, dict):
        return float(np.mean(list(found.values())))
    return float(np.trapezoid(found[0]) if np.ndim(found[0]) else found[0])


def test_all_metrics_of_quantus_are_there_or_refused_with_a_reason() -> None:
    groups = quantus.AVAILABLE_METRICS.values()
    every = {kind.__name__ for group in groups for kind in group.values()}
    assert {name.removeprefix("quantus/") for name in NAMES} | set(NO_VALUE_PER_SAMPLE) == every
    assert not {name.removeprefix("quantus/") for name in NAMES} & set(NO_VALUE_PER_SAMPLE)
    assert all(name in (quantus_metrics.__doc__ or "") for name in NO_VALUE_PER_SAMPLE)
    for name in NO_VALUE_PER_SAMPLE:
        with pytest.raises(PastaError, match="no value for a single sample"):
            evaluate(f"quantus/{name}", **given())


@pytest.mark.parametrize("name", [name for name in NAMES if name not in FAILING])
def test_values_are_those_of_a_direct_call_with_the_same_seed(name: str) -> None:
    softmax = name == "quantus/EfficientMPRT"  # it takes the entropy of the outputs
    own = {**given(), "softmax": softmax, "return_status": True}
    values, statuses = evaluate(name, **own, **options_of(name))
    assert statuses == ["ok"] * 3
    for number in (2, 0):
        expected = value_of(call_directly(name, number, softmax=softmax))
        np.testing.assert_allclose(values[number], expected, rtol=1e-6)


@pytest.mark.parametrize("name", FAILING)
def test_an_error_of_quantus_is_the_status_of_each_sample(name: str) -> None:
    values, statuses = evaluate(name, **given(), return_status=True)
    assert np.isnan(values).all()
    with pytest.raises(Exception) as raised:
        call_directly(name, 0)
    message = str(raised.value).splitlines()[0]
    assert statuses[0] == f"{raised.type.__name__}: {message}"[:160]


def test_errors_are_counted_in_a_warning_if_nobody_asks_for_statuses() -> None:
    with pytest.warns(
        UserWarning, match="quantus/ROAD has no value for some samples: .*IndexError"
    ):
        values = evaluate("quantus/ROAD", **given())
    assert np.isnan(values).all()


def test_an_error_of_one_sample_leaves_the_others_their_values() -> None:
    own = given()

    def explainer(images: Tensor, targets: Tensor) -> Tensor:
        maps = gradients(images, targets)
        return torch.where((targets == 3)[:, None, None], 0, maps)  # all zero for the second

    changed = {**own, "explainer": explainer, "return_status": True}
    values, statuses = evaluate("quantus/MaxSensitivity", **changed, nr_samples=3)
    assert statuses[0] == statuses[2] == "ok" and np.isfinite(values[[0, 2]]).all()
    assert statuses[1].startswith("AssertionError: ") and np.isnan(values[1])
    expected = evaluate("quantus/MaxSensitivity", **own, nr_samples=3)
    np.testing.assert_array_equal(values[[0, 2]], expected[[0, 2]])


@pytest.mark.parametrize(
    "name", ["quantus/Sparseness", "quantus/PixelFlipping", "quantus/MaxSensitivity", "quantus/AUC"]
)
def test_maps_that_show_nothing_get_a_status_and_never_reach_quantus(name: str) -> None:
    own = given()
    own["maps"][0], own["maps"][1] = 0, 0.3
    values, statuses = evaluate(name, **own, **options_of(name), return_status=True)
    assert statuses == ["zero", "constant", "ok"]
    assert np.isnan(values).tolist() == [True, True, False]
    own["maps"][0, 1, 1], own["maps"][1, 0, 0] = torch.nan, torch.inf
    values, statuses = evaluate(name, **own, **options_of(name), return_status=True)
    assert statuses == ["nan", "nan", "ok"]
    with pytest.raises(PastaError, match="2 of 3 maps hold NaN"):
        evaluate(name, **own, **options_of(name))


def test_masks_without_an_object_and_values_that_are_not_finite_have_a_status() -> None:
    own = given()
    own["masks"][1] = False
    _, statuses = evaluate("quantus/PointingGame", **own, return_status=True)
    assert statuses == ["ok", "empty mask", "ok"]

    def model(images: Tensor) -> Tensor:  # the class changes with the noise
        left, right = images[:, :, ::2].sum((1, 2, 3)), images[:, :, 1::2].sum((1, 2, 3))
        return torch.stack([left, right], 1).sin() * 1000

    changed = {**given(), "model": model, "targets": [0, 1, 1]}
    explain = {"explainer": lambda images, _: images.sum(1)}
    _, statuses = evaluate(
        "quantus/RelativeInputStability", **{**changed, **explain}, nr_samples=8, return_status=True
    )
    assert "not finite" in statuses


RANDOM = ["quantus/FaithfulnessCorrelation", "quantus/MaxSensitivity", "quantus/RandomLogit"]


@pytest.mark.parametrize("name", [*RANDOM, "quantus/PixelFlipping", "quantus/Infidelity"])
def test_neither_order_nor_company_nor_batch_size_changes_a_value(name: str) -> None:
    own, options = given(), options_of(name)
    values = evaluate(name, **own, **options)
    turned = {key: value for key, value in own.items() if key in ("model", "explainer", "softmax")}
    for key in ("maps", "images", "masks"):
        turned[key] = own[key].flip(0)
    turned["targets"] = own["targets"][::-1].copy()
    np.testing.assert_array_equal(evaluate(name, **turned, **options)[::-1], values)
    np.testing.assert_array_equal(evaluate(name, **own, **options, batch_size=1), values)
    alone = {**own, **{key: own[key][:1] for key in ("maps", "images", "masks", "targets")}}
    np.testing.assert_array_equal(evaluate(name, **alone, **options), values[:1])


@pytest.mark.parametrize("name", ["quantus/FaithfulnessCorrelation", "quantus/MaxSensitivity"])
def test_the_seed_decides_and_nothing_global_is_left_changed(name: str) -> None:
    np.random.seed(7)  # noqa: NPY002
    torch.manual_seed(7)
    random.seed(7)
    before = (np.random.get_state()[1].copy(), torch.get_rng_state(), random.getstate())  # type: ignore[index] # noqa: NPY002
    options = options_of(name)
    first, again = (evaluate(name, **given(), **options, seed=5) for _ in range(2))
    after = (np.random.get_state()[1], torch.get_rng_state(), random.getstate())  # type: ignore[index] # noqa: NPY002
    np.testing.assert_array_equal(before[0], after[0])
    assert torch.equal(before[1], after[1]) and before[2] == after[2]
    np.random.seed(8)  # noqa: NPY002
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(evaluate(name, **given(), **options, seed=5), first)
    assert not np.allclose(evaluate(name, **given(), **options, seed=6), first)


def test_global_state_is_restored_after_an_error_too() -> None:
    before = np.random.get_state()[1].copy()  # type: ignore[index] # noqa: NPY002
    evaluate("quantus/ROAD", **given(), return_status=True)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # type: ignore[index] # noqa: NPY002


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("quantus/Sparsenes", "quantus/Sparseness"),
        ("quantus/max_sensitivity", "quantus/MaxSensitivity"),
        ("Quantus/Sparseness", "quantus/Sparseness"),
    ],
)
def test_an_unknown_name_gives_the_nearest(name: str, nearest: str) -> None:
    with pytest.raises(PastaError, match=f"Did you mean '{nearest}'"):
        evaluate(name, **given())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"nr_sample": 3}, "no option 'nr_sample'. Did you mean 'nr_samples'"),
        ({"return_aggregate": True}, "no option 'return_aggregate'"),
        ({"similarity_func": "correlation_pearsn"}, "Did you mean 'correlation_pearson'"),
    ],
)
def test_wrong_options_are_an_error_before_any_work(options: Any, words: str) -> None:
    def refuse(*_: Any) -> Any:
        raise AssertionError("this is work")

    with pytest.raises(PastaError, match=words):
        evaluate("quantus/MaxSensitivity", **{**given(), "model": refuse}, **options)


def test_options_change_the_value_and_functions_can_be_named() -> None:
    name = "quantus/FaithfulnessCorrelation"
    pearson = evaluate(name, **given(), **options_of(name))
    spearman = evaluate(name, **given(), **options_of(name), similarity_func="correlation_spearman")
    function = quantus.AVAILABLE_SIMILARITY_FUNCTIONS["correlation_spearman"]
    np.testing.assert_array_equal(
        evaluate(name, **given(), **options_of(name), similarity_func=function), spearman
    )
    assert not np.allclose(pearson, spearman)


def test_curves_are_what_the_value_is_made_of() -> None:
    found = curves("quantus/PixelFlipping", **given(), **options_of("quantus/PixelFlipping"))
    assert found.shape == (3, 12)
    np.testing.assert_allclose(found[1], call_directly("quantus/PixelFlipping", 1)[0])


def test_road_on_grey_images_has_the_mean_over_percentages() -> None:
    class Grey(nn.Module):
        def forward(self, images: Tensor) -> Tensor:
            outputs: Tensor = NETWORK(images.expand(-1, 3, -1, -1))
            return outputs

    own = {**given(), "model": Grey().eval(), "images": given()["images"][:, :1], "targets": None}
    values = evaluate("quantus/ROAD", **own, percentages=[10, 50, 90])
    rows = curves("quantus/ROAD", **own, percentages=[10, 50, 90])
    assert rows.shape == (3, 3) and set(rows.ravel()) <= {0.0, 1.0}
    np.testing.assert_allclose(values, rows.mean(1))


def test_a_softmax_at_the_end_of_a_model_stays_there() -> None:
    name, options = "quantus/PixelFlipping", options_of("quantus/PixelFlipping")

    class Last(nn.Softmax):
        """Quantus replaces a softmax only if it is an attribute of the model that it is given."""

        def forward(self, images: Tensor) -> Tensor:
            return super().forward(NETWORK(images))

    model = Last(1).eval()
    as_it_is = evaluate(name, **{**given(), "model": model, "softmax": None}, **options)
    expected = evaluate(name, **{**given(), "softmax": True}, **options)
    np.testing.assert_allclose(as_it_is, expected, rtol=1e-6)


def test_the_model_is_left_in_the_mode_it_was_found_in() -> None:
    model = SmallNet().train()
    evaluate("quantus/PixelFlipping", **{**given(), "model": model}, features_in_step=36)
    assert all(module.training for module in model.modules())


def test_metrics_that_change_the_model_need_an_explainer_that_takes_it() -> None:
    own = {**given(), "explainer": lambda images, targets: gradients(images, targets, NETWORK)}
    with pytest.raises(PastaError, match="an explainer with a parameter `model`"):
        evaluate("quantus/MPRT", **own)
    before = [one.clone() for one in NETWORK.parameters()]
    assert np.isfinite(evaluate("quantus/MPRT", **given())).all()
    assert all(map(torch.equal, before, NETWORK.parameters()))


def test_the_cost_is_not_known() -> None:
    with pytest.raises(PastaError, match="a dry run counts"):
        cost("quantus/Sparseness")


@pytest.fixture
def group(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Group:
    monkeypatch.chdir(tmp_path)
    return write_project(tmp_path / "project")


def test_the_stage_measures_them_with_options_from_the_parameters(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    # In this process: workers would import Quantus anew.
    monkeypatch.setattr(runner, "map_units", lambda work, units, _: enumerate(map(work, units)))
    names = ["sparseness", "quantus/Sparseness", "quantus/MaxSensitivity", "quantus/ROAD"]
    table = measured(group, names=names, quantus={"MaxSensitivity": {"nr_samples": 2}})
    found = of(table, "quantus/Sparseness", "gradcam/resnet50")
    own = of(table, "sparseness", "gradcam/resnet50")
    np.testing.assert_allclose(found["value"], own["value"], rtol=1e-5)
    assert set(found["direction"]) == {"higher"}
    again = of(table, "quantus/MaxSensitivity", "gradcam/resnet50")
    fine = again["status"] == "ok"
    assert fine.any() and set(again["direction"]) == {"lower"}
    # Untrained networks have maps that are all zero, which Quantus refuses.
    assert again.loc[~fine, "status"].str.startswith("AssertionError: ").all()
    assert again["value"].notna().tolist() == fine.tolist()
    slow = of(table, "quantus/MaxSensitivity", "lime/vit_b_16")
    assert set(slow["status"]) == {"not measured"}
    road = of(table, "quantus/ROAD", "gradcam/resnet50")
    assert road["status"].str.startswith("IndexError: ").all() and road["value"].isna().all()


def test_the_stage_refuses_what_it_cannot_do_before_any_work(group: Group) -> None:
    for names, words in (
        (["quantus/MPRT"], "which no stage can do"),
        (["quantus/Sparsenes"], "Did you mean 'quantus/Sparseness'"),
        (["quantus/Focus"], "no value for a single sample"),
    ):
        with pytest.raises(PastaError, match=words):
            measured(group, names=names)
    own = metrics(quantus={"MaxSensitivity": {"nr_samples": 2}})
    assert get_settings("quantus/MaxSensitivity", {}, own)["nr_samples"] == 2
    assert get_settings("quantus/MaxSensitivity", {"nr_samples": 3}, own)["nr_samples"] == 3
    with pytest.raises(PastaError, match="no option 'samples'"):
        wrong = {"MaxSensitivity": {"samples": 2}}
        measured(group, names=["quantus/MaxSensitivity"], quantus=wrong)


def test_nothing_but_a_name_of_quantus_imports_quantus() -> None:
    code = (
        "import sys; import pasta.metrics.api\n"
        "pasta.metrics.api.METRICS.entry('sparseness')\n"
        "sys.exit('quantus' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
