"""Settings of explanation methods by predicted score (P1, Tables 23 and 24).

A grid of settings is tried on images that nobody has rated; the setting with the best mean
predicted score is then compared with the default on other such images.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from pasta.applications import tuning_choice
from pasta.applications.prepared.candidates import Table, load_candidates
from pasta.applications.prepared.grid import Candidate
from pasta.applications.tuning_compare import Pair, answer_of, compared, image_table
from pasta.applications.tuning_search import Answer, search
from pasta.explanations.techniques import Technique
from pasta.params import Params

if TYPE_CHECKING:
    from pasta.applications.judge import Judges
    from pasta.datasets.stored import StoredDataset
    from pasta.params.applications import ApplicationsParams
    from pasta.scoring.score import PastaScore

Tell = Callable[[Technique, Answer], None]


@dataclass(frozen=True)
class Budget:
    """How much is looked at."""

    subsets: int  # of pixels, for each faithfulness correlation
    resamples: int  # of the images, for each interval


@dataclass(frozen=True)
class Tuned:
    """What comes out of tuning one technique."""

    technique: Technique
    default: Candidate
    winner: Candidate
    candidates: pd.DataFrame  # tuning_choice.CANDIDATE_COLUMNS, on the search images
    verdict: pd.DataFrame  # tuning_choice.VERDICT_COLUMNS
    images: pd.DataFrame  # tuning_compare.IMAGE_COLUMNS
    conclusion: list[str]
    resumed: int  # candidates that were found on disk
    pairs: list[Pair]


def run_tuning(
    datasets: Mapping[str, StoredDataset],
    params: Params,
    settings: ApplicationsParams,
    scorer: PastaScore,
    prepared: Path,
    storage: Path,
    judges: Judges,
    tell: Tell | None = None,
) -> list[Tuned]:
    """All studies that the parameters name, with the maps in ``prepared``."""
    budget = Budget(settings.subsets, settings.resamples)
    return [
        tune(
            load_candidates(prepared, study.technique, datasets),
            params,
            scorer,
            storage,
            budget,
            judges,
            tell=tell,
        )
        for study in settings.tuning.studies
    ]


def tune(
    table: Table,
    params: Params,
    scorer: PastaScore,
    storage: Path,
    budget: Budget,
    judges: Judges,
    *,
    trials: int | None = None,
    tell: Tell | None = None,
) -> Tuned:
    """Choose settings of one technique by predicted score, and say what the choice is worth.

    Parameters
    ----------
    table
        The grid, and the images to choose and to compare on.
    scorer
        Of the question that is to be answered better.
    storage
        An SQLite file; what is in it from an earlier run is not computed again.
    judges
        Who know what was planted in simulated raters, by dataset.
    trials
        So many candidates, chosen by Optuna; None tries all.
    tell
        Hears of each candidate when its score is known.
    """
    from pasta.applications.scores import direction

    technique = table.technique
    up = direction(scorer.question, params.annotations.protocol)
    about = {
        "question": scorer.question,
        "scorer": scorer.card.weights_sha256,
        "judged": any(one is not None for one in judges.values()),
    }
    found = search(
        table.grid,
        lambda candidate: answer_of(candidate, table.search, scorer, judges),
        storage,
        table.fingerprint(params, **about),
        trials=trials,
        direction=up,
        seed=params.seed,
        tell=None if tell is None else (lambda answer: tell(technique, answer)),
    )
    choice = tuning_choice.choose(found, up)
    pair = [found.default.candidate, choice.winner.candidate]
    default, tuned, shown = compared(
        pair, table.held_out, scorer, judges, params.seed, budget.subsets
    )
    verdict = tuning_choice.verdict_table(
        technique.key, found, choice, tuned, default, budget.resamples, params.seed, up
    )
    return Tuned(
        technique,
        pair[0],
        pair[1],
        tuning_choice.candidate_table(
            technique.key, found, choice, budget.resamples, params.seed, up
        ),
        verdict,
        image_table(technique, table.search, table.held_out, found, pair, [default, tuned]),
        tuning_choice.conclude(verdict, choice, up),
        sum(one.resumed for one in found.answers),
        shown,
    )
