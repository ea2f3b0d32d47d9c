"""Explanations of words against literal formulas, and what holds for all of them."""

from __future__ import annotations

from itertools import combinations, product
from math import comb, exp, sqrt
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from pasta import compute
from pasta.errors import PastaError
from pasta.texts.classifier import FunctionModel, TextModel, TokenModel, Tokens
from pasta.texts.documents import Document
from pasta.texts.explain import (
    METHODS,
    TEXT_METHODS,
    Question,
    explain_texts,
    predict_texts,
    titles,
)
from pasta.texts.settings import TextLimeParams, TextMethodsParams, TextShapParams
from tests.models.small import DEVICES
from tests.texts.small import ADDING, TOGETHER, reviews, tiny_bert, trained

FEW = TextMethodsParams(lime=TextLimeParams(samples=100), kernel_shap=TextShapParams(samples=100))
LOGIT = FEW.model_copy(update={"score": "logit"})
ASKING = ("lime", "feature_ablation", "kernel_shap")
TEXT = Document("this was not good at all")


def score(model: TextModel, document: Document, kept: Any, target: int, removal: str) -> float:
    """Literal: one copy of the text, one question."""
    flags = torch.tensor([list(kept)], dtype=torch.bool)
    return float(model.ask(document, flags, removal=removal)[0, target])  # type: ignore[arg-type]


def literal_ablation(model: TextModel, document: Document, target: int) -> NDArray[np.float64]:
    count = len(document)
    whole = score(model, document, [True] * count, target, "mask")
    return np.array(
        [whole - score(model, document, [n != word for n in range(count)], target, "mask")
         for word in range(count)]
    )  # fmt: skip


def literal_shapley(model: TextModel, document: Document, target: int) -> NDArray[np.float64]:
    """The sum over all coalitions of the other words."""
    count = len(document)
    worth = {
        flags: score(model, document, flags, target, "mask")
        for flags in product([False, True], repeat=count)
    }
    values = np.zeros(count)
    for word in range(count):
        others = [n for n in range(count) if n != word]
        for size in range(count):
            for chosen in combinations(others, size):
                without = tuple(n in chosen for n in range(count))
                within = tuple(n in chosen or n == word for n in range(count))
                values[word] += (worth[within] - worth[without]) / (count * comb(count - 1, size))
    return values


def literal_lime(model: TextModel, document: Document, target: int) -> NDArray[np.float64]:
    """Weighted ridge regression on all samples one by one, by its normal equations."""
    settings = FEW.lime
    question = Question(model, document, target, FEW, 0, len(document), 16)
    draw = question.generator("lime")
    rows = torch.randint(0, 2, (settings.samples, len(document)), generator=draw).bool()
    rows[0] = True
    design, heard, weights = [], [], []
    for row in rows.tolist():
        distance = 1 - sqrt(sum(row) / len(row))
        design.append([1.0, *map(float, row)])
        heard.append(score(model, document, row, target, "mask"))
        weights.append(sqrt(exp(-(distance**2) / settings.kernel_width**2)))
    matrix, scale = np.array(design), np.diag(weights)
    penalty = settings.penalty * np.eye(len(document) + 1)
    penalty[0, 0] = 0
    inverse = np.linalg.inv(matrix.T @ scale @ matrix + penalty)
    found: NDArray[np.float64] = (inverse @ matrix.T @ scale @ np.array(heard))[1:]
    return found


ORACLES = {
    "feature_ablation": literal_ablation,
    "kernel_shap": literal_shapley,
    "lime": literal_lime,
}


@pytest.mark.parametrize("method", ORACLES)
@pytest.mark.parametrize("model", [ADDING, TOGETHER, "network"])
def test_each_method_equals_its_literal_formula(method: str, model: Any) -> None:
    chosen = trained() if model == "network" else model
    (found,) = explain_texts(chosen, [TEXT], [1], [method], settings=FEW)[method]
    tolerance = 1e-5 if model == "network" else 1e-7  # captum keeps answers in float32
    assert found == pytest.approx(ORACLES[method](chosen, TEXT, 1), abs=tolerance)


def test_integrated_gradients_equal_a_literal_sum_along_the_way() -> None:
    network = trained()
    ids, seen = network.batch([TEXT])
    start, end = network.embed(torch.full_like(ids, network.hidden_id)), network.embed(ids)
    steps = 400
    total = torch.zeros(len(TEXT), dtype=torch.double)
    for number in range(steps):
        point = (start + (number + 0.5) / steps * (end - start)).detach().requires_grad_()
        network.logits(point, seen).softmax(1)[0, 1].backward()  # type: ignore[no-untyped-call]
        assert point.grad is not None
        total += ((end - start) * point.grad)[0].sum(1).detach().double() / steps
    (found,) = explain_texts(network, [TEXT], [1], ["integrated_gradients"])["integrated_gradients"]
    assert found == pytest.approx(total.numpy(), abs=1e-3)


