"""Backbone size: norms, distilled towers, and what the comparison says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from pydantic import ValidationError
from torch import Tensor

from pasta import store
from pasta.applications.backbones import (
    ALL,
    CONTRAST,
    SCORE_COLUMNS,
    run_backbones,
    summarise_towers,
    tower_trends,
)
from pasta.applications.prepared.base import fresh_images, groups_with
from pasta.applications.prepared.towers import (
    TOWER_COLUMNS,
    artefacts,
    background_cells,
    distil,
    distillation_loss,
    family_of,
    feature_norms,
    load_towers,
    new_student,
    open_tower,
    prepare,
    prepare_towers,
)
from pasta.applications.settings import ApplicationsParams, BackbonesParams
from pasta.errors import PastaError
from pasta.explanations.hooks import hooked
from pasta.explanations.samples import choose_rated
from pasta.layout import Group
from pasta.models.clip import ClipEncoder, prompts
from pasta.seeds import generator
from reports.source.plots.applications import backbone_figure
from tests.applications.small import DATASET, DISTILLATION, Small, small_project, tower
from tests.models.small import DEVICES


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Small:
    return small_project(tmp_path_factory.mktemp("project"))


class TestNorms:
    def test_equal_norms_have_no_outliers(self) -> None:
        found = artefacts(np.full((2, 3, 3), 5.0), np.zeros((2, 3, 3), bool))
        assert (found.outliers, found.largest, found.background) == (0.0, 1.0, 0.0)
        assert np.isnan(found.in_background) and found.positions == 18

    def test_outliers_and_their_place_match_a_slow_count(self) -> None:
        random = generator(0, "norms")
        norms = random.lognormal(size=(4, 5, 6)) ** 2
        background = random.random((4, 5, 6)) < 0.4
        values = sorted(norms.flatten().tolist())

        def quantile(share: float) -> float:
            place = share * (len(values) - 1)
            low = int(place)
            return values[low] + (place - low) * (values[low + 1] - values[low])

        fence = quantile(0.75) + 2.0 * (quantile(0.75) - quantile(0.25))
        pairs = list(zip(norms.flatten(), background.flatten(), strict=True))
        far = [hidden for value, hidden in pairs if value > fence]
        found = artefacts(norms, background, width=2.0)
        assert far and found.fence == pytest.approx(fence)
        assert found.outliers == pytest.approx(len(far) / len(values))
        assert found.in_background == pytest.approx(sum(far) / len(far))

    def test_a_planted_artefact_token_of_a_transformer_is_found_where_it_is(self) -> None:
        from open_clip.transformer import VisionTransformer

        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            vit = VisionTransformer(32, 8, 16, 2, 2, 2.0, output_dim=8).eval()
        images = torch.rand(5, 3, 32, 32, generator=torch.Generator().manual_seed(0))

        def plant(_layer: Any, _inputs: Any, output: torch.Tensor) -> torch.Tensor:
            changed = output.clone()
            changed[:, 1 + 4 * 2 + 3] += 40.0  # the class token comes first
            return changed

        with hooked(vit.transformer.resblocks[0], plant):
            norms = feature_norms(vit, images, batch_size=2)
        assert norms.shape == (5, 4, 4)
        far = norms > artefacts(norms, np.zeros((5, 4, 4), bool)).fence
        assert far[:, 2, 3].all() and far.sum() == 5

    def test_norms_of_a_convolutional_tower_are_those_of_its_last_stage(self, small: Small) -> None:
        encoder = small.clip
        images = encoder.prepare(small.data.images(torch.arange(3)))
        trunk = encoder.visual.trunk
        with torch.no_grad():
            maps = trunk.maxpool(trunk.relu(trunk.bn1(trunk.conv1(images))))
            maps = trunk.layer4(trunk.layer3(trunk.layer2(trunk.layer1(maps))))
        assert feature_norms(encoder.visual, images) == pytest.approx(
            np.sqrt((maps.numpy().astype(np.float64) ** 2).sum(1)), rel=1e-4
        )
        assert not trunk.layer4[-1]._forward_hooks

    def test_a_cell_is_background_if_no_part_touches_it(self) -> None:
        parts = np.zeros((1, 8, 8), np.uint8)
        parts[0, 3, 3], parts[0, 7, 0] = 2, 1
        assert background_cells(parts, 2, 2).tolist() == [[[False, True], [False, True]]]


class TestTowers:
    def test_families_follow_from_what_a_method_looks_at(self) -> None:
        assert {family_of(name) for name in ("gradcam", "eigencam", "dff")} == {"activation"}
        assert {family_of(name) for name in ("lime", "shap", "rise")} == {"perturbation"}
        with pytest.raises(PastaError, match="gives no maps"):
            family_of("lime_cbm")
        with pytest.raises(PastaError, match="neither at a layer"):
            family_of("fullgrad")

    def test_a_student_learns_the_teachers_vectors_and_only_its_tower_changes(
        self, small: Small
    ) -> None:
        teacher = small.clip
        before = teacher.md5
        lesson = prepare(small.data, teacher, "a photo of a {}", DISTILLATION)
        assert len(lesson) == 16 and set(lesson.rows.tolist()) <= set(
            small.data.rows("train").tolist()
        )
        students = [new_student(teacher, 4, "narrow", 0) for _ in range(2)]
        losses = [distil(one, [lesson], DISTILLATION, 0) for one in students]
        assert losses[0] == losses[1] and losses[0][-1] < losses[0][0]
        assert students[0].md5 == students[1].md5 and teacher.md5 == before
        texts = prompts(small.data.classes, "a photo of a {}")
        assert torch.equal(students[0].text_features(texts), teacher.text_features(texts))
        assert students[0].size == teacher.size and not students[0].visual.training

    @pytest.mark.parametrize("device", DEVICES)
    def test_a_step_of_distillation_stays_on_the_device_of_the_student(
        self, small: Small, device: str
    ) -> None:
        student = new_student(small.clip, 4, "narrow", 0).to(device)
        student.visual.requires_grad_(True).train()

        def given(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
            return torch.zeros(shape, dtype=dtype, device=device)

        loss = distillation_loss(
            student,
            given(4, 3, 32, 32, dtype=torch.uint8),
            given(4, small.clip.width),
            given(3, small.clip.width),
            given(4, dtype=torch.int64),
            0.5,
        )
        loss.backward()  # type: ignore[no-untyped-call]
        gradients = [value.grad for value in student.visual.parameters()]
        assert loss.device.type == device
        assert all(one is not None and one.device.type == device for one in gradients)

    def test_wider_towers_have_more_parameters(self, small: Small) -> None:
        teacher = small.clip
        sizes = [
            sum(value.numel() for value in new_student(teacher, width, "", 0).visual.parameters())
            for width in (4, 8, 16)
        ]
        assert sizes == sorted(set(sizes))

    @pytest.mark.parametrize(
        "wrong",
        [{}, {"width": 4, "architecture": "ViT-B-16", "weights": "openai"}, {"weights": "openai"}],
    )
    def test_a_tower_is_either_distilled_or_opened(self, wrong: Any) -> None:
        with pytest.raises(ValidationError, match="either a width"):
            tower("odd", **wrong)

    def test_a_tower_is_opened_from_a_file_in_the_project(self, small: Small) -> None:
        file = "pipelines/data/clip/weights.safetensors"
        given = tower("tiny", architecture="pasta-tiny", weights=file)
        opened = open_tower(given, [], small.params, DISTILLATION, small.root)
        assert isinstance(opened, ClipEncoder)
        assert opened.md5 == small.scorer.encoder.clip.md5  # type: ignore[attr-defined]


def planted(activation: float, perturbation: float, images: int = 12) -> pd.DataFrame:
    """Scores in which the families change by these amounts from the small to the large tower."""
    random = generator(1, "scores")
    base = random.uniform(2, 4, images)
    rows = [
        {
            "dataset": "d",
            "image_id": f"{image:02}",
            "tower": name,
            "method": method,
            "family": kind,
            "parameters": size,
            "predicted": "x",
            "correct": image % 2 == 0,
            "status": "ok",
            "score": base[image] + (change if name == "large" else 0.0),
            "quality": np.nan,
        }
        for name, size in (("small", 10), ("middle", 20), ("large", 30))
        for method, kind, change in (
            ("gradcam", "activation", activation),
            ("eigencam", "activation", activation),
            ("lime", "perturbation", perturbation),
        )
        for image in range(images)
    ]
    return pd.DataFrame(rows)


class TestTrends:
    def test_planted_changes_are_found_exactly(self) -> None:
        trends = tower_trends(planted(-0.5, 0.25), 200, 0)
        whole = trends[trends["group"] == ALL].set_index("family")
        assert whole["estimate"].to_dict() == pytest.approx(
            {"activation": -0.5, "perturbation": 0.25, CONTRAST: -0.75}
        )
        assert (whole["low"] - whole["high"]).abs().max() < 1e-9  # the same on every image
        assert set(trends["from_tower"]) == {"small"} and set(trends["to_tower"]) == {"large"}

    def test_a_map_without_a_score_is_left_out_on_both_towers_and_counted(self) -> None:
        scores = planted(-0.5, 0.0)
        gone = (scores["tower"] == "large") & (scores["method"] == "gradcam")
        scores.loc[gone & (scores["image_id"] < "04"), "score"] = np.nan
        scores.loc[(scores["method"] == "eigencam"), "score"] += 3.0
        trends = tower_trends(scores, 200, 0).set_index(["group", "family"])
        assert trends.loc[("gradcam", "activation"), "n"] == 8
        assert "4 images" in str(trends.loc[("gradcam", "activation"), "note"])
        # the mean over methods must not jump because a low one is missing on one tower only
        assert trends.loc[(ALL, "activation"), "estimate"] == pytest.approx(-0.5)
        summary = summarise_towers(scores, 200, 0).set_index(["tower", "group", "family"])
        assert summary.loc[("large", "gradcam", "activation"), "missing"] == 4

    def test_means_and_accuracies_of_towers_are_plain_means_over_images(self) -> None:
        scores = planted(-0.5, 0.0)
        found = summarise_towers(scores, 200, 0)
        assert list(found["tower"].unique()) == ["small", "middle", "large"]
        assert set(found["measure"]) == {"score"}  # nobody judges
        row = found[(found["tower"] == "middle") & (found["group"] == "lime")].iloc[0]
        own = scores[(scores["tower"] == "middle") & (scores["method"] == "lime")]["score"]
        assert row["mean"] == pytest.approx(own.mean()) and row["accuracy"] == 0.5
        assert row["low"] < row["mean"] < row["high"] and row["n"] == 12


def test_fresh_images_are_test_images_that_nobody_has_rated(
    small: Small, capsys: pytest.CaptureFixture[str]
) -> None:
    found = fresh_images(small.group, small.params, 10, "a.b")
    rated = choose_rated(small.data.dataset.rows("test"), small.group.dataset, small.params)
    assert len(set(found.rows)) == 10 and not set(found.rows) & set(rated)
    assert set(found.rows) <= set(small.data.dataset.rows("test"))
    assert found.ids[:4] == fresh_images(small.group, small.params, 4, "a.b").ids
    assert capsys.readouterr().err == ""
    assert len(fresh_images(small.group, small.params, 11, "a.b")) == 10
    said = capsys.readouterr().err
    assert "has 10 test images that nobody has rated, not 11 (a.b): these are used" in said
    assert len(fresh_images(small.group, small.params, 12, "a.b", least=11)) == 0
    assert "it is left out" in capsys.readouterr().err


def test_a_dataset_has_one_group_with_a_classifier_and_others_without(tmp_path: Path) -> None:
    trained = {"a-vit": ["vit_b_16"], "a-resnet": ["resnet50"], "b": ["vit_b_16", "resnet50"]}
    groups = [Group(key, key[0], tmp_path) for key in trained]
    for group in groups:
        for name in trained[group.key]:
            store.write_json({}, group.models / name / "model.json")
    assert [one.key for one in groups_with(groups, "resnet50")] == ["a-resnet", "b"]
    assert [one.key for one in groups_with(groups, "vit_b_16")] == ["a-vit", "b"]
    with pytest.raises(PastaError, match="no group has trained the classifier 'labo'"):
        groups_with(groups, "labo")


def test_the_whole_comparison_of_two_towers(small: Small, tmp_path: Path) -> None:
    own = BackbonesParams(
        datasets=(DATASET,),
        images=6,
        methods=("gradcam", "eigencam", "rise"),
        towers=(tower("narrow", width=4), tower("wide", width=8)),
        distillation=DISTILLATION,
        fence=3.0,
        pictures=1,
    )
    settings = ApplicationsParams.model_construct(question="Q1", resamples=100, backbones=own)
    params = small.params.model_copy(update={"applications": settings})
    prepare_towers([small.group], params, small.root, tmp_path)
    datasets, judges = {DATASET: small.data.dataset}, {DATASET: None}
    found = run_backbones(datasets, params, small.scorer, tmp_path, judges)
    maps = load_towers(tmp_path).maps
    assert len(maps) == len(found.scores) and np.isfinite(maps).all()
    assert tuple(found.scores) == SCORE_COLUMNS and tuple(found.towers) == TOWER_COLUMNS
    assert len(found.scores) == 2 * 3 * 6 and found.towers["positions"].tolist() == [54, 54]
    shown = found.scores[found.scores["status"] == "ok"]
    assert shown["score"].between(1, 5).all() and found.scores["quality"].isna().all()
    assert found.towers["parameters"].is_monotonic_increasing
    assert found.towers["accuracy"].between(0, 1).all()
    assert {(one.tower, one.method) for one in found.pictures} == {
        (name, method) for name in ("narrow", "wide") for method in ("gradcam", "rise")
    }
    assert len(backbone_figure(found.summary, found.towers).axes) == 2  # nobody judges
    wrong = settings.model_copy(
        update={"backbones": own.model_copy(update={"datasets": ("catsdogscar",)})}
    )
    params = small.params.model_copy(update={"applications": wrong})
    with pytest.raises(PastaError, match="Did you mean 'catsdogscars'"):
        prepare_towers([small.group], params, small.root, tmp_path / "no")
    with pytest.raises(PastaError, match="`dvc repro towers`"):
        load_towers(tmp_path / "no")
