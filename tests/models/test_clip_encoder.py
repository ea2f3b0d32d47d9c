"""The encoder and its prompts: open_clip's own numbers, whole texts, weights that cannot bite."""

from __future__ import annotations

import logging
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from pasta.datasets.vocabulary import VOCABULARIES
from pasta.errors import PastaError
from pasta.models.clip import (
    FOLDER,
    WEIGHTS,
    ClipEncoder,
    caption,
    last_stage,
    load_clip,
    open_model,
    prompt_table,
    prompts,
    save_clip,
)
from tests.models.clip_data import SIZE, TEMPLATE, clip_params


@pytest.fixture(scope="module")
def encoder() -> ClipEncoder:
    model, tokenizer = open_model("pasta-tiny", None, SIZE, seed=3)
    return ClipEncoder(model, tokenizer, "pasta-tiny/random")


def images(count: int = 3, size: int = SIZE) -> torch.Tensor:
    return torch.rand(count, 3, size, size, generator=torch.Generator().manual_seed(1))


def test_saved_weights_come_back_through_open_clip_exactly(
    encoder: ClipEncoder, tmp_path: Path
) -> None:
    save_clip(encoder.model, tmp_path / FOLDER)
    again = load_clip(clip_params(), tmp_path, 0)
    assert torch.equal(again.image_features(images()), encoder.image_features(images()))
    texts = ["a photo of a cat", "a photo of a dog"]
    assert torch.equal(again.text_features(texts), encoder.text_features(texts))
    assert again.md5 == encoder.md5
    assert load_file(tmp_path / FOLDER / WEIGHTS).keys() == encoder.model.state_dict().keys()


def test_features_are_unit_vectors_and_differentiable(encoder: ClipEncoder) -> None:
    pixels = images(size=SIZE + 16).requires_grad_()  # another size is brought to the tower's
    features = encoder.image_features(pixels)
    assert features.shape == (3, encoder.width)
    assert torch.allclose(features.norm(dim=1), torch.ones(3))
    features[:, 0].sum().backward()  # type: ignore[no-untyped-call]
    assert pixels.grad is not None
    assert float(pixels.grad.abs().sum()) > 0


def test_training_mode_of_a_model_around_it_does_not_reach_the_encoder(
    encoder: ClipEncoder,
) -> None:
    torch.nn.Sequential(encoder).train()
    assert not any(module.training for module in encoder.modules())


def test_the_last_stage_keeps_a_grid_of_six_by_six() -> None:
    model, _ = open_model("pasta-tiny", None)
    layer, grid = last_stage(model.visual)
    shapes: list[torch.Size] = []
    layer.register_forward_hook(lambda _, __, output: shapes.append(output.shape))
    model.encode_image(images(1, 96))
    assert shapes[0][2:] == (6, 6)
    assert grid is None


def test_a_full_vision_transformer_works_behind_the_same_encoder() -> None:
    model, tokenizer = open_model("ViT-B-16", None)
    encoder = ClipEncoder(model, tokenizer, "ViT-B-16/random")
    with torch.no_grad():
        features = encoder.image_features(images(1, 224))
    assert features.shape == (1, encoder.width) == (1, 512)
    layer, grid = last_stage(encoder.visual)
    assert isinstance(layer, torch.nn.LayerNorm)
    assert grid == (14, 14)


def test_random_weights_depend_on_the_seed_alone() -> None:
    torch.manual_seed(0)
    before = torch.random.get_rng_state()
    first, second, other = (open_model("pasta-tiny", None, SIZE, seed)[0] for seed in (1, 1, 2))
    assert torch.equal(first.text_projection, second.text_projection)
    assert not torch.equal(first.text_projection, other.text_projection)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_missing_trained_weights_name_the_stage(tmp_path: Path) -> None:
    with pytest.raises(PastaError, match="dvc repro clip"):
        load_clip(clip_params(), tmp_path, 0)


def test_unknown_architecture_and_weights_say_what_is_known(tmp_path: Path) -> None:
    with pytest.raises(PastaError, match="Did you mean 'ViT-L-14'"):
        open_model("ViT-L14", None)
    with pytest.raises(PastaError, match=r"no file nowhere\.pt .* one of: .*openai"):
        open_model("ViT-B-16", "nowhere.pt")