@pytest.mark.parametrize("method", ["integrated_gradients", "kernel_shap"])
def test_weights_add_up_to_what_all_words_change(method: str) -> None:
    network = trained()
    for document in reviews():
        (found,) = explain_texts(network, [document], [1], [method])[method]
        ends = [[True] * len(document), [False] * len(document)]
        full, empty = (score(network, document, flags, 1, "mask") for flags in ends)
        assert found.sum() == pytest.approx(full - empty, abs=2e-3)


class Adder(TokenModel):
    """Logits that are sums of what tokens are worth: every word has one true weight."""

    pad_id, hidden_id, classes = 0, 0, ("bad", "good")
    worth: ClassVar = {"so": 0.25, "good": 2.0, "bad": -3.0, "film": 0.0}

    def __init__(self) -> None:
        super().__init__()
        values = torch.tensor([[0.0], *([one] for one in self.worth.values())])
        self.embedding = torch.nn.Embedding(len(values), 1)
        self.embedding.weight.data = values

    def tokens(self, document: Document) -> Tokens:
        known = list(self.worth)
        ids = [1 + known.index(word.text) for word in document.words]
        return Tokens(torch.tensor(ids, dtype=torch.long), torch.arange(len(ids)))

    def embed(self, ids: Tensor) -> Tensor:
        found: Tensor = self.embedding(ids)
        return found

    def logits(self, embedded: Tensor, seen: Tensor) -> Tensor:
        sums = (embedded[:, :, 0] * seen).sum(1)
        return torch.stack([torch.zeros_like(sums), sums], 1)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("removal", ["mask", "delete"])
def test_every_method_finds_the_weights_of_a_sum(method: str, removal: str) -> None:
    """LIME's ridge penalty shrinks them a little."""
    settings = LOGIT.model_copy(update={"removal": removal})
    document = Document("so good film so bad")
    found = explain_texts(Adder(), [document], [1], [method], settings=settings)[method][0]
    wanted = np.array([0.25, 2.0, 0.0, 0.25, -3.0])
    assert found == pytest.approx(wanted, abs=0.8 if method == "lime" else 1e-5)
    assert np.argsort(found)[[0, -1]].tolist() == [4, 1]
    against = explain_texts(Adder(), [document], [0], [method], settings=settings)[method][0]
    assert np.abs(against).max() == pytest.approx(0, abs=1e-6)


def test_negation_is_seen_by_the_methods_that_ask() -> None:
    found = explain_texts(TOGETHER, [Document("it is not good here")], [1], ASKING)
    for weights in found.values():
        assert weights[0][2] < 0 and weights[0][2] == weights[0].min()


@pytest.mark.parametrize("method", METHODS)
def test_nothing_depends_on_the_list_or_on_the_budget(method: str) -> None:
    network, texts = trained(), reviews(3)
    together = explain_texts(network, texts, methods=[method], settings=FEW)[method]
    turned = explain_texts(network, texts[::-1], methods=[method], budget=7, settings=FEW)[method][
        ::-1
    ]
    torch.manual_seed(5)
    alone = [
        explain_texts(network, [one], methods=[method], settings=FEW)[method][0] for one in texts
    ]
    for one, two, three in zip(together, turned, alone, strict=True):
        assert one == pytest.approx(two, abs=1e-5)
        assert np.array_equal(one, three)


def test_another_seed_draws_other_samples_and_no_global_generator_is_touched() -> None:
    network, document = trained(), reviews()[0]
    torch.manual_seed(0)
    state, numpy_state = torch.random.get_rng_state(), np.random.get_state()  # noqa: NPY002
    first = explain_texts(network, [document], methods=["lime", "kernel_shap"])
    assert torch.equal(torch.random.get_rng_state(), state)
    assert str(np.random.get_state()) == str(numpy_state)  # noqa: NPY002
    other = explain_texts(network, [document], methods=["lime", "kernel_shap"], seed=1)
    assert all(not np.array_equal(first[name][0], other[name][0]) for name in first)


