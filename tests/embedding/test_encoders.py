"""Encoders behind one face: raw vectors, no silent cut, and clear errors for what is missing."""

from __future__ import annotations

import copy
import importlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.functional import normalize

from pasta import compute, store
from pasta.datasets.vocabulary import VOCABULARIES, readable
from pasta.embedding.encoders import (
    ENCODERS,
    Encoder,
    OpenClip,
    about,
    open_encoder,
    sentence_vectors,
)
from pasta.embedding.sentences import pieces, sentence
from pasta.errors import InputError, PastaError
from pasta.models.clip import ABOUT, FOLDER, ClipEncoder, open_model, save_clip
from tests.embedding.small import settings
from tests.models.small import DEVICES

transformers: Any = pytest.importorskip("transformers")
PADDING, UNKNOWN, START = "[PAD]", "[UNK]", "[CLS]"
WORDS = [PADDING, UNKNOWN, START, "[SEP]", "<image>", "wheel", "door", "eye", ",", "a"]
SIDE = 32
LONG = "The model's prediction is motivated by the concepts:"


@pytest.fixture(scope="module")
def tiny() -> OpenClip:
    model, tokenizer = open_model("pasta-tiny", None, SIDE, seed=1)
    return OpenClip(ClipEncoder(model, tokenizer, "pasta-tiny/random"), "tiny-clip")


def pictures(number: int = 3, height: int = SIDE, width: int = SIDE) -> torch.Tensor:
    return torch.rand(number, 3, height, width, generator=torch.Generator().manual_seed(0))


def save_trained(tiny: OpenClip, root: Path) -> None:
    save_clip(tiny.clip.model, root / FOLDER)
    store.write_json({"md5": tiny.md5, "image_size": SIDE}, root / FOLDER / ABOUT)


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


