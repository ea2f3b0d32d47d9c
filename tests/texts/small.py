"""Small classifiers of texts that tests know by heart."""

from __future__ import annotations

import string
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from pasta.models.hub import transformers
from pasta.texts.classifier import FunctionModel, WordNetwork
from pasta.texts.corpus import CLASSES, draw_reviews
from pasta.texts.documents import Document
from pasta.texts.hugging_face import HubModel
from pasta.texts.settings import NetworkParams
from pasta.texts.training import train_network

HUB = transformers("of the tests")
SMALL = NetworkParams(width=12, epochs=4)


def weigh(texts: Sequence[str]) -> np.ndarray:
    """Adds up what words are worth; a logistic function makes it a probability."""
    worth = {"good": 2.0, "fine": 1.0, "bad": -3.0, "not": -0.5}
    sums = [sum(worth.get(word, 0.0) for word in text.split()) for text in texts]
    good = 1 / (1 + np.exp(-np.array(sums)))
    return np.stack([1 - good, good], 1)


def together(texts: Sequence[str]) -> np.ndarray:
    """Words that matter only together: 'not good' is bad, 'good' is good."""
    values = []
    for text in texts:
        words = text.split()
        negated = any(pair == ("not", "good") for pair in pairwise(words))
        values.append(0.1 if negated else 0.9 if "good" in words else 0.4)
    good = np.array(values)
    return np.stack([1 - good, good], 1)


ADDING = FunctionModel(weigh, ["bad", "good"])
TOGETHER = FunctionModel(together, ["bad", "good"])


@cache
def trained(width: int = 12) -> WordNetwork:
    """A network that has seen a hundred reviews."""
    settings = SMALL.model_copy(update={"width": width})
    train, validation = draw_reviews(100, "train", 0), draw_reviews(20, "validation", 0)
    return train_network(train, validation, CLASSES, settings, 0)[0]


def reviews(count: int = 4) -> list[Document]:
    """Some test reviews."""
    return draw_reviews(count, "test", 0)


def wordpieces() -> Any:
    """A tokenizer of WordPiece that knows letters and a few words."""
    letters = [*string.ascii_lowercase, *(f"##{one}" for one in string.ascii_lowercase)]
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, "good", "film", ".", "!", ","]
    return HUB.BertTokenizerFast(vocab={word: number for number, word in enumerate(words)})


@cache
def tiny_bert(places: int = 64, seed: int = 0) -> HubModel:
    """The real class with a tiny configuration and random weights."""
    tokenizer = wordpieces()
    config = HUB.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=places,
        num_labels=2,
        initializer_range=0.5,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = HUB.BertForSequenceClassification(config)
    return HubModel(network, tokenizer, ["negative", "positive"])
