"""The papers' studies of the score as data: what is varied, and what stays as it is.

The main table (P1 Table 3, P2 Table 1) has all questions; the ablations (P1 Tables 4 and 15-20)
ask the first question only, as published, and vary one thing at a time around the same centre.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from pasta.embedding.settings import EmbeddingParams
from pasta.embedding.variants import HANDCRAFTED
from pasta.scoring.settings import Aggregate, By, ScoringParams
from pasta.studies.ratings.settings import MAIN, QUESTIONS


@dataclass(frozen=True)
class Setup:
    """One row of a study."""

    study: str
    level: str
    scorer: str
    embedding: EmbeddingParams
    split: By
    aggregate: Aggregate = "mode"
    with_label: bool = True
    questions: tuple[str, ...] = QUESTIONS

    def described(self) -> dict[str, Any]:
        """For the run: everything that makes this setup differ from others."""
        return {
            "study": self.study,
            "level": self.level,
            "scorer": self.scorer,
            "split": self.split,
            "aggregate": self.aggregate,
            "with_label": self.with_label,
            "questions": " ".join(self.questions),
            "embedding": self.embedding.model_dump(
                mode="json", exclude={"handcrafted", "variants"}
            ),
        }

    def answers(self, other: Setup) -> bool:
        """Whether the results of another setup are among those of this one."""
        return set(other.questions) <= set(self.questions) and self == replace(
            other, study=self.study, level=self.level, questions=self.questions
        )


def setups(embedding: EmbeddingParams, scoring: ScoringParams) -> list[Setup]:
    """All rows of all studies."""
    centre = Setup("main", "", "pasta-linear", embedding, scoring.split.by)
    first = replace(centre, questions=(MAIN,))
    return [*_main(centre, scoring), *_ablations(first, scoring)]


def _main(centre: Setup, scoring: ScoringParams) -> Iterator[Setup]:
    for scorer in scoring.scorers:
        own = centre.embedding
        if scorer == HANDCRAFTED:
            own = own.model_copy(update={"encoder": HANDCRAFTED})
        yield replace(centre, level=scorer, scorer=scorer, embedding=own)
    for encoder, weights in centre.embedding.variants.encoders.items():
        own = centre.embedding.model_copy(update={"encoder": encoder, "weights": weights})
        for scorer in ("pasta-linear", "ordinal"):
            yield replace(centre, level=f"{encoder}, {scorer}", scorer=scorer, embedding=own)


def _ablations(first: Setup, scoring: ScoringParams) -> Iterator[Setup]:
    for split in scoring.studies.splits:
        yield replace(first, study="split", level=split, split=split)
    for aggregate in scoring.studies.aggregates:
        yield replace(first, study="label type", level=aggregate, aggregate=aggregate)
    for with_label in (False, True):
        level = "embeddings and labels" if with_label else "embeddings"
        yield replace(first, study="label input", level=level, with_label=with_label)
    for scorer in scoring.studies.functions:
        yield replace(first, study="scoring function", level=scorer, scorer=scorer)
    shown, more = first.embedding, first.embedding.variants
    changes: list[tuple[str, str, dict[str, Any]]] = [
        *(("saliency image", image, {"image": image}) for image in more.images),
        *(("n top", str(number), {"n_top": number}) for number in more.n_top),
        *([("concept embedding", "weighted sum", {"text": "weighted"})] if more.weighted else []),
        ("concept embedding", "sentence", {"text": "sentence", "template": ""}),
        (
            "concept embedding",
            "sentence with template",
            {"text": "sentence", "template": more.template},
        ),
    ]
    for study, level, change in changes:
        own = shown.model_copy(update=change)
        yield replace(first, study=study, level=level, embedding=own)
