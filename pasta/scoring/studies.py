"""The papers' studies of the score as data: what is varied, and what stays as it is.

The main table (P1 Table 3, P2 Table 1) has all questions; the ablations (P1 Tables 4 and 15-20)
ask the first question only, as published, and vary one thing at a time around the same centre.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from pasta.params.embedding import EmbeddingParams
from pasta.params.scoring import Aggregate, By, ScoringParams
from pasta.tables import QUESTIONS


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
            "embedding": self.embedding.model_dump(mode="json", exclude={"handcrafted"}),
        }

    def same_work(self) -> tuple[Any, ...]:
        """Setups with equal keys give equal results: each is computed once."""
        shown = tuple(sorted(self.embedding.model_dump(mode="json").items(), key=str))
        return (self.scorer, str(shown), self.split, self.aggregate, self.with_label)


def setups(embedding: EmbeddingParams, scoring: ScoringParams) -> list[Setup]:
    """All rows of all studies."""
    centre = Setup("main", "", "pasta-linear", embedding, scoring.split.by)
    first = replace(centre, questions=QUESTIONS[:1])
    return [*_main(centre, scoring), *_ablations(first, scoring)]


def embeddings(embedding: EmbeddingParams, scoring: ScoringParams) -> list[EmbeddingParams]:
    """The different ways of embedding that the studies need, the usual one first."""
    wanted = [setup.embedding for setup in setups(embedding, scoring)]
    return list(dict.fromkeys([embedding, *wanted]))


def _main(centre: Setup, scoring: ScoringParams) -> Iterator[Setup]:
    for scorer in scoring.scorers:
        own = centre.embedding
        if scorer == "handcrafted":
            own = own.model_copy(update={"encoder": "handcrafted"})
        yield replace(centre, level=scorer, scorer=scorer, embedding=own)
    for encoder, weights in scoring.encoders.items():
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
    for image in scoring.studies.images:
        shown = first.embedding.model_copy(update={"image": image})
        yield replace(first, study="saliency image", level=image, embedding=shown)
    for number in scoring.studies.n_top:
        shown = first.embedding.model_copy(update={"n_top": number})
        yield replace(first, study="n top", level=str(number), embedding=shown)
    template = scoring.studies.template
    for level, changes in {
        "weighted sum": {"text": "weighted"},
        "sentence": {"text": "sentence", "template": ""},
        "sentence with template": {"text": "sentence", "template": template},
    }.items():
        shown = first.embedding.model_copy(update=changes)
        yield replace(first, study="concept embedding", level=level, embedding=shown)