def open_transformers(name: str, folder: Path) -> Encoder:
    """A small random model of the real class, saved and opened like a real one."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        (save_blip if name == "blip-base" else save_llava)(folder / "model")
    tokenizer(folder / "model")
    return ENCODERS[name]("model", folder)


@pytest.fixture(scope="module", params=["blip-base", "llava-1.5-7b"])
def hub(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    return open_transformers(request.param, tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module", params=["tiny-clip", "blip-base", "llava-1.5-7b"])
def encoder(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, tiny: OpenClip
) -> Encoder:
    if request.param == "tiny-clip":
        return tiny
    return open_transformers(request.param, tmp_path_factory.mktemp("models"))


def test_pictures_and_texts_are_vectors_of_one_width(encoder: Encoder) -> None:
    seen, read = encoder.images(pictures(3, 20, 20)), encoder.texts(["wheel", "door, eye"])
    assert seen.shape == (3, encoder.width)
    assert read.shape == (2, encoder.width)
    for vectors in (seen, read):
        assert vectors.dtype == torch.float32
        assert (vectors.norm(dim=1) - 1).abs().min() > 0.01
        assert not torch.allclose(vectors[0], vectors[1], atol=1e-4)


def test_vectors_of_open_clip_are_those_of_its_own_towers(tiny: OpenClip) -> None:
    """Eqs. 1 and 2 of P1 have nothing between the tower and the scorer."""
    own: Any = tiny.clip.model
    texts = ["wheel", "door, eye"]
    with torch.no_grad():
        seen = own.encode_image(tiny.clip.normalise(pictures()))
        read = own.encode_text(tiny.clip.tokenizer(texts))
    assert torch.allclose(tiny.images(pictures()), seen, atol=1e-5)
    assert torch.allclose(tiny.texts(texts), read, atol=1e-5)


def test_batches_and_padding_change_nothing_but_rounding(encoder: Encoder) -> None:
    alone = torch.cat([encoder.images(picture[None]) for picture in pictures()])
    assert torch.allclose(encoder.images(pictures()), alone, atol=1e-5)
    texts = ["eye", "wheel, door, eye", "a door"]
    alone = torch.cat([encoder.texts([text]) for text in texts])
    assert torch.allclose(encoder.texts(texts), alone, atol=1e-5)
    assert encoder.texts([]).shape == (0, encoder.width)
    assert torch.equal(encoder.images(pictures()), encoder.images(pictures()))


def test_every_corner_of_a_picture_counts(encoder: Encoder) -> None:
    for row, column in ((0, 0), (0, -1), (-1, 0), (-1, -1)):
        changed = pictures(1)
        changed[..., row, column] = 1 - changed[..., row, column].round()
        assert not torch.allclose(encoder.images(changed), encoder.images(pictures(1)), atol=1e-6)


def test_the_papers_encoders_are_registered_with_weights_that_open_clip_knows() -> None:
    import open_clip

    assert set(ENCODERS) - {"counting"} == {
        "tiny-clip",
        "clip-vit-l-14-336",
        "siglip-vit-l-16-384",
        "eva02-l-14-336",
        "blip-base",
        "llava-1.5-7b",
    }
    for key in ("clip-vit-l-14-336", "siglip-vit-l-16-384", "eva02-l-14-336"):
        known = ENCODERS.entry(key).metadata
        tags = open_clip.list_pretrained_tags_by_model(known["architecture"])
        assert known["weights"] in tags


def test_a_picture_that_is_not_square_is_seen_whole(tiny: OpenClip) -> None:
    wide = pictures(1, height=SIDE, width=2 * SIDE)
    tall = pictures(1, height=2 * SIDE, width=SIDE)  # as wide as the tower, yet too high
    for picture in (wide, tall):
        changed = picture.clone()
        changed[..., -4:, -4:] = 0  # a corner that cropping would have cut off
        assert not torch.allclose(tiny.images(picture), tiny.images(changed), atol=1e-5)


def test_a_long_text_is_refused_and_not_cut(tiny: OpenClip) -> None:
    words = ", ".join(["wheel"] * 15)
    assert not tiny.fits(words)
    with pytest.raises(PastaError, match="too long to be seen whole"):
        tiny.texts(["cat", words])


IMAGES = [
    name
    for name, words in VOCABULARIES.items()
    if words.modality == "image" and len(words.concepts) > 1
]


@pytest.mark.parametrize("dataset", IMAGES)
@pytest.mark.parametrize("template", ["", LONG])
def test_all_concepts_of_a_dataset_can_be_told_in_sixteen_tokens(
    tiny: OpenClip, dataset: str, template: str
) -> None:
    concepts = [readable(name) for name in VOCABULARIES[dataset].concepts]
    told = pieces(concepts, template, tiny.fits)
    bare = [piece.text.removeprefix(template).strip() for piece in told]
    assert ", ".join(text for text in bare if text) == sentence(concepts)
    assert len(told) > 1
    [vector] = sentence_vectors(tiny, [told])
    alone = tiny.texts([piece.text for piece in told]).numpy()
    mean = np.average(alone, axis=0, weights=[piece.weight for piece in told])
    np.testing.assert_allclose(vector, mean, atol=1e-5)


def test_the_last_concept_of_a_long_list_is_heard(tiny: OpenClip) -> None:
    concepts = ["wheel", "door", "window", "mirror", "headlight", "engine", "saddle", "tail"] * 2
    first = pieces([*concepts[:-1], "eye"], "", tiny.fits)
    second = pieces([*concepts[:-1], "beak"], "", tiny.fits)
    vectors = sentence_vectors(tiny, [first, second])
    assert np.abs(vectors[0] - vectors[1]).max() > 1e-4


@pytest.mark.parametrize(
    "wrong",
    [
        torch.rand(2, 3, SIDE),
        torch.rand(2, SIDE, SIDE, 3),
        torch.zeros(1, 3, SIDE, SIDE, dtype=torch.int64),
        torch.full((1, 3, SIDE, SIDE), 1.5),
        torch.full((1, 3, SIDE, SIDE), float("nan")),
    ],
)
def test_what_is_no_picture_is_refused(tiny: OpenClip, wrong: torch.Tensor) -> None:
    with pytest.raises(PastaError, match="picture"):
        tiny.images(wrong)


def test_bytes_and_floats_of_a_picture_are_the_same(tiny: OpenClip) -> None:
    in_bytes = pictures().mul(255).round().byte()
    assert torch.allclose(tiny.images(in_bytes), tiny.images(in_bytes.float() / 255), atol=1e-6)


def test_the_trained_clip_comes_back_with_its_size_and_md5(tiny: OpenClip, tmp_path: Path) -> None:
    save_trained(tiny, tmp_path)
    again = open_encoder(settings(encoder="tiny-clip", weights="trained"), tmp_path, 0)
    assert about(again) == about(tiny)
    assert torch.equal(again.images(pictures()), tiny.images(pictures()))


def test_other_weights_than_the_card_says_are_refused(tiny: OpenClip, tmp_path: Path) -> None:
    save_trained(tiny, tmp_path)
    store.write_json({"md5": "0" * 32, "image_size": SIDE}, tmp_path / FOLDER / ABOUT)
    with pytest.raises(InputError, match="expected 0000"):
        open_encoder(settings(encoder="tiny-clip", weights="trained"), tmp_path, 0)


def test_missing_weights_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(PastaError, match="dvc repro clip"):
        open_encoder(settings(encoder="tiny-clip", weights="trained"), tmp_path, 0)
    with pytest.raises(PastaError, match=r"encoder eva02-l-14-336: there is no file nowhere"):
        open_encoder(settings(encoder="eva02-l-14-336", weights="nowhere"), tmp_path, 0)


def test_an_unknown_encoder_is_named_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(PastaError, match="Did you mean 'tiny-clip'"):
        open_encoder(settings(encoder="tiny-clop"), tmp_path, 0)


@pytest.mark.parametrize("name", ["blip-base", "llava-1.5-7b", "siglip-vit-l-16-384"])
def test_a_missing_extra_is_named(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = importlib.import_module

    def without(module: str, package: str | None = None) -> Any:
        if module == "transformers":
            raise ImportError(module)
        return real(module, package)

    monkeypatch.setattr(importlib, "import_module", without)
    with pytest.raises(PastaError, match=r"pasta-xai\[vlm\]"):
        open_encoder(settings(encoder=name, weights="x"), tmp_path, 0)


def test_tokens_are_counted_before_padding_where_padding_is_not_zero(tiny: OpenClip) -> None:
    """SigLIP's tokenizer pads with 1, so counting what is not 0 would fit nothing."""

    def tokens(texts: list[str]) -> dict[str, list[list[int]]]:
        return {"input_ids": [[7] * len(text.split()) + [1] for text in texts]}

    strange = SimpleNamespace(tokenizer=tokens, clean_fn=str.strip, context_length=4)
    clip: Any = SimpleNamespace(size=SIDE, tokenizer=strange)
    encoder = OpenClip(clip, "siglip")
    assert encoder.fits("one two three")
    assert not encoder.fits("one two three four")


