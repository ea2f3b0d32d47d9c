"""The papers' architectures with random weights: the same names, each takes a step here.

One architecture at a time is in memory; the largest needs about 4 GB.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import open_clip
import pytest
import torch
import torchvision
from bcos.models import pretrained

from pasta.config import Params
from pasta.datasets.vocabulary import vocabulary
from pasta.embedding.encoders import ENCODERS, HubEncoder, OpenClip
from pasta.explanations.engine import Work, attributions, predicted_classes, view_of
from pasta.models.base import MODELS, BlackBox, ConceptModel
from pasta.models.bcos import RELEASED
from pasta.models.clip import open_model
from pasta.models.data import ModelContext
from pasta.models.hub import stand_in_tokenizer
from pasta.models.settings import RANDOM, is_random, seed_of, with_seed
from tests.models.small import profile

transformers: Any = pytest.importorskip("transformers")
PAPERS = ("paper_p1", "paper_p2")
HUB = {"blip-base": "BlipForImageTextRetrieval", "llava-1.5-7b": "LlavaForConditionalGeneration"}


# Names and tags: what a machine with network will ask for exists.


def encoders(params: Params) -> Iterator[tuple[str, str]]:
    """Encoders of explanations with their weights."""
    yield params.embedding.encoder, params.embedding.weights
    yield from params.embedding.variants.encoders.items()


def clip_models(params: Params) -> Iterator[tuple[str, str]]:
    """Architectures and tags that open_clip is asked for."""
    yield params.clip.architecture, params.clip.weights
    for section in params.models.values():
        for name in section.backbones:
            own = getattr(getattr(section, name), "encoder", None)
            if own is not None:
                yield own.architecture, own.weights
    for tower in params.applications.backbones.towers:
        yield str(tower.architecture), str(tower.weights)
    for name, weights in encoders(params):
        if name not in HUB:
            yield ENCODERS.entry(name).metadata["architecture"], weights


@pytest.mark.parametrize("name", PAPERS)
def test_open_clip_has_every_architecture_and_tag_of_the_papers(name: str) -> None:
    missing = set(clip_models(profile(name))) - set(open_clip.list_pretrained())
    assert not missing


@pytest.mark.parametrize("name", PAPERS)
def test_torchvision_and_bcos_have_all_weights_of_the_papers_classifiers(name: str) -> None:
    kinds = {"vit_b_16": "ViT_B_16_Weights"}
    asked = set()
    for section in profile(name).models.values():
        for model, weights in section.weights.items():
            if MODELS.entry(model).metadata.get("encoder") == "clip":
                continue
            asked.add(model)
            if model == "resnet50_bcos":
                group, experiment = RELEASED[weights]
                assert experiment in pretrained.URLS[group]
            else:
                kind = kinds.get(model, "ResNet50_Weights")
                assert torchvision.models.get_weight(f"{kind}.{weights}").url
    assert asked == {"resnet50", "vit_b_16", "resnet50_bcos", "concept_bottleneck", "xnesyl"}


def test_transformers_has_the_classes_of_the_papers_encoders() -> None:
    asked = {name: weights for paper in PAPERS for name, weights in encoders(profile(paper))}
    assert asked.keys() == {
        *("clip-vit-l-14-336", "siglip-vit-l-16-384", "eva02-l-14-336", "blip-base"),
        "llava-1.5-7b",
    }
    for name, kind in HUB.items():
        assert asked[name] == ENCODERS.entry(name).metadata["weights"]
        assert issubclass(getattr(transformers, kind), transformers.PreTrainedModel)


def test_the_rehearsal_has_the_architectures_of_the_paper_and_random_weights_everywhere() -> None:
    paper, rehearsal = profile("paper_p2"), profile("rehearsal")

    def shapes(section: Any) -> Any:
        """Everything but weights and training."""
        if not isinstance(section, Mapping):
            return section
        left = {key: value for key, value in section.items() if key not in ("weights", "training")}
        return {key: shapes(value) for key, value in left.items()}

    assert rehearsal.groups == paper.groups and rehearsal.image_size == paper.image_size
    assert shapes({"models": rehearsal.model_dump()["models"]}) == shapes(
        {"models": paper.model_dump()["models"]}
    )
    assert rehearsal.clip.architecture == paper.clip.architecture
    assert {name for name, _ in encoders(rehearsal)} == {
        name for one in PAPERS for name, _ in encoders(profile(one))
    }
    weights = [weights for _, weights in [*clip_models(rehearsal), *encoders(rehearsal)]]
    weights += [one for section in rehearsal.models.values() for one in section.weights.values()]
    assert set(weights) == {RANDOM}
    assert len(rehearsal.random_weights) == 6 + 1 + 5 + len(rehearsal.applications.backbones.towers)
    assert not paper.random_weights and not profile("ci").random_weights


def test_the_short_rehearsal_has_every_architecture_and_every_dataset() -> None:
    whole, short = profile("rehearsal"), profile("rehearsal_short")
    assert set(short.groups.values()) == set(whole.groups.values()) == set(short.datasets)
    assert len(short.groups) < len(whole.groups) / 3
    names = {name for group in whole.groups for name in whole.models[group].backbones}
    assert {name for group in short.groups for name in short.models[group].backbones} == names
    assert all(short.models[group] == whole.models[group] for group in short.groups)
    assert short.random_weights == whole.random_weights


def test_the_seed_of_random_weights_is_in_their_name() -> None:
    assert with_seed("random", 5) == "random:5" and with_seed("random:2", 5) == "random:2"
    assert seed_of("random:5") == 5 and seed_of("random") == 0
    assert is_random("random:5") and not is_random("randomly.pt") and not is_random(None)
    weights = ("random:1", "random:1", "random")
    first, again, other = (open_model("pasta-tiny", name)[0].state_dict() for name in weights)
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not torch.equal(first["text_projection"], other["text_projection"])


def test_a_stand_in_tokenizer_has_the_size_and_cuts_words_as_clip_does() -> None:
    size, true = 32_000, open_clip.SimpleTokenizer()
    stand_in = stand_in_tokenizer(size)
    assert len(stand_in) == size
    assert stand_in("")["input_ids"] == [size - 2, size - 1]
    for text in ("a photo of a cat", "wheel, door and window"):
        # frequent words are the first merges, which both have
        assert stand_in(text)["input_ids"][1:-1] == true.encode(text)
    rare = "solomonic column, Zürich"
    assert len(true.encode(rare)) <= len(stand_in(rare)["input_ids"]) - 2 <= 12
    assert max(stand_in(rare)["input_ids"]) < size


# One step of each architecture.


def context(dataset: str) -> ModelContext:
    params, words = profile("rehearsal"), vocabulary(dataset)
    size, seed = params.image_size, params.seeds.training
    return ModelContext(dataset, words.classes, words.concepts, size, seed, params, Path())


def built(name: str, dataset: str = "pascalpart") -> Any:
    own = context(dataset)
    group = f"{dataset}-{'clip' if name == 'clip_zero_shot' else name}"
    return MODELS[name].build(own, getattr(own.params.models[group], name)).eval()


def picture(size: int = 224, number: int = 1) -> torch.Tensor:
    return torch.rand(number, 3, size, size, generator=torch.Generator().manual_seed(0))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "method", "parameters"),
    [  # without the last layer, as torchvision, bcos and open_clip count
        ("resnet50", "gradcam", 25_557_032 - 2049 * 1000 + 2049 * 16),
        ("vit_b_16", "gradcam", 86_567_656 - 769 * 1000 + 769 * 16),
        ("resnet50_bcos", "bcos", None),
        ("clip_zero_shot", "gradcam", 151_277_313),
    ],
)
def test_a_classifier_predicts_and_is_explained(
    name: str, method: str, parameters: int | None
) -> None:
    model, images = built(name), picture()
    assert isinstance(model, BlackBox) and len(model.classes) == 16
    assert parameters in (None, sum(value.numel() for value in model.parameters()))
    view, params = view_of(model), profile("rehearsal").explanations
    targets = predicted_classes(view, images)
    work = Work(view, lambda part: images[part], targets, params.methods, budget=params.budget)
    (found,) = attributions(work, [method])
    assert found.raw.shape == (1, 224, 224) and np.isfinite(found.raw).all() and found.raw.std() > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["concept_bottleneck", "xnesyl"])
def test_a_concept_model_on_resnet50_gives_scores_of_all_concepts(name: str) -> None:
    model = built(name)
    assert isinstance(model, ConceptModel)
    with torch.inference_mode():
        assert model.concept_scores(picture()).shape == (1, 39)
        assert model(picture()).shape == (1, 16)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "size", "width", "millions"),
    [  # of parameters, from docs/model_profile.csv of open_clip; LLaVA has two layers of 32
        ("clip-vit-l-14-336", 336, 768, 427.94),
        ("siglip-vit-l-16-384", 384, 1024, 652.48),
        ("eva02-l-14-336", 336, 768, 428.08),
        ("blip-base", 384, 256, None),
        ("llava-1.5-7b", 336, 4096, None),
    ],
)
def test_an_encoder_puts_a_picture_and_a_sentence_into_one_space(
    name: str, size: int, width: int, millions: float | None, tmp_path: Path
) -> None:
    encoder = ENCODERS[name](RANDOM, tmp_path)
    model = encoder.clip.model if isinstance(encoder, OpenClip) else None
    if isinstance(encoder, HubEncoder):
        model = encoder.model
        assert type(model).__name__ == HUB[name]
    assert model is not None
    parameters = sum(value.numel() for value in model.parameters())
    assert millions in (None, round(parameters / 1e6, 2))
    assert encoder.size == size
    sentence = "chain wheel, handlebar, saddle, wheel, headlight"
    assert encoder.fits(sentence) and not encoder.fits(" ".join(["eyebrow"] * 5000))
    seen, read = encoder.images(picture()), encoder.texts([sentence, "cat"])
    assert seen.shape == (1, width) and read.shape == (2, width)
    assert torch.isfinite(seen).all() and torch.isfinite(read).all()
    assert not torch.allclose(read[0], read[1])


@pytest.mark.slow
def test_two_draws_of_a_hub_model_are_equal_and_pictures_differ(tmp_path: Path) -> None:
    first, again = (ENCODERS["blip-base"]("random:4", tmp_path) for _ in range(2))
    assert first.md5 == again.md5
    vectors = first.images(torch.cat([picture(), 1 - picture()]))
    assert not torch.allclose(vectors[0], vectors[1], atol=1e-3)
