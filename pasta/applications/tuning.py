"""Settings of explanation methods by predicted score (P1, Tables 23 and 24).

A grid of settings is tried on images that nobody has rated; the setting with the best mean
predicted score is then compared with the default on other such images.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from pasta.applications import tuning_choice
from pasta.applications.tuning_compare import Pair, answer_of, compared, image_table
from pasta.applications.tuning_fresh import fresh_images
from pasta.applications.tuning_grid import Candidate, Grid, Layers, make_grid
from pasta.applications.tuning_search import Answer, search
from pasta.errors import PastaError
from pasta.explanations.techniques import Technique
from pasta.explanations.techniques import technique as named
from pasta.params import Params

if TYPE_CHECKING:
    from pasta.applications.tuning_maps import Subject
    from pasta.params.applications import ApplicationsParams
    from pasta.scoring.score import PastaScore

Tell = Callable[[Technique, Answer], None]


@dataclass(frozen=True)
class Budget:
    """How much is looked at."""

    search: int  # images of each dataset to choose on
    held_out: int  # images of each dataset to compare on
    subsets: int  # of pixels, for each faithfulness correlation
    resamples: int  # of the images, for each interval
    keys: str = "applications.tuning.search + applications.tuning.held_out"  # for errors


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
    folders: Sequence[Path],
    params: Params,
    settings: ApplicationsParams,
    scorer: PastaScore,
    root: Path,
    storage: Path,
    planted: Path | None = None,
    tell: Tell | None = None,
) -> list[Tuned]:
    """All studies that the parameters name; ``storage`` is the SQLite file that remembers."""
    budget = Budget(
        settings.tuning.search, settings.tuning.held_out, settings.subsets, settings.resamples
    )
    return [
        tune(
            named(study.technique),
            study.grid,
            folders,
            params,
            scorer,
            root,
            storage,
            budget,
            planted=planted,
            trials=study.trials,
            tell=tell,
        )
        for study in settings.tuning.studies
    ]


def tune(
    technique: Technique,
    values: Mapping[str, Sequence[Any]],
    folders: Sequence[Path],
    params: Params,
    scorer: PastaScore,
    root: Path,
    storage: Path,
    budget: Budget,
    *,
    planted: Path | None = None,
    trials: int | None = None,
    tell: Tell | None = None,
) -> Tuned:
    """Choose settings of one technique by predicted score, and say what the choice is worth.

    Parameters
    ----------
    technique
        A saliency technique.
    values
        ``{setting: [values]}`` of its method; ``layer`` is the target layer of CAM methods.
    folders
        Of the datasets whose images are used.
    scorer
        Of the question that is to be answered better.
    storage
        An SQLite file; what is in it from an earlier run is not computed again.
    trials
        So many candidates, chosen by Optuna; None tries all.
    tell
        Hears of each candidate when its score is known.
    """
    from pasta.applications.judge import MapJudge, planted_judge
    from pasta.applications.scores import direction

    table = _Table(technique, folders, params, root, budget)
    grid = make_grid(technique, values, params.explanations.methods, table.layers)
    if len(grid) == 1 and next(grid.candidates()) == grid.default:
        raise PastaError(f"the grid of {technique.key} has the default only: nothing to compare")
    up = direction(scorer.question, params.annotations.protocol)
    judge = planted_judge(planted, params.annotations.simulation, scorer.question)
    judges = {
        one.fresh.name: None if judge is None else MapJudge(judge, one.fresh.dataset)
        for one in table.search
    }
    found = search(
        grid,
        lambda candidate: answer_of(candidate, table.search, scorer, judges),
        storage,
        table.fingerprint(grid, scorer, judge is not None),
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


class _Table:
    """The classifiers with their images, laid out for a technique."""

    def __init__(
        self,
        technique: Technique,
        folders: Sequence[Path],
        params: Params,
        root: Path,
        budget: Budget,
    ) -> None:
        from pasta.applications.tuning_maps import Subject
        from pasta.models.checkpoint import load

        self.technique, self.params = technique, params
        self.search: list[Subject] = []
        self.held_out: list[Subject] = []
        self.weights: list[str] = []
        shared: dict[str, Any] = {}
        for folder in folders:
            number = budget.search + budget.held_out
            fresh = fresh_images(folder, params, number, budget.keys)
            model, card = load(folder / "models" / technique.backbone, params, root, shared)
            self.weights.append(card["weights_md5"])
            parts = fresh.part(slice(0, budget.search)), fresh.part(slice(budget.search, None))
            self.search.append(Subject(parts[0], model, technique, params))
            self.held_out.append(Subject(parts[1], model, technique, params))
        if "clip" in shared:
            self.weights.append(shared["clip"].md5)

    @property
    def layers(self) -> Layers | None:
        """Those of the first dataset's network; the others are built alike."""
        first = self.search[0]
        if not self.technique.about["needs_layer"]:
            return None
        return Layers(first.model, first.view.require_layer())

    def fingerprint(self, grid: Grid, scorer: PastaScore, judged: bool) -> str:
        """Of everything that the values of a candidate depend on, and the grid."""
        from pasta.applications.tuning_grid import section_of
        from pasta.models.fingerprint import fingerprint

        section = section_of(self.technique, self.params.explanations.methods)
        return fingerprint(
            {
                "technique": self.technique.key,
                "grid": {name: list(values) for name, values in grid.choices.items()},
                "settings": None if section is None else section.model_dump(mode="json"),
                "question": scorer.question,
                "scorer": scorer.card.weights_sha256,
                "images": [[one.fresh.name, *one.fresh.ids] for one in self.search],
                "weights": self.weights,
                "judged": judged,
                "seed": self.params.seed,
            }
        )
