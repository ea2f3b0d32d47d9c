"""The tables and figures of a dataset's explanations, from the cards of its techniques."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pandas as pd

from pasta import tables
from pasta.explanations.samples import STRENGTHS
from pasta.explanations.suite import Explained


def explanations_table(dataset: str, done: Sequence[Explained]) -> pd.DataFrame:
    """One row per image and technique."""
    return tables.EXPLANATIONS.frame(_explanations(dataset, done))


def perturbed_table(dataset: str, done: Sequence[Explained]) -> pd.DataFrame:
    """Two rows per image and technique: the light and the strong perturbation."""
    return tables.PERTURBED.frame(_perturbed(dataset, done))


def metrics(done: Sequence[Explained]) -> dict[str, Any]:
    """The share of maps that are not ok, and of strong perturbations that changed the class."""
    return {
        "not_ok": {
            technique.key: _share(status != "ok" for status in card["statuses"])
            for one in done
            for technique, card in one.cards.items()
        },
        "changed": {
            one.backbone: _share(pair["changed"] for pair in one.samples.pairs[len(one.samples) :])
            for one in done
        },
    }


def timings(done: Sequence[Explained]) -> pd.DataFrame:
    """Seconds per technique and per shared piece of work, longest first."""
    rows = [
        {"backbone": one.backbone, "work": work, "seconds": round(seconds, 3)}
        for one in done
        for work, seconds in one.spent.items()
    ]
    frame = pd.DataFrame(rows, columns=["backbone", "work", "seconds"])
    return frame.sort_values("seconds", ascending=False, ignore_index=True)


def _share(flags: Iterable[bool]) -> float:
    values = list(flags)
    return round(sum(values) / max(len(values), 1), 4)


def _explanations(dataset: str, done: Sequence[Explained]) -> Iterator[dict[str, Any]]:
    for one in done:
        for technique, card in one.cards.items():
            for row, image in enumerate(one.samples.ids):
                yield {
                    "sample_id": f"{dataset}/{image}/{technique.key}",
                    "dataset": dataset,
                    "image_id": image,
                    "method": technique.method,
                    "backbone": technique.backbone,
                    "kind": technique.kind,
                    "predicted": one.classes[one.samples.predicted[row]],
                    "status": card["statuses"][row],
                    "scale": card["scales"][row],
                    "row": row,
                }


def _perturbed(dataset: str, done: Sequence[Explained]) -> Iterator[dict[str, Any]]:
    for one in done:
        number = len(one.samples.ids)
        for technique, card in one.cards.items():
            for place, strength in enumerate(STRENGTHS):
                for index, image in enumerate(one.samples.ids):
                    pair = one.samples.pairs[place * number + index]
                    row = (place + 1) * number + index
                    yield {
                        "sample_id": f"{dataset}/{image}/{technique.key}",
                        "strength": strength,
                        "perturbation": pair["perturbation"],
                        "magnitude": pair["magnitude"],
                        "predicted": one.classes[pair["predicted"]],
                        "changed": pair["changed"],
                        "status": card["statuses"][row],
                        "scale": card["scales"][row],
                        "row": row,
                    }
