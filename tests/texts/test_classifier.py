"""Classifiers of texts: hidden words, batches, determinism, devices, files."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from pasta import compute
from pasta.errors import InputError, PastaError
from pasta.models.base import torch_generator
from pasta.texts.classifier import HIDDEN, UNKNOWN, FunctionModel, find_vocabulary
from pasta.texts.corpus import CLASSES, draw_reviews
from pasta.texts.documents import Document
from pasta.texts.settings import NetworkParams
from pasta.texts.training import (
    build_network,
    label_numbers,
    open_network,
    save_network,
    step,
    train_network,
)
from tests.models.small import DEVICES
from tests.texts.small import ADDING, SMALL, reviews, trained


def kept(*rows: str) -> Tensor:
    return torch.tensor([[letter == "1" for letter in row] for row in rows])


def test_training_twice_gives_the_same_weights() -> None:
    train, validation = draw_reviews(40, "train", 0), draw_reviews(10, "validation", 0)
    settings = NetworkParams(width=8, epochs=2)
    torch.manual_seed(1)
    first, history = train_network(train, validation, CLASSES, settings, 0)
    state = torch.random.get_rng_state()
    again, _ = train_network(train, validation, CLASSES, settings, 0)
    other, _ = train_network(train, validation, CLASSES, settings, 1)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert len(history.loss) == len(history.validation) == 2
    for one, two, three in zip(*(m.parameters() for m in (first, again, other)), strict=True):
        assert torch.equal(one, two)
        assert not torch.equal(one, three)


def test_a_text_is_judged_alike_alone_and_among_longer_ones() -> None:
    network, texts = trained(), [*reviews(), Document("short"), Document("")]
    together = network.probabilities(texts)
    alone = torch.cat([network.probabilities([one]) for one in texts])
    torch.testing.assert_close(together, alone, atol=1e-6, rtol=0)
    asked = network.ask(texts[0], torch.ones(3, len(texts[0]), dtype=torch.bool))
    torch.testing.assert_close(asked, together[:1].expand(3, -1), atol=1e-6, rtol=0)


def test_a_deleted_word_leaves_the_text_as_if_it_had_not_been_there() -> None:
    network, document = trained(), reviews()[1]
    flags = torch.rand(6, len(document), generator=torch.Generator().manual_seed(0)) < 0.5
    found = network.ask(document, flags, removal="delete")
    shorter = [Document(document.without(row.tolist())) for row in flags]
    torch.testing.assert_close(found, network.probabilities(shorter), atol=1e-6, rtol=0)


def test_a_masked_word_is_a_token_of_no_meaning() -> None:
    network, document = trained(), Document("It was not good")
    ids, seen = network.copies(network.tokens(document), kept("1101"), "mask")
    assert ids[0, 2] == HIDDEN and bool(seen.all())
    assert network.tokens(Document("xyzzy")).ids.tolist() == [UNKNOWN]


@pytest.mark.parametrize("removal", ["delete", "mask"])
def test_a_text_without_any_word_has_an_answer(removal: str) -> None:
    network, document = trained(), reviews()[0]
    none = torch.zeros(1, len(document), dtype=torch.bool)
    found = network.ask(document, none, removal=removal)  # type: ignore[arg-type]
    assert found.isfinite().all()
    torch.testing.assert_close(found.sum(1), torch.ones(1))
    assert network.probabilities([Document(" ")]).isfinite().all()


def test_what_is_beyond_the_longest_text_has_no_effect() -> None:
    settings = SMALL.model_copy(update={"longest": 3})
    network = build_network(CLASSES, ["a", "b"], settings, 0).eval()
    long, short = Document("a b a " + "b " * 100_000), Document("a b a")
    assert network.read_words(long) == 3
    assert torch.equal(network.probabilities([long]), network.probabilities([short]))


def test_logits_and_probabilities_belong_together() -> None:
    network, document = trained(), reviews()[0]
    whole = torch.ones(1, len(document), dtype=torch.bool)
    logits = network.ask(document, whole, score="logit")
    torch.testing.assert_close(logits.softmax(1), network.ask(document, whole))


def test_a_function_is_asked_about_texts_without_words() -> None:
    asked: list[str] = []

    def judge(texts: list[str]) -> list[list[float]]:
        asked.extend(texts)
        return [[0.25, 0.75]] * len(texts)

    model = FunctionModel(judge, ["a", "b"], mask="_")
    document = Document("so  very\ngood ")
    found = model.ask(document, kept("101", "000"), score="logit")
    torch.testing.assert_close(found.exp()[0], torch.tensor([0.25, 0.75], dtype=torch.double))
    model.ask(document, kept("101", "000"), removal="mask")
    assert asked == ["so  good ", "", "so  _\ngood ", "_  _\n_ "]
    with pytest.raises(PastaError, match=r"returns \(1, 2\) for 1 texts, expected \(1, 3\)"):
        FunctionModel(judge, ["a", "b", "c"]).probabilities([document])
    assert ADDING.probabilities([]).shape == (0, 2)


def test_a_network_comes_back_from_its_folder(tmp_path: Path) -> None:
    network, texts = trained(), [*reviews(), Document("Zoë 🙂")]
    save_network(network, tmp_path)
    again = open_network(tmp_path)
    assert again.classes == network.classes and again.vocabulary == network.vocabulary
    assert torch.equal(again.probabilities(texts), network.probabilities(texts))
    save_network(again, tmp_path / "copy")
    for file in ("card.json", "weights.safetensors"):
        assert (tmp_path / file).read_bytes() == (tmp_path / "copy" / file).read_bytes()


def test_a_damaged_folder_is_named(tmp_path: Path) -> None:
    save_network(trained(), tmp_path)
    weights, card = tmp_path / "weights.safetensors", tmp_path / "card.json"
    whole = weights.read_bytes()
    weights.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="cannot be read") as caught:
        open_network(tmp_path)
    assert caught.value.file == weights
    weights.write_bytes(whole)
    card.write_text('{"classes": ["a"]}')
    with pytest.raises(InputError, match="cannot be read") as caught:
        open_network(tmp_path)
    assert caught.value.file == card


def test_vocabularies_are_sorted_and_unknown_labels_named() -> None:
    texts = [Document("b A b."), Document("c", "t1", "odd")]
    assert find_vocabulary(texts) == ["a", "b", "c"]
    assert find_vocabulary(texts, least=2) == ["b"]
    with pytest.raises(PastaError, match="the text 't1' is of the class 'odd'"):
        label_numbers(texts[1:], CLASSES)
    with pytest.raises(PastaError, match="training needs texts"):
        train_network([], [], CLASSES, SMALL, 0)


@pytest.mark.parametrize("where", DEVICES)
def test_a_step_of_training_and_an_answer_stay_on_their_device(where: str) -> None:
    texts = reviews()
    network = build_network(CLASSES, find_vocabulary(texts), SMALL, 0).to(where)
    optimizer = torch.optim.AdamW(network.parameters(), lr=0.01)
    value = step(network, optimizer, texts, label_numbers(texts, CLASSES), torch_generator(0, "t"))
    gradients = [one.grad for one in network.parameters()]
    assert all(one is not None and one.device.type == where for one in (value, *gradients))
    ids, seen = (compute.place(one, torch.device(where)) for one in network.batch(texts))
    logits = network(ids, seen)
    embedded = network.embed(ids).detach().requires_grad_()
    labels = label_numbers(texts, CLASSES).to(where)
    cross_entropy(network.logits(embedded, seen), labels).backward()  # type: ignore[no-untyped-call]
    assert logits.device.type == where
    assert embedded.grad is not None and embedded.grad.device.type == where
