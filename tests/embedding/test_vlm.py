"""BLIP and LLaVA: small random models of the real classes, saved and opened like real ones."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch

from pasta import compute
from pasta.embedding.encoders import ENCODERS, Encoder
from pasta.errors import PastaError
from tests.models.small import DEVICES

transformers: Any = pytest.importorskip("transformers")
PADDING, UNKNOWN, START = "[PAD]", "[UNK]", "[CLS]"
WORDS = [PADDING, UNKNOWN, START, "[SEP]", "<image>", "wheel", "door", "eye", ",", "a"]
SIDE = 32


def tokenizer(folder: Path) -> None:
    tokenizers: Any = pytest.importorskip("tokenizers")
    places = {word: place for place, word in enumerate(WORDS)}
    plain = tokenizers.Tokenizer(tokenizers.models.WordLevel(places, unk_token=UNKNOWN))
    plain.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    plain.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A", special_tokens=[("[CLS]", 2)]
    )
    wrapped = transformers.PreTrainedTokenizerFast(
        tokenizer_object=plain, pad_token=PADDING, unk_token=UNKNOWN, bos_token=START
    )
    wrapped.save_pretrained(folder)


def save_blip(folder: Path) -> None:
    small = {
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "initializer_range": 0.2,  # the usual one is so small that all pictures look alike
    }
    config = transformers.BlipConfig(
        text_config={
            **small,
            "vocab_size": 16,
            "intermediate_size": 32,
            "encoder_hidden_size": 16,
            "max_position_embeddings": 12,
            "pad_token_id": 0,
            "bos_token_id": 2,
            "sep_token_id": 3,
        },
        vision_config={**small, "intermediate_size": 32, "image_size": SIDE, "patch_size": 16},
        image_text_hidden_size=8,
    )
    transformers.BlipForImageTextRetrieval(config).save_pretrained(folder)


def save_llava(folder: Path) -> None:
    config = transformers.LlavaConfig(
        vision_config=transformers.CLIPVisionConfig(
            hidden_size=16,
            intermediate_size=32,
            num_hidden_layers=3,
            num_attention_heads=2,
            image_size=SIDE,
            patch_size=16,
        ),
        text_config=transformers.LlamaConfig(
            vocab_size=16,
            hidden_size=24,
            intermediate_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=2,
            max_position_embeddings=12,
        ),
        image_token_index=4,
    )
    transformers.LlavaForConditionalGeneration(config).save_pretrained(folder)


@pytest.fixture(scope="module", params=["blip-base", "llava-1.5-7b"])
def encoder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    folder = tmp_path_factory.mktemp("models")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        (save_blip if request.param == "blip-base" else save_llava)(folder / "model")
    tokenizer(folder / "model")
    return ENCODERS[request.param]("model", folder)


def pictures(number: int = 3, side: int = SIDE) -> torch.Tensor:
    return torch.rand(number, 3, side, side, generator=torch.Generator().manual_seed(0))


def test_pictures_and_texts_are_unit_vectors_of_one_width(encoder: Encoder) -> None:
    seen, read = encoder.images(pictures(side=20)), encoder.texts(["wheel", "door, eye"])
    assert seen.shape == (3, encoder.width)
    assert read.shape == (2, encoder.width)
    for vectors in (seen, read):
        assert vectors.dtype == torch.float32
        assert torch.allclose(vectors.norm(dim=1), torch.ones(len(vectors)), atol=1e-5)
        assert not torch.allclose(vectors[0], vectors[1], atol=1e-4)


def test_batches_and_padding_change_nothing_but_rounding(encoder: Encoder) -> None:
    alone = torch.cat([encoder.images(picture[None]) for picture in pictures()])
    assert torch.allclose(encoder.images(pictures()), alone, atol=1e-5)
    texts = ["eye", "wheel, door, eye", "a door"]
    alone = torch.cat([encoder.texts([text]) for text in texts])
    assert torch.allclose(encoder.texts(texts), alone, atol=1e-5)
    assert encoder.texts([]).shape == (0, encoder.width)


@pytest.mark.parametrize("where", DEVICES)
def test_pictures_and_texts_stay_on_the_device_of_the_encoder(
    encoder: Encoder, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    there: Any = encoder
    model = copy.deepcopy(there.model)
    compute.place(model, torch.device(where))
    moved = type(there)(model, there.tokenizer, there.name)
    if where == "meta":  # transformers asks whether masks are full; without values the answer is no
        monkeypatch.setattr(torch.Tensor, "__bool__", lambda _: False)
        monkeypatch.setattr(torch, "_check_tensor_all_with", lambda *_: None)
    assert moved.images(pictures().mul(255).byte()).device.type == where
    assert moved.texts(["wheel", "door, eye"]).device.type == where


def test_every_corner_of_a_picture_counts(encoder: Encoder) -> None:
    for row, column in ((0, 0), (0, -1), (-1, 0), (-1, -1)):
        changed = pictures(1)
        changed[..., row, column] = 1 - changed[..., row, column].round()
        assert not torch.allclose(encoder.images(changed), encoder.images(pictures(1)), atol=1e-6)


def test_similarities_are_those_of_blip_itself(encoder: Encoder) -> None:
    if encoder.name != "blip-base":
        pytest.skip("LLaVA compares nothing")
    blip: Any = encoder
    texts = ["wheel", "door, eye"]
    tokens = blip.tokenizer(texts, padding=True, return_tensors="pt")
    with torch.no_grad():
        own = blip.model(
            input_ids=tokens["input_ids"],
            attention_mask=tokens["attention_mask"],
            pixel_values=blip.normalise(pictures()),
            use_itm_head=False,
        )[0]
    ours = encoder.images(pictures()) @ encoder.texts(texts).T
    assert torch.allclose(own, ours, atol=1e-5)


def test_a_long_text_is_refused_and_not_cut(encoder: Encoder) -> None:
    assert encoder.fits(" ".join(["eye"] * 11))
    assert not encoder.fits(" ".join(["eye"] * 12))
    with pytest.raises(PastaError, match="too long"):
        encoder.texts([" ".join(["eye"] * 12)])


def test_the_md5_is_of_the_weights(encoder: Encoder) -> None:
    assert len(encoder.md5) == 32
    weights: Any = encoder
    other = type(weights)(weights.model, weights.tokenizer, "again")
    assert other.md5 == encoder.md5
    with torch.no_grad():
        first = next(weights.model.parameters())
        first += 1
        try:
            assert type(weights)(weights.model, weights.tokenizer, "x").md5 != encoder.md5
        finally:
            first -= 1


@pytest.mark.parametrize("name", ["blip-base", "llava-1.5-7b"])
def test_a_folder_without_a_model_says_what_to_do(name: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(PastaError, match=r"embedding\.weights"):
        ENCODERS[name]("empty", tmp_path)
