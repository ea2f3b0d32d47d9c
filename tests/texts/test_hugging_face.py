"""Sequence classifiers of Hugging Face: real classes, tiny configurations, random weights."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from pasta.errors import PastaError
from pasta.models.hub import stand_in_tokenizer
from pasta.texts.documents import Document
from pasta.texts.explain import METHODS, explain_texts
from pasta.texts.hugging_face import HubModel, open_hub_model
from tests.texts.small import HUB, tiny_bert, wordpieces

TEXT = Document("Film, good  exämple 🙂 הסרט end!")


def tiny_roberta() -> HubModel:
    """Byte-level BPE: an emoji is several tokens, and blanks may belong to them."""
    config = HUB.RobertaConfig(
        vocab_size=2000,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=42,
        num_labels=3,
        pad_token_id=1,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = HUB.RobertaForSequenceClassification(config)
    return HubModel(network, stand_in_tokenizer(2000))


MODELS: dict[str, Callable[[], HubModel]] = {"bert": tiny_bert, "roberta": tiny_roberta}


@pytest.mark.parametrize("name", MODELS)
def test_each_token_belongs_to_the_word_that_it_stands_in(name: str) -> None:
    model = MODELS[name]()
    found = model.tokens(TEXT)
    offsets = model.tokenizer(TEXT.text, return_offsets_mapping=True)["offset_mapping"]
    for own, (start, end) in zip(found.words.tolist(), offsets, strict=True):
        if own >= 0:
            word = TEXT.words[own]
            assert TEXT.text[start:end].strip() in word.text
            assert start < word.end and end > word.start
        else:
            assert start == end
    assert set(found.words.tolist()) == {-1, 0, 1, 2, 3, 4, 5}
    assert model.read_words(TEXT) == 6


def test_logits_are_those_of_the_model_itself() -> None:
    model = tiny_bert()
    texts = [TEXT, Document("good film")]
    inputs = model.tokenizer([one.text for one in texts], return_tensors="pt", padding=True)
    with torch.no_grad():
        wanted = model.network(**inputs).logits.softmax(1)
    torch.testing.assert_close(model.probabilities(texts), wanted)
    ids, seen = model.batch(texts)
    torch.testing.assert_close(model.logits(model.embed(ids), seen), model(ids, seen))


@pytest.mark.parametrize("removal", ["delete", "mask"])
def test_a_word_is_hidden_with_all_its_tokens(removal: str) -> None:
    model, found = tiny_bert(), tiny_bert().tokens(TEXT)
    flags = torch.tensor([[True, True, False, True, True, True]])
    ids, seen = model.copies(found, flags, removal)  # type: ignore[arg-type]
    own = found.words == 2
    if removal == "mask":
        assert (ids[0][own] == model.tokenizer.mask_token_id).all() and int(own.sum()) == 7
        assert torch.equal(ids[0][~own], found.ids[~own])
    else:
        assert torch.equal(ids[0], found.ids[~own]) and bool(seen.all())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", MODELS)
def test_words_get_the_sum_of_their_tokens(name: str, method: str) -> None:
    model = MODELS[name]()
    found, known = explain_texts(model, [TEXT], [1], [method], return_status=True)
    assert found[method][0].shape == (6,) and known == {method: ["ok"]}
    if method in ("integrated_gradients", "kernel_shap"):
        ends = torch.tensor([[True] * 6, [False] * 6])
        full, empty = model.ask(TEXT, ends, removal="mask")[:, 1].tolist()
        assert found[method][0].sum() == pytest.approx(full - empty, abs=5e-3)


def test_long_texts_are_cut_where_the_model_has_no_more_places() -> None:
    assert tiny_bert().longest == 64 and tiny_roberta().longest == 40
    long = Document("good film " * 50_000)
    for model in (tiny_bert(), tiny_roberta()):
        assert model.read_words(long) == model.longest - 2
        assert model.probabilities([long]).isfinite().all()
    assert HubModel(tiny_bert().network, wordpieces(), longest=10).read_words(long) == 8


def test_an_empty_text_has_an_answer() -> None:
    assert tiny_bert().read_words(Document(" ")) == 0
    assert tiny_bert().probabilities([Document(""), TEXT]).isfinite().all()


def saved(folder: Path) -> Path:
    config = HUB.DistilBertConfig(
        vocab_size=len(wordpieces()), dim=16, n_layers=1, n_heads=2, hidden_dim=32,
        max_position_embeddings=32, id2label={0: "NEGATIVE", 1: "POSITIVE"},
        label2id={"NEGATIVE": 0, "POSITIVE": 1},
    )  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        network = HUB.DistilBertForSequenceClassification(config)
    network.save_pretrained(folder)
    wordpieces().save_pretrained(folder)
    return folder


def test_a_folder_of_a_classifier_is_opened(tmp_path: Path) -> None:
    model = open_hub_model(str(saved(tmp_path / "own")))
    assert model.classes == ("NEGATIVE", "POSITIVE") and not model.training
    (found,) = explain_texts(model, [TEXT], methods=["lime"])["lime"]
    assert np.isfinite(found).all()


def test_a_folder_that_is_no_classifier_is_named(tmp_path: Path) -> None:
    folder = saved(tmp_path / "own")
    (folder / "model.safetensors").unlink()
    with pytest.raises(PastaError, match="cannot be opened as a sequence classifier") as caught:
        open_hub_model(str(folder))
    assert str(folder) in str(caught.value)


def test_a_tokenizer_that_knows_no_places_is_refused() -> None:
    class Slow:
        is_fast = False

    with pytest.raises(PastaError, match="the tokenizer Slow does not tell where its tokens stand"):
        HubModel(tiny_bert().network, Slow())


def test_classes_must_be_as_many_as_the_model_has() -> None:
    network = HUB.BertForSequenceClassification(
        HUB.BertConfig(vocab_size=70, hidden_size=8, num_hidden_layers=1, num_attention_heads=1,
                   intermediate_size=8, num_labels=3)
    )  # fmt: skip
    with pytest.raises(PastaError, match="2 classes for a model of 3: a, b"):
        HubModel(network, wordpieces(), ["a", "b"])
