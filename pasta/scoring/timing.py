"""How long embedding, training and inference take, on every kind of device here (P1, Table 2).

Seconds depend on the machine, so nothing else depends on them: they stand in a table of their own
and in MLflow. The encoder is opened and warmed up before the clock starts. Ratings are drawn at
random: how long a network trains depends on their number, not on what they say, so that new votes
do not make anybody measure again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch

from pasta import compute
from pasta.embedding.encoders import Encoder, open_encoder
from pasta.embedding.settings import EmbeddingParams
from pasta.embedding.stage import Renderer
from pasta.embedding.stored import GIVEN, techniques_of
from pasta.errors import PastaError
from pasta.explanations.stored import StoredExplanations
from pasta.explanations.techniques import Technique
from pasta.layout import Group
from pasta.scoring.base import SCORERS, STARS, Floats, Rated
from pasta.scoring.settings import ScoringParams
from pasta.scoring.studies import settings_of
from pasta.seeds import generator
from pasta.studies.ratings.settings import QUESTIONS

# encoder, scorer (none while embedding), device (cpu or gpu), step (embedding, training,
# inference), n explanations, seconds. Inference is embedding and scoring of new explanations.
COLUMNS = ("encoder", "scorer", "device", "step", "n", "seconds")
_NEW = 0.15  # of the explanations, not trained on; P1 has 330 of 2,200
_VOTES = 5
Say = Callable[[str, str], None]


class Part(NamedTuple):
    """The explanations of one technique."""

    group: Group
    technique: Technique
    number: int  # of explanations that show something


def measure_seconds(
    groups: Sequence[Group],
    embedding: EmbeddingParams,
    scoring: ScoringParams,
    root: Path,
    seed: int,
    say: Say,
) -> pd.DataFrame:
    """Measure the main encoder and further ones, each with the scorer of the ablations' centre.

    Vectors that the user brings have no encoder here, and no seconds. ``seed`` draws random
    weights, where these are asked for.
    """
    named = {embedding.encoder: embedding.weights, **embedding.variants.encoders}
    named.pop(GIVEN, None)
    parts = choose_parts(groups, scoring.timing.explanations) if named else []
    rows = []
    for where in devices():
        for name, weights in named.items():
            shown = embedding.model_copy(update={"encoder": name, "weights": weights})
            with compute.using(where):
                for step, scorer, number, seconds in _measured(parts, shown, scoring, root, seed):
                    device = "cpu" if where.type == "cpu" else "gpu"
                    rows.append((name, scorer, device, step, number, round(seconds, 3)))
                    say(f"{name} on {device}", f"{step} of {number}: {seconds:.1f} s")
    return pd.DataFrame(rows, columns=list(COLUMNS))


def devices() -> list[torch.device]:
    """The CPU, and the device of this machine if it is another."""
    own = compute.device()
    cpu = torch.device("cpu")
    return [cpu] if own.type == "cpu" else [cpu, own]


def choose_parts(groups: Sequence[Group], explanations: int) -> list[Part]:
    """Techniques of all groups in turns, until there are enough explanations."""
    every = [list(_parts(group)) for group in groups]
    longest = max(map(len, every), default=0)
    turns = [own[turn] for turn in range(longest) for own in every if turn < len(own)]
    found: list[Part] = []
    for part in turns:
        if sum(one.number for one in found) >= explanations:
            break
        found.append(part)
    if len(found) < 2:
        raise PastaError("there are fewer than two techniques with explanations to measure with")
    return found


def _parts(group: Group) -> Iterator[Part]:
    stored = StoredExplanations(group.explanations)
    usable = (stored.table["status"] == "ok").to_numpy()
    for technique, places in techniques_of(stored):
        number = int(usable[places].sum())
        if number:
            yield Part(group, technique, number)


def _measured(
    parts: Sequence[Part], shown: EmbeddingParams, scoring: ScoringParams, root: Path, seed: int
) -> Iterator[tuple[str, str, int, float]]:
    """Steps with the scorer, the number of explanations and the seconds of each."""
    encoder = open_encoder(shown, root, seed)
    renderers = {part.group: Renderer(part.group, encoder, shown) for part in parts}
    _warm(encoder)
    vectors, seconds = _timed(lambda: _embed(parts, renderers))
    yield "embedding", "", len(vectors), seconds
    new = max(int(_NEW * len(parts)), 1)
    held_out = sum(part.number for part in parts[-new:])
    rated = _rated(vectors)
    learned, name = len(vectors) - held_out, scoring.studies.scorer
    if learned < 2:
        raise PastaError("there are fewer than two explanations to train with")
    rows, half = np.arange(learned), max(learned // 5, 1)
    train, validation = rated.at(rows[half:]), rated.at(rows[:half])
    settings = settings_of(name, scoring)
    fitted, seconds = _timed(lambda: SCORERS[name].fit(train, validation, settings, 0))
    yield "training", name, len(train), seconds
    fitted = fitted.follow(compute.device())
    _, seconds = _timed(lambda: fitted.predict(_embed(parts[-new:], renderers)))
    yield "inference", name, held_out, seconds


def _warm(encoder: Encoder) -> None:
    """Let libraries choose their kernels before the clock runs."""
    encoder.images(torch.zeros(1, 3, encoder.size, encoder.size, dtype=torch.uint8))


def _embed(parts: Sequence[Part], renderers: dict[Group, Renderer]) -> Floats:
    """Vectors of all explanations that show something."""
    every = [renderers[part.group].vectors(part.technique) for part in parts]
    joined = np.concatenate(every)
    usable: Floats = joined[np.isfinite(joined).all(axis=1)]
    return usable


def _rated(vectors: Floats) -> Rated:
    """Vectors with random votes on all questions."""
    shape = (len(vectors), len(QUESTIONS))
    votes = generator(0, "timing").integers(1, len(STARS) + 1, (*shape, _VOTES))
    counts = (votes[..., None] == STARS).sum(axis=2).astype(np.int64)
    return Rated(vectors, counts, (1 + counts.argmax(axis=2)).astype(np.float32))


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What some work gives, and how long it takes, with all that a GPU still has to do."""
    _finish()
    started = time.perf_counter()
    result = work()
    _finish()
    return result, time.perf_counter() - started


def _finish() -> None:
    if compute.device().type == "cuda":
        torch.cuda.synchronize()