@pytest.mark.parametrize("where", DEVICES)
def test_pictures_and_texts_stay_on_the_device_of_the_encoder(where: str) -> None:
    model, tokenizer = open_model("pasta-tiny", None, SIDE, seed=3)
    clip = ClipEncoder(model, tokenizer, "pasta-tiny/random")
    compute.place(clip, torch.device(where))
    encoder = OpenClip(clip, "tiny-clip")
    in_bytes = pictures(3, 2 * SIDE).mul(255).byte()
    assert encoder.images(in_bytes).device.type == where
    assert encoder.texts(["cat", "a dog"]).device.type == where


@pytest.mark.parametrize("where", DEVICES)
def test_pictures_and_texts_stay_on_the_device_of_a_hub_encoder(
    hub: Encoder, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    there: Any = hub
    model = copy.deepcopy(there.model)
    compute.place(model, torch.device(where))
    moved = type(there)(model, there.tokenizer, there.name)
    if where == "meta":  # transformers asks whether masks are full; without values the answer is no
        monkeypatch.setattr(torch.Tensor, "__bool__", lambda _: False)
        monkeypatch.setattr(torch, "_check_tensor_all_with", lambda *_: None)
    assert moved.images(pictures().mul(255).byte()).device.type == where
    assert moved.texts(["wheel", "door, eye"]).device.type == where


def test_similarities_are_those_of_blip_itself(hub: Encoder) -> None:
    if hub.name != "blip-base":
        pytest.skip("LLaVA compares nothing")
    blip: Any = hub
    texts = ["wheel", "door, eye"]
    tokens = blip.tokenizer(texts, padding=True, return_tensors="pt")
    with torch.no_grad():
        own = blip.model(
            input_ids=tokens["input_ids"],
            attention_mask=tokens["attention_mask"],
            pixel_values=blip.normalise(pictures()),
            use_itm_head=False,
        )[0]
    seen, read = (normalize(own, dim=1) for own in (hub.images(pictures()), hub.texts(texts)))
    ours = seen @ read.T
    assert torch.allclose(own, ours, atol=1e-5)


def test_a_long_text_is_refused_by_hub_encoders(hub: Encoder) -> None:
    assert hub.fits(" ".join(["eye"] * 11))
    assert not hub.fits(" ".join(["eye"] * 12))
    with pytest.raises(PastaError, match="too long"):
        hub.texts([" ".join(["eye"] * 12)])


def test_the_md5_is_of_the_weights(hub: Encoder) -> None:
    assert len(hub.md5) == 32
    weights: Any = hub
    other = type(weights)(weights.model, weights.tokenizer, "again")
    assert other.md5 == hub.md5
    with torch.no_grad():
        first = next(weights.model.parameters())
        first += 1
        try:
            assert type(weights)(weights.model, weights.tokenizer, "x").md5 != hub.md5
        finally:
            first -= 1


@pytest.mark.parametrize("name", ["blip-base", "llava-1.5-7b"])
def test_a_folder_without_a_model_says_what_to_do(name: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(PastaError, match=r"embedding\.weights"):
        ENCODERS[name]("empty", tmp_path)