def test_statuses_say_what_is_the_matter() -> None:
    def broken(texts: list[str]) -> NDArray[np.float64]:
        return np.full((len(texts), 2), np.nan)

    def same(texts: list[str]) -> NDArray[np.float64]:
        return np.full((len(texts), 2), 0.5)

    texts = ["so good", "good", ""]
    for function, wanted in ((broken, ["nan", "nan", "zero"]), (same, ["zero", "zero", "zero"])):
        model = FunctionModel(function, ["a", "b"])
        _, known = explain_texts(model, texts, [0] * 3, ["feature_ablation"], return_status=True)
        assert known == {"feature_ablation": wanted}
    found, known = explain_texts(ADDING, texts, [1] * 3, ASKING, return_status=True)
    assert all(one == ["ok", "constant", "zero"] for one in known.values())
    assert [len(one) for one in found["lime"]] == [2, 1, 0]


@pytest.mark.parametrize("method", METHODS)
def test_words_that_are_not_read_weigh_nothing(method: str) -> None:
    network = tiny_bert(places=16)
    document = Document("good film " * 50_000)
    (found,) = explain_texts(network, [document], [1], [method], settings=FEW)[method]
    assert found.shape == (100_000,)
    assert np.abs(found[:14]).max() > 0
    assert not found[14:].any()


@pytest.mark.parametrize("method", METHODS)
def test_texts_in_any_script_are_explained(method: str) -> None:
    texts = ["הסרט היה טוב מאוד 🙂", "e\u0301tude 👩‍👩‍👧 n\u0303", "漢字の映画 \u202egood"]
    for model in (trained(), tiny_bert()):
        found, known = explain_texts(
            model, texts, methods=[method], settings=FEW, return_status=True
        )
        assert [len(one) for one in found[method]] == [len(one.split()) for one in texts]
        assert "nan" not in known[method]


def test_predicted_classes_are_explained_unless_others_are_named() -> None:
    network, texts = trained(), reviews()
    chosen = predict_texts(network, texts).argmax(1).tolist()
    ours = explain_texts(network, texts, methods=["feature_ablation"])
    named = explain_texts(network, texts, chosen, ["feature_ablation"])
    for one, two in zip(ours["feature_ablation"], named["feature_ablation"], strict=True):
        assert np.array_equal(one, two)


def test_what_cannot_be_explained_is_said() -> None:
    with pytest.raises(PastaError, match="Did you mean 'lime'"):
        explain_texts(ADDING, ["a"], methods=["lyme"])
    with pytest.raises(PastaError, match="needs a network of tokens, but FunctionModel only"):
        explain_texts(ADDING, ["a"], methods=["integrated_gradients"])
    with pytest.raises(PastaError, match="2 targets for 1 texts"):
        explain_texts(ADDING, ["a"], [0, 1])
    with pytest.raises(PastaError, match="there is no class 2: the model has 2"):
        explain_texts(ADDING, ["a"], [2])


def test_a_method_of_ones_own_is_asked_like_the_others() -> None:
    def lengths(question: Question) -> Tensor:
        return torch.tensor([float(len(one.text)) for one in question.document.words])

    TEXT_METHODS.register("lengths", title="Lengths", doi="", gradients=False)(lengths)
    try:
        assert explain_texts(ADDING, ["so good"], methods=["lengths"])["lengths"][0].tolist() == [
            2,
            4,
        ]
        assert titles()["lime"] == "LIME"
    finally:
        TEXT_METHODS._entries.pop("lengths")


def test_a_network_in_training_mode_is_explained_without_chance_and_left_as_it_was() -> None:
    model = tiny_bert()
    first = explain_texts(model, [TEXT])
    model.train()
    try:
        second = explain_texts(model, [TEXT])
        assert model.training and model.network.training
    finally:
        model.eval()
    assert all(np.array_equal(first[name][0], second[name][0]) for name in METHODS)


def test_few_coalitions_still_add_up() -> None:
    settings = TextMethodsParams(kernel_shap=TextShapParams(samples=2))
    (found,) = explain_texts(ADDING, [TEXT], [1], ["kernel_shap"], settings=settings)["kernel_shap"]
    ends = [[True] * 6, [False] * 6]
    full, empty = (score(ADDING, TEXT, flags, 1, "mask") for flags in ends)
    assert found.sum() == pytest.approx(full - empty)


@pytest.mark.gpu
@pytest.mark.parametrize("where", [one for one in DEVICES if one != "meta"])
def test_explanations_on_a_gpu_equal_those_in_main_memory(where: str) -> None:
    here = explain_texts(trained(), reviews(2))
    network = compute.place(trained(), torch.device(where))
    try:
        there = explain_texts(network, reviews(2))
    finally:
        compute.place(network, torch.device("cpu"))
    for name in METHODS:
        for one, two in zip(here[name], there[name], strict=True):
            assert one == pytest.approx(two, abs=1e-4)
