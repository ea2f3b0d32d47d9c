"""LATEC's methods and metrics as data: the paper's numbers, directions and settings."""

from __future__ import annotations

from collections import Counter

import pytest

from pasta.benchmark.applied import explains, method_settings, metric_settings
from pasta.benchmark.catalog import (
    all_methods,
    all_metrics,
    catalogue,
    choose_methods,
    choose_metrics,
)
from pasta.benchmark.material import apply_settings
from pasta.config import load_params
from pasta.datasets.vocabulary import VOCABULARIES, vocabulary
from pasta.errors import PastaError
from pasta.explanations.catalog import METHODS
from pasta.explanations.modality import MODALITIES
from pasta.metrics.api import get_settings
from pasta.metrics.catalog import METRICS

# Table 2: arrows of the metrics
HIGHER = {"FC", "FE", "MC", "RP", "INS", "IROF", "SUF", "CON", "SP"}
READINGS = ("paper", "released", "corrected")


def test_there_are_17_methods_and_20_metrics_as_in_the_paper() -> None:
    methods, metrics = all_methods(), all_metrics()
    assert len(methods) == 17 and sum(one.attention for one in methods) == 3
    counts = Counter(one.criterion for one in metrics)
    assert counts == {"faithfulness": 10, "robustness": 7, "complexity": 3}
    for entries, known in ((methods, METHODS), (metrics, METRICS)):
        assert len({one.code for one in entries}) == len({one.title for one in entries})
        assert len({one.code for one in entries}) == len(entries)
        assert all(one.key in known for one in entries)
    directions = {one.code: METRICS.entry(one.key).metadata["direction"] for one in metrics}
    assert {code for code, direction in directions.items() if direction == "higher"} == HIGHER


def test_attention_is_for_transformers_and_cams_are_not_for_clouds() -> None:
    on = {
        model: [one.code for one in all_methods() if explains(one, model, "image")]
        for model in ("resnet50", "efficientnet_b0", "vit_b_16")
    }
    assert [len(codes) for codes in on.values()] == [14, 14, 17]
    clouds = [one.code for one in all_methods() if explains(one, "vit_b_16", "point cloud")]
    assert len(clouds) == 14 and not {"GC", "SC", "C+"} & set(clouds)


def test_settings_belong_to_a_modality_or_a_dataset_that_exists() -> None:
    for sizes in ("paper", "demo"):
        known = {"any", *MODALITIES, *VOCABULARIES}
        assert set(catalogue()[sizes]) <= known
    assert {kind for one in all_methods() for kind in one.without} <= set(MODALITIES)
    own = apply_settings(load_params(), vocabulary("faces"), "corrected")
    assert own.metrics.road.imputation == "noise" and own.metrics.deletion.filling == "centre"
    assert own.explanations.methods.occlusion.window_pixels == 1


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("sizes", ["demo", "paper"])
@pytest.mark.parametrize("modality", ["image", "volume", "point cloud"])
def test_every_setting_is_one_that_a_method_or_metric_has(
    reading: str, sizes: str, modality: str
) -> None:
    methods = method_settings(modality, sizes, reading)  # type: ignore[arg-type]
    assert methods.lime.reading == reading
    metrics = metric_settings(modality, "oct", sizes, reading)  # type: ignore[arg-type]
    with_readings = 0
    for one in all_metrics():
        own = get_settings(one.key, {}, metrics)
        if own is not None and hasattr(own, "reading"):
            assert own.reading == reading
            with_readings += 1
    assert with_readings >= 12


def test_the_paper_sizes_are_those_of_tables_7_and_8() -> None:
    methods = method_settings("image", "paper", "corrected")
    assert methods.lime.samples == methods.shap.samples == 10
    assert methods.integrated_gradients.steps == 30
    octs = metric_settings("image", "oct", "paper", "corrected")
    assert (octs.insertion.blur, octs.insertion.kernel) == (120.0, 39)
    resisc = metric_settings("image", "resisc45", "paper", "corrected")
    patches = get_settings("region_perturbation", {}, resisc)
    assert (patches.patch, patches.regions) == (18, 20)
    assert octs.faithfulness_correlation.features == 224
    assert get_settings("local_lipschitz", {}, octs).gaussian == 0.0002
    assert metric_settings("volume", "organ", "paper", "corrected").road.road == 4.0


def test_choices_are_by_key_or_code_and_typos_are_named() -> None:
    assert [one.key for one in choose_methods(["GC", "saliency"])] == ["saliency", "gradcam"]
    assert [one.code for one in choose_metrics(["sparseness"])] == ["SP"]
    with pytest.raises(PastaError, match=r"no method 'gradcan'\. Did you mean 'gradcam'\?"):
        choose_methods(["gradcan"])
    with pytest.raises(PastaError, match="no metric 'FX'"):
        choose_metrics(["FX"])
