"""LATEC's ten faithfulness metrics in each reading against slow formulas, and what must hold."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest
import torch
from skimage.segmentation import slic

from pasta.explanations.image import blur_image
from pasta.metrics.api import curves, evaluate
from pasta.metrics.base import Batch
from pasta.metrics.settings import DEFAULTS
from tests.metrics import latec_oracles as literal
from tests.metrics.known import literal_imputation
from tests.metrics.latec_oracles import KINDS, SmallNetOf, probabilities_of

READINGS = ["paper", "released", "corrected"]
TARGETS = [2, 0]
Layout = Literal["places", "entries"]
LAYOUTS: list[Layout] = ["places", "entries"]
# A volume has one channel, and maps with it are maps without it.
CASES = [("image", "places"), ("image", "entries"), ("volume", "places"), ("cloud", "places")]
CASES += [("cloud", "entries")]


def given(kind: str, layout: str, number: int = 2, seed: int = 3) -> dict[str, Any]:
    """Positive random maps without ties."""
    modality, shape = KINDS[kind]
    random = torch.Generator().manual_seed(seed)
    images = torch.rand(number, *shape, generator=random)
    images = 2 * images - 1 if kind == "cloud" else images
    size = shape if layout == "entries" else shape[1:]
    return {
        "maps": torch.rand(number, *size, generator=random),
        "model": SmallNetOf(len(modality.axes), shape[0]).eval(),
        "images": images,
        "targets": (TARGETS * number)[:number],
        "softmax": True,
        "modality": modality,
    }


def batch_of(asked: dict[str, Any]) -> Batch:
    """Draws as the metrics do."""
    return Batch(asked["maps"], images=asked["images"], modality=asked["modality"])


def arrays(asked: dict[str, Any], number: int) -> tuple[Any, Any]:
    return asked["images"][number].double().numpy(), asked["maps"][number].double().numpy()


@pytest.mark.parametrize(("kind", "layout"), CASES)
def test_faithfulness_estimate_equals_its_formula(kind: str, layout: str) -> None:
    asked = given(kind, layout)
    found = evaluate("faithfulness_estimate", **asked, features=14)
    for number, target in enumerate(TARGETS):
        ask = probabilities_of(asked["model"], target, logit=True)
        expected = literal.faithfulness_estimate(*arrays(asked, number), 14, ask)
        assert found[number] == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize(("kind", "layout"), CASES)
def test_monotonicity_correlation_equals_its_formula(kind: str, layout: str, reading: str) -> None:
    asked, samples = given(kind, layout), 3
    options: dict[str, Any] = {"features": 20, "samples": samples, "low": -0.5, "high": 1.5}
    found = evaluate("monotonicity_correlation", **asked, **options, reading=reading)
    batch = batch_of(asked)
    for number, target in enumerate(TARGETS):
        image, one = arrays(asked, number)
        groups = -(-one.size // literal.in_step(image, one, 20))

        def draw(group: int, sample: int, number: int = number, groups: int = groups) -> Any:
            random = batch.generator(number, "monotonicity", sample)
            if reading == "released":
                return -0.5 + 2 * torch.rand(groups, generator=random)[group].double().numpy()
            shape = asked["images"][number].shape
            return -0.5 + 2 * torch.rand(shape, generator=random).double().numpy()

        ask = probabilities_of(asked["model"], target)
        expected = literal.monotonicity_correlation(image, one, 20, samples, draw, ask)
        assert found[number] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize(("kind", "layout"), CASES)
def test_pixel_flipping_equals_its_formula(kind: str, layout: str, reading: str) -> None:
    asked = given(kind, layout)
    found = evaluate("latec_pixel_flipping", **asked, features=25, reading=reading)
    for number, target in enumerate(TARGETS):
        image, one = arrays(asked, number)
        ask = probabilities_of(asked["model"], target)
        black = np.full_like(image, image.min())
        curve = literal.removal_curve(image, black, one, 25, ask)
        expected = np.trapezoid(curve[1:])
        if reading == "corrected":
            expected = np.trapezoid(curve) / (len(curve) - 1)
        assert found[number] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize(("kind", "layout"), CASES)
@pytest.mark.parametrize("name", ["insertion", "deletion"])
def test_insertion_and_deletion_equal_their_formulas(
    name: str, kind: str, layout: str, reading: str
) -> None:
    asked = given(kind, layout)
    options: dict[str, Any] = {"features": 25, "reading": reading, "filling": "centre"}
    if name == "insertion":
        start = {"filling": "blur", "blur": 2.0, "kernel": 7}
        options |= start if kind == "image" else {"filling": "noise", "noise": 0.4}
    found = evaluate(name, **asked, **options)
    batch = batch_of(asked)
    for number, target in enumerate(TARGETS):
        image, one = arrays(asked, number)
        pair = image, np.zeros_like(image)
        if name == "insertion" and kind == "image":
            pair = blur_image(asked["images"][number], 2.0, 7).double().numpy(), image
        elif name == "insertion":
            random = batch.generator(number, "filling")
            drawn = torch.randn(image.shape, generator=random)
            pair = (asked["images"][number] + 0.4 * drawn).double().numpy(), image
        ask = probabilities_of(asked["model"], target)
        whole = reading == "released" and (kind, layout) == ("image", "entries")
        curve = literal.removal_curve(*pair, one, 25, ask, whole)
        expected = np.trapezoid(curve) / (len(curve) - 1)
        if reading == "released":
            expected = np.trapezoid(curve[1:-1]) / (len(curve) - 2)
        assert found[number] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize(("kind", "layout"), CASES)
@pytest.mark.parametrize(("patch", "regions"), [(4, 3), (5, 100)])
def test_region_perturbation_equals_its_formula(
    kind: str, layout: str, reading: str, patch: int, regions: int
) -> None:
    """A hundred regions are more than there are."""
    asked = given(kind, layout)
    options: dict[str, Any] = {"patch": patch, "regions": regions, "low": -0.5, "high": 1.5}
    found = evaluate("region_perturbation", **asked, **options, reading=reading)
    batch = batch_of(asked)
    for number, target in enumerate(TARGETS):
        image, one = arrays(asked, number)
        random = batch.generator(number, "region_perturbation")
        shape = (regions,) if reading == "released" else image.shape
        drawn = -0.5 + 2 * torch.rand(shape, generator=random).double().numpy()

        def draw(region: int, drawn: Any = drawn) -> Any:
            return drawn[region] if reading == "released" else drawn

        ask = probabilities_of(asked["model"], target)
        expected = literal.region_perturbation(image, one, patch, regions, reading, draw, ask)
        assert found[number] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("filling", ["mean", "minimum"])
@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize(("kind", "layout"), CASES)
def test_irof_equals_its_formula(kind: str, layout: str, reading: str, filling: str) -> None:
    asked = given(kind, layout)
    found = evaluate("irof", **asked, segments=9, filling=filling, reading=reading)
    for number, target in enumerate(TARGETS):
        image, one = arrays(asked, number)
        labels = asked["modality"].segment(asked["images"][number], "slic", 9).numpy()
        if reading == "released" and kind != "cloud":
            flat = image if kind == "image" else image[0]
            labels = slic(flat, start_label=0, channel_axis=0)
            labels = np.unique(labels, return_inverse=True)[1].reshape(labels.shape)
        ask = probabilities_of(asked["model"], target)
        expected = literal.irof(image, one, labels, filling, reading, ask)
        assert found[number] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize(("kind", "layout"), CASES)
def test_road_equals_its_formula(kind: str, layout: str, reading: str) -> None:
    asked, percentages = given(kind, layout), list(range(1, 100, 7))
    options: dict[str, Any] = {"road": 0.3, "percentages": percentages}
    options["imputation"] = "linear" if kind == "image" else "noise"
    found = curves("road", **asked, **options, reading=reading)
    values = evaluate("road", **asked, **options, reading=reading)
    batch, exact = batch_of(asked), asked["model"].double()
    for number, target in enumerate(TARGETS):
        image, one = arrays(asked, number)
        relevance = one.mean(0) if one.ndim == image.ndim else one
        random = batch.generator(number, "perturbation", "road")
        noise = 0.3 * torch.randn(image.shape, generator=random).double().numpy()
        order, expected = np.argsort(-relevance.ravel()), []
        only_first = reading == "released" and kind == "cloud"
        for percentage in percentages:
            entries = relevance.size * (len(image) if only_first else 1)
            removed = np.zeros(relevance.size, bool)
            removed[order[: int(entries * percentage / 100)]] = True
            removed = removed.reshape(relevance.shape)
            start = literal_imputation(image, removed) if kind == "image" else image
            changed = np.where(removed, start + noise, image)
            if only_first:
                changed[1:] = image[1:]
            with torch.no_grad():
                outputs = exact(torch.from_numpy(changed)[None])
                expected.append(int(outputs.argmax() == target))
        assert found[number].tolist() == expected
        area = np.mean(expected) if reading == "corrected" else np.trapezoid(expected)
        assert values[number] == pytest.approx(area)


@pytest.mark.parametrize(("kind", "layout"), CASES)
def test_faithfulness_correlation_with_entries_and_logits_equals_its_formula(
    kind: str, layout: str
) -> None:
    asked = given(kind, layout)
    settings = DEFAULTS.faithfulness_correlation.model_copy(
        update={"features": 12, "filling": "minimum", "answer": "logit", "subsets": 20}
    )
    found = evaluate("faithfulness_correlation", **asked, **dict(settings))
    from pasta.metrics.own.correlation import draw_subsets

    batch = batch_of(asked)
    for number, target in enumerate(TARGETS):
        image, one = arrays(asked, number)
        ask = probabilities_of(asked["model"], target, logit=True)
        sums, falls = [], []
        subsets = draw_subsets(batch, number, settings)
        assert subsets.shape == (20, literal.in_step(image, one, 12))
        for subset in subsets.tolist():
            assert len(set(subset)) == len(subset)
            sums.append(one.ravel()[subset].sum())
            falls.append(ask(image) - ask(literal.remove(image, one, subset, image.min())))
        assert found[number] == pytest.approx(np.corrcoef(sums, falls)[0, 1], abs=1e-4)


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize(("kind", "layout"), CASES)
@pytest.mark.parametrize("distance", ["standardised", "squared"])
def test_neighbour_sufficiency_equals_its_formula(
    kind: str, layout: str, reading: str, distance: str
) -> None:
    asked = given(kind, layout, number=9)
    asked["maps"] = asked["maps"] * torch.linspace(0.5, 2, 9).view(
        -1, *[1] * (asked["maps"].ndim - 1)
    )
    with torch.no_grad():
        classes = asked["model"](asked["images"]).argmax(1).tolist()
    classes_of = {"standardised": "seuclidean", "squared": "sqeuclidean"}
    for threshold in (0.5, 0.8, 0.95):
        found = evaluate(
            "neighbour_sufficiency",
            **asked,
            threshold=threshold,
            distance=distance,
            reading=reading,
            return_status=True,
        )[0]
        expected = literal.neighbour_sufficiency(
            asked["maps"].double().numpy(), classes, threshold, classes_of[distance], reading
        )
        np.testing.assert_allclose(found, expected, atol=1e-12)