def test_weights_that_cannot_be_downloaded_say_what_to_put_where(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError("no network")

    monkeypatch.setattr("open_clip.factory.download_pretrained", fail)
    with pytest.raises(PastaError) as caught:
        open_model("ViT-L-14", "openai")
    for part in ("'openai' of ViT-L-14", "huggingface.co/timm/vit_large", "clip.weights"):
        assert part in str(caught.value)


class Malicious:
    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.target,)


@pytest.mark.parametrize("name", ["weights.pt", "weights.safetensors"])
def test_a_malicious_pickle_is_refused_and_not_executed(tmp_path: Path, name: str) -> None:
    victim, file = tmp_path / "executed", tmp_path / name
    torch.save({"logit_scale": Malicious(victim)}, file)
    with pytest.raises(PastaError, match="cannot be loaded as weights of pasta-tiny"):
        load_clip(clip_params(str(file)), tmp_path, 0)
    file.write_bytes(pickle.dumps(Malicious(victim)))
    with pytest.raises(PastaError, match="cannot be loaded"):
        load_clip(clip_params(str(file)), tmp_path, 0)
    assert not victim.exists()


def test_weights_of_another_architecture_are_an_error(encoder: ClipEncoder, tmp_path: Path) -> None:
    state = {**encoder.model.state_dict(), "text_projection": torch.zeros(3, 3)}
    torch.save(state, tmp_path / "odd.pt")
    with pytest.raises(PastaError, match=r"odd\.pt: cannot be loaded"):
        load_clip(clip_params("odd.pt"), tmp_path, 0)


def test_open_clip_says_nothing(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.INFO):
        open_model("pasta-tiny", None, SIZE)
    assert not caplog.records
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("dataset", VOCABULARIES)
def test_no_prompt_is_cut_off(encoder: ClipEncoder, dataset: str) -> None:
    words = VOCABULARIES[dataset]
    texts = prompts([*words.classes, *words.concepts], TEMPLATE)
    tokens: Any = encoder.tokenizer
    for text, row in zip(texts, tokens(texts), strict=True):
        assert encoder.fits(text)
        read = tokens.decode([int(token) for token in row if token])
        told = read.split("<start_of_text>")[1].split("<end_of_text>")[0]
        assert _joined(text.lower()) == _joined(told)


def _joined(text: str) -> str:
    """Without blanks: the decoder puts one between the digits of a name such as n01440764."""
    return "".join(text.split())


def test_names_are_written_as_in_a_sentence() -> None:
    names = ["license_plate", "pointed-arch", "Gothic", "workplace", "cat"]
    assert prompts(names, TEMPLATE) == [
        "a photo of a license plate",
        "a photo of a pointed arch",
        "a photo of a Gothic building",
        "a photo of a workplace",
        "a photo of a cat",
    ]


def test_a_caption_names_what_there_is_room_for(encoder: ClipEncoder) -> None:
    concepts = ["tail", "eye", "nose", "mouth", "leg", "foot", "torso", "ear"]
    text, number = caption("cat", concepts, TEMPLATE, encoder.length, encoder.room)
    assert text == f"a photo of a cat with {', '.join(concepts[:number])}"
    assert 0 < number < len(concepts)
    assert encoder.fits(text)
    assert not encoder.fits(f"{text}, {concepts[number]}")


def test_each_prompt_is_asked_once_and_names_lead_back_to_it() -> None:
    words = list(VOCABULARIES.values())
    table = prompt_table(words, TEMPLATE)
    assert len(set(table.texts)) == len(table.texts)
    for vocabulary, classes, concepts in zip(words, table.classes, table.concepts, strict=True):
        assert [table.texts[row] for row in classes] == prompts(vocabulary.classes, TEMPLATE)
        assert [table.texts[row] for row in concepts] == prompts(vocabulary.concepts, TEMPLATE)
        assert len(set(classes.tolist())) == len(classes)
