"""Training of the small network of words, and the folder that keeps it."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from pydantic import ValidationError
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor
from torch.nn.functional import cross_entropy

from pasta import compute, store
from pasta.errors import InputError, PastaError
from pasta.models.base import torch_generator
from pasta.models.training import has_fused
from pasta.seeds import entropy
from pasta.texts.classifier import HIDDEN, WordNetwork, find_vocabulary
from pasta.texts.documents import Document
from pasta.texts.settings import NetworkParams

CARD, WEIGHTS = "card.json", "weights.safetensors"


@dataclass
class TextHistory:
    """One number an epoch: mean loss and accuracy on the validation texts."""

    loss: list[float] = field(default_factory=list)
    validation: list[float] = field(default_factory=list)


def build_network(
    classes: Sequence[str], vocabulary: Sequence[str], settings: NetworkParams, seed: int
) -> WordNetwork:
    """A network with random weights that depend on the seed alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(entropy(seed, "weights", "texts") % 2**63)
        return WordNetwork(classes, vocabulary, settings)


def train_network(
    train: Sequence[Document],
    validation: Sequence[Document],
    classes: Sequence[str],
    settings: NetworkParams,
    seed: int,
    where: torch.device | None = None,
) -> tuple[WordNetwork, TextHistory]:
    """Train a network on labelled texts, deterministically for (seed, settings, texts).

    The weights of the epoch with the best accuracy on the validation texts are kept, of several
    the last one's.

    Parameters
    ----------
    train, validation
        Texts with labels.
    classes
        All labels.
    settings
        Sizes and rates.
    seed
        Of the first weights, the order of texts and the words that training hides.
    where
        The device; that of the process if None.

    Returns
    -------
    The network in evaluation mode, and how training went.
    """
    labels = label_numbers([*train, *validation], classes)
    if not train or not validation:
        raise PastaError("training needs texts to train on and texts to validate with")
    network = build_network(classes, find_vocabulary(train), settings, seed)
    compute.place(network, where)
    random = torch_generator(seed, "train", "texts")
    steps = settings.epochs * -(-len(train) // settings.batch_size)
    optimizer = torch.optim.AdamW(
        network.parameters(),
        lr=settings.learning_rate,
        weight_decay=settings.weight_decay,
        fused=has_fused(compute.device_of(network)),
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, settings.learning_rate, total_steps=steps, pct_start=0.2
    )
    history, best = TextHistory(), -1.0
    kept: dict[str, Tensor] = {}
    for epoch in range(settings.epochs):
        network.train()
        losses = 0.0
        for part in torch.split(torch.randperm(len(train), generator=random), settings.batch_size):
            value = step(network, optimizer, [train[n] for n in part], labels[part], random)
            schedule.step()
            losses += float(value) * len(part)
        network.eval()
        history.loss.append(losses / len(train))
        history.validation.append(accuracy(network, validation, labels[len(train) :]))
        if math.isnan(history.loss[-1]):
            raise PastaError(f"texts: the loss is not a number in epoch {epoch + 1}")
        if history.validation[-1] >= best:
            best = history.validation[-1]
            kept = {name: value.clone() for name, value in network.state_dict().items()}
    network.load_state_dict(kept)
    return network, history


def step(
    network: WordNetwork,
    optimizer: torch.optim.Optimizer,
    documents: Sequence[Document],
    labels: Tensor,
    random: torch.Generator,
) -> Tensor:
    """One step on some texts, of which a few words are hidden; returns the loss."""
    ids, seen = network.batch(documents)
    hidden = torch.rand(ids.shape, generator=random) < network.settings.dropped
    ids = torch.where(hidden & seen, HIDDEN, ids)
    where = compute.device_of(network)
    logits = network(compute.place(ids, where), compute.place(seen, where))
    value = cross_entropy(logits, compute.place(labels, where))
    optimizer.zero_grad(set_to_none=True)
    value.backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    return value.detach()


def accuracy(network: WordNetwork, documents: Sequence[Document], labels: Tensor) -> float:
    """Share of texts whose most probable class is theirs."""
    return float((network.probabilities(documents).argmax(1) == labels).float().mean())


def label_numbers(documents: Sequence[Document], classes: Sequence[str]) -> Tensor:
    """The number of each text's class, or an error that names the text."""
    numbers = {name: place for place, name in enumerate(classes)}
    for one in documents:
        if one.label not in numbers:
            raise PastaError(
                f"the text {one.text_id!r} is of the class {one.label!r}, expected one of "
                f"{', '.join(classes)}"
            )
    return torch.tensor([numbers[one.label] for one in documents], dtype=torch.long)


def save_network(network: WordNetwork, folder: Path) -> None:
    """Write weights and vocabulary."""
    state = {name: value.cpu().contiguous() for name, value in network.state_dict().items()}
    with store.atomic(folder / WEIGHTS) as temporary:
        temporary.write_bytes(save(state))
    card = {
        "classes": list(network.classes),
        "vocabulary": list(network.vocabulary),
        "settings": network.settings.model_dump(mode="json"),
    }
    with store.atomic(folder / CARD) as temporary:
        temporary.write_text(json.dumps(card, ensure_ascii=False, indent=1) + "\n", "utf-8")


def open_network(folder: Path) -> WordNetwork:
    """Read what :func:`save_network` wrote; in evaluation mode, in main memory."""
    card = store.read_json(folder / CARD)
    try:
        settings = NetworkParams.model_validate(card["settings"])
        network = WordNetwork(card["classes"], card["vocabulary"], settings)
        network.load_state_dict(load((folder / WEIGHTS).read_bytes()))
    except (KeyError, TypeError, ValidationError) as error:
        expected = "classes, vocabulary and settings of a network of words"
        raise InputError(
            f"cannot be read: {error}", file=folder / CARD, expected=expected
        ) from None
    except (OSError, RuntimeError, SafetensorError) as error:
        reason = str(error).strip().splitlines()[0]
        expected = f"the weights of the network in {CARD}"
        raise InputError(
            f"cannot be read: {reason}", file=folder / WEIGHTS, expected=expected
        ) from None
    return network.eval()
