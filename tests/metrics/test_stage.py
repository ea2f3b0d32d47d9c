"""The measure stage: its table, what it recomputes, and what it shares."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from torch import Tensor

from pasta import store, tables
from pasta.datasets.vocabulary import vocabulary
from pasta.errors import InputError, PastaError
from pasta.explanations.engine import Work, attributions
from pasta.metrics import evaluate
from pasta.metrics.jobs import NOT_MEASURED
from pasta.metrics.sharing import Backbone
from pasta.metrics.stored import file_of
from pasta.metrics.subjects import subjects
from pasta.workers import as_finished
from tests.embedding import small
from tests.metrics.small_stage import (
    HEADS,
    SEED,
    TECHNIQUES,
    Models,
    Told,
    measured,
    of,
    values,
    write_dataset,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_dataset(tmp_path / "catsdogscars")


def test_every_saliency_map_has_a_row_for_each_metric_and_variant(folder: Path) -> None:
    table = measured(folder)
    explained = store.read(folder / "explanations.parquet", tables.EXPLANATIONS)
    store.write(table, folder / "values.parquet", tables.METRIC_VALUES, {"explanations": explained})
    assert len(table) == len(TECHNIQUES) * small.NUMBER * (4 + 1 + 1 + 2 + 1 + 1)
    assert not table["sample_id"].str.contains("clip_qda").any()
    assert set(of(table, "faithfulness", "gradcam/resnet50", "road published")["status"]) == {"ok"}
    skipped = of(table, "max_sensitivity", "lime/vit_b_16", "gaussian")
    assert set(skipped["status"]) == {NOT_MEASURED} and skipped["value"].isna().all()


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
    folder: Path, name: str, variant: str, options: dict[str, Any]
) -> None:
    models = Models()
    found = of(measured(folder, models=models), name, "hirescam/resnet50", variant)
    subject = next(one for one in subjects(folder) if one.technique.method == "hirescam")
    if name == "faithfulness":
        options["step"] = 40
    expected = evaluate(
        name,
        maps=np.asarray(store.read_array(folder / "explanations/hirescam.resnet50.npy")[:6]),
        model=models.networks["resnet50"],
        images=subject.images(slice(0, 6)),
        targets=[vocabulary("catsdogscars").class_index(one) for one in small.LABELS],
        softmax=True,
        seed=SEED,
        **options,
    )
    np.testing.assert_allclose(found["value"], expected, rtol=1e-4, atol=1e-7)


def test_sensitivity_explains_again_through_the_engine(folder: Path) -> None:
    models = Models()
    found = of(measured(folder, models=models), "max_sensitivity", "gradcam/resnet50", "uniform")
    subject = subjects(folder)[0]

    def explain(images: Tensor, targets: Tensor) -> Any:
        view = models("resnet50").view
        work = Work(view, lambda part: images[part], targets, {}, SEED)
        return np.concatenate([part.raw for part in attributions(work, ["gradcam"])])

    expected = evaluate(
        "max_sensitivity",
        maps=subject.maps[:],
        images=subject.images(slice(0, 6)),
        targets=subject.targets[:],
        explainer=explain,
        seed=SEED,
        samples=3,
    )
    np.testing.assert_allclose(found["value"], expected, rtol=1e-4)


def test_methods_of_a_backbone_share_the_passes_of_noisy_copies(folder: Path) -> None:
    models = Models()
    measured(folder, models=models, names=["max_sensitivity"])
    assert models.networks["resnet50"].back == 6 * 3 * 2  # images x copies x kinds of noise
    assert models.networks["vit_b_16"].seen == 0  # LIME is not explained again


def test_methods_of_a_backbone_share_the_questions_of_faithfulness_correlation(
    folder: Path,
) -> None:
    one, two = Models(), Models()
    measured(folder, models=one, names=["faithfulness_correlation"])
    small.write_tables(folder, (TECHNIQUES[0], *small.CONCEPT))
    store.write_json({"entries": []}, file_of(folder, subjects(folder)[0].technique))
    measured(folder, models=two, names=["faithfulness_correlation"])
    assert two.networks["resnet50"].seen > 1
    # the second technique costs one look at the model, nothing else
    assert one.networks["resnet50"].seen == two.networks["resnet50"].seen + 1


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_a_killed_run_resumes_to_the_same_table(folder: Path, tmp_path: Path, jobs: int) -> None:
    other = tmp_path / "copy" / "catsdogscars"
    shutil.copytree(folder, other)
    whole = Told()
    expected = measured(other, whole)
    with pytest.raises(KeyboardInterrupt):
        measured(folder, Told(kill_after=jobs))
    rest = Told()
    pd.testing.assert_frame_equal(values(measured(folder, rest)), values(expected))
    assert rest.titles == whole.titles[jobs:]
    before = small.contents(folder / "metrics")
    again = Told()
    measured(folder, again)
    assert not again.titles and small.contents(folder / "metrics") == before


def test_several_processes_find_the_same(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "copy" / "catsdogscars"
    shutil.copytree(folder, other)
    alone, together = measured(folder), measured(other, processes=2)
    pd.testing.assert_frame_equal(values(alone), values(together))


@pytest.mark.parametrize(
    ("change", "titles"),
    [
        ({"deletion": {"steps": 5}}, ["1 metrics of"] * 3),
        ({"max_sensitivity": {"samples": 4}}, ["4 metrics of gradcam, hirescam", "2 metrics"]),
        ({"perturbations": ["black", "road", "gaussian"]}, ["2 metrics of"] * 3),
        ({"not_again": ["lime", "gradcam"]}, ["2 metrics of gradcam"]),
        ({"names": ["sparseness"]}, []),
    ],
)  # fmt: skip
def test_a_changed_setting_recomputes_only_what_it_concerns(
    folder: Path, change: dict[str, Any], titles: list[str]
) -> None:
    before, told = measured(folder), Told()
    after = measured(folder, told, **change)
    assert len(told.titles) == len(titles)
    assert all(words in title for words, title in zip(titles, told.titles, strict=True))
    key = ["sample_id", "metric", "variant"]
    both = before.merge(after, on=key, suffixes=("", "_after"))
    kept = both[both["metric"] == "sparseness"]
    assert (kept["seconds"] == kept["seconds_after"]).all()  # not measured again


def test_a_changed_map_or_model_concerns_only_what_looks_at_it(folder: Path) -> None:
    measured(folder)
    small.change_map(folder, 2)
    told = Told()
    measured(folder, told)
    assert [title.split(" of ")[1] for title in told.titles] == [
        "gradcam again",
        "gradcam",  # what all techniques ask
        "gradcam",
    ]
    models, told = Models(), Told()

    def trained(name: str) -> Backbone:
        found = models(name)
        return Backbone(name, found.view, found.weights + " trained more")

    measured(folder, told, models=trained)
    assert "resnet50: 5 metrics of gradcam" in told.titles  # not sparseness, not IoU


def test_maps_that_show_nothing_have_a_status_and_no_value(folder: Path) -> None:
    file = folder / "explanations/gradcam.resnet50.npy"
    maps = np.array(store.read_array(file))
    maps[0], maps[1], maps[2, 3, 3] = 0, 0.5, np.nan
    store.write_array(maps, file)
    table = measured(folder)
    for metric, variant in (("deletion", ""), ("faithfulness", "black text")):
        found = of(table, metric, "gradcam/resnet50", variant)
        assert found["status"].tolist()[:4] == ["zero", "constant", "nan", "ok"]
        assert found["value"].isna().tolist()[:4] == [True, True, True, False]
    sparse = of(table, "sparseness", "gradcam/resnet50")
    assert sparse["status"].tolist()[:3] == ["zero", "ok", "nan"]
    again = of(table, "max_sensitivity", "gradcam/resnet50", "uniform")
    assert again["status"].tolist()[:4] == ["zero", "ok", "nan", "ok"]


def test_masks_are_the_parts_of_the_labelled_class(folder: Path) -> None:
    masks = subjects(folder)[0].masks[:]
    assert masks[HEADS, :8].all() and not masks[:, 8:12].any()
    dogs = [1, 3, 5]
    assert masks[dogs, 12:].all() and not masks[2, 12:].any()  # a cat has no wheels
    assert not masks[0].any()
    found = of(measured(folder, names=["iou"]), "iou", "gradcam/resnet50")
    assert found["status"].tolist() == ["empty mask"] + ["ok"] * 5


def test_techniques_that_are_gone_are_forgotten(folder: Path) -> None:
    measured(folder)
    small.write_tables(folder, (TECHNIQUES[0], *small.CONCEPT))
    table = measured(folder)
    assert [file.name for file in (folder / "metrics").iterdir()] == ["gradcam.resnet50.json"]
    assert table["sample_id"].str.endswith("gradcam/resnet50").all()


def test_unknown_names_and_maps_of_another_size_are_errors_that_say_so(folder: Path) -> None:
    with pytest.raises(PastaError, match="Did you mean 'sparseness'"):
        measured(folder, names=["sparsenes"])
    with pytest.raises(PastaError, match="Did you mean 'lime'"):
        measured(folder, not_again=["limes"])
    store.write_array(np.ones((18, 4, 4), np.float16), folder / "explanations/lime.vit_b_16.npy")
    with pytest.raises(InputError, match=r"lime/vit_b_16.*\(18, 4, 4\).*16 x 16"):
        measured(folder)
    assert not (folder / "metrics").exists()


def test_an_error_in_a_worker_stops_the_others_and_is_raised_here() -> None:
    def work(place: int) -> int:
        if place == 1:
            raise PastaError("number one is broken")
        return place

    with pytest.raises(PastaError, match="number one is broken"):
        list(as_finished([partial(work, place) for place in range(4)], processes=2))
    assert sorted(as_finished([partial(pow, place, 2) for place in range(4)], processes=2)) == [
        (0, 0),
        (1, 1),
        (2, 4),
        (3, 9),
    ]
