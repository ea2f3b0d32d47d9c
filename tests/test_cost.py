"""`pasta profile cost`: counts that the stages keep to, and profiles that fit."""

from __future__ import annotations

import json

import pytest
import torch
from torchvision.models import resnet50, vit_b_16
from typer.testing import CliRunner

from pasta.cli import app
from pasta.config import Params
from pasta.cost import (
    STAGES,
    Device,
    Network,
    Work,
    classifier_work,
    count_work,
    embedding_work,
    known_devices,
    list_work,
    measure_here,
    rates,
    search_passes,
    splits_of,
    tabulate,
    tower_work,
)
from pasta.errors import PastaError
from pasta.explanations.base import Passes
from pasta.explanations.perturbation_search import find_pairs
from pasta.explanations.samples import choose_rated
from tests.conftest import ROOT
from tests.test_params import profile


@pytest.fixture(scope="module")
def second() -> list[Work]:
    return list_work(profile("paper_p2"))


def test_the_work_of_a_pass_is_what_the_authors_say() -> None:
    """Giga multiplications of torchvision's documentation, times two: 4.09 and 17.56."""
    with torch.device("meta"):
        found = [count_work(one(), torch.zeros(1, 3, 224, 224)) for one in (resnet50, vit_b_16)]
    assert found[0].gigaflops == pytest.approx(2 * 4.09, rel=0.01)
    assert found[1].gigaflops == pytest.approx(2 * 17.56, rel=0.01)
    assert [one.kind for one in found] == ["convolution", "attention"]
    assert [one.parameters for one in found] == [25_557_032, 86_567_656]


def test_networks_are_built_from_the_settings_without_weights() -> None:
    params = profile("paper_p2")
    network = classifier_work("resnet50", "coco-resnet50", params)
    assert network.channels == 2048 and network.gigaflops == pytest.approx(8.17, rel=0.01)
    assert classifier_work("vit_b_16", "coco-vit_b_16", params).channels == 768
    assert classifier_work("clip_zero_shot", "coco-clip", params) == tower_work("ViT-B-32")
    assert classifier_work("clip_qda", "coco-clip", params) == tower_work("ViT-L-14-336")
    assert tower_work("ViT-L-14-336").gigaflops > 40 * tower_work("ViT-B-32").gigaflops


def total(work: list[Work], column: str, stage: str = "all") -> float:
    table = tabulate(work, known_devices()).set_index("stage")
    return float(table[column].astype(float)[stage])


def test_the_second_paper_fits_into_five_days_of_one_a100(second: list[Work]) -> None:
    """On one GPU of 16 GB, and with a disk as laptops have them."""
    assert 24 < total(second, "A100") < 5 * 24
    assert total(second, "A100") < total(second, "V100")
    assert total(second, "memory") < 16 and total(second, "disk") < 100
    parts = [total(second, "passes", stage) for stage in STAGES]
    assert total(second, "passes") == pytest.approx(sum(parts))


def test_what_paper_p2_leaves_out_is_what_makes_it_fit(second: list[Work]) -> None:
    """All images for the slow metrics, and slow methods explained again: weeks."""
    params = profile("paper_p2")
    metrics = params.metrics.model_copy(update={"images": {}, "not_again": ()})
    everything = list_work(params.model_copy(update={"metrics": metrics}))
    hours = total(everything, "A100", "measure")
    assert hours > 5 * 24 and hours > 10 * total(second, "A100", "measure")


def test_passes_grow_with_what_they_depend_on() -> None:
    """Explaining costs three passes a mask and image: the original and its two copies."""
    params = profile("ci")

    def passes(stage: str, changed: Params) -> float:
        return sum(one.passes.forward for one in list_work(changed) if one.stage == stage)

    rise = params.explanations.methods.rise
    methods = params.explanations.methods.model_copy(
        update={"rise": rise.model_copy(update={"masks": rise.masks + 10})}
    )
    more = params.explanations.model_copy(update={"methods": methods})
    changed = params.model_copy(update={"explanations": more})
    backbones, datasets, images = 3, 4, 2
    grown = passes("explain", changed) - passes("explain", params)
    assert grown == 10 * 3 * images * datasets * backbones
    assert passes("train", changed) == passes("train", params)


def test_the_search_for_copies_asks_at_most_what_is_said() -> None:
    params = profile("ci")
    seen = 0

    def predict(images: torch.Tensor) -> torch.Tensor:
        nonlocal seen
        seen += len(images)
        return (images.flatten(1).mean(1) * 40).long()

    images = torch.rand(6, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    names = [str(number) for number in range(6)]
    find_pairs(predict, images, names, 0, params.explanations.perturbations, 64)
    assert 6 < seen <= 6 * search_passes(params).forward


def test_images_are_capped_in_the_estimate_as_in_the_stages() -> None:
    params = profile("paper_p2")
    test = splits_of("monumai", params).test
    rows = choose_rated(torch.arange(test).numpy(), "monumai", params)
    copies = [one for one in list_work(params) if one.item == "monumai-resnet50/resnet50, copies"]
    assert copies[0].passes.forward == len(rows) * search_passes(params).forward


def test_hours_follow_from_the_work_and_the_device() -> None:
    network = Network(gigaflops=10, parameters=1e6)
    work = Work("explain", "x", network, Passes(forward=100, backward=50), core_seconds=7)
    device = Device("d", {"float32": {"convolution": 0.5}}, cores=2, slowness=3)
    assert device.seconds(work) == pytest.approx((100 + 2 * 50) * 0.01 / 0.5 + 7 * 3 / 2)


def test_every_encoder_of_the_profiles_has_a_known_work() -> None:
    for name in ("paper_p1", "paper_p2"):
        own = profile(name).embedding
        for encoder in (own.encoder, *own.variants.encoders):
            assert embedding_work(encoder).gigaflops > 1
    assert all("source" in rates()[key] for key in ("core_seconds", "hub", "datasets", "scoring"))
    assert all("source" in one for one in rates()["devices"].values())


@pytest.mark.slow
def test_this_machine_is_measured() -> None:
    here = measure_here(seconds=0.1)
    assert all(speed > 0 for one in here.teraflops.values() for speed in one.values())
    assert here.cores >= 1 and here.slowness > 0


def test_the_command_prints_days_and_knows_the_profiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    said = CliRunner().invoke(app, ["profile", "cost", "ci", "--no-probe"]).stdout
    assert "days on one A100" in said and "explain" in said and "GB disk" in said
    found = CliRunner().invoke(app, ["profile", "cost", "ci", "--no-probe", "--json"])
    assert [row["stage"] for row in json.loads(found.stdout)] == [*STAGES, "all"]
    with pytest.raises(PastaError, match="Did you mean 'paper_p"):
        CliRunner().invoke(app, ["profile", "cost", "paper"], catch_exceptions=False)
