"""The stages `applications@NAME`: tables, pictures and one MLflow run for each application."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd

from pasta import store
from pasta.applications.backbones import ALL, Backbones, run_backbones
from pasta.applications.examples import run_examples
from pasta.applications.mixture import ELSEWHERE, MEAN, run_mixture
from pasta.applications.pareto import run_pareto
from pasta.applications.prepared.base import why_nothing
from pasta.applications.report_pictures import (
    backbones_sheet,
    before_after,
    mixture_pictures,
    save_picture,
    steering_pictures,
    tuning_pictures,
)
from pasta.applications.scores import cross_validate, read_faithfulness, score_stored
from pasta.applications.sheets import Shelves
from pasta.applications.simulated_judge import Judges, judges_of, planted_folder
from pasta.applications.steering import Steered, run_steering
from pasta.applications.tuning import Tell, Tuned, log_candidate, log_tuned, run_tuning
from pasta.config import Params
from pasta.datasets.stored import StoredDataset, open_dataset
from pasta.errors import PastaError
from pasta.explanations.rendering import Pixels
from pasta.layout import Group
from pasta.registry import did_you_mean
from pasta.scoring.score import PastaScore
from pasta.scoring.stored import CARD
from pasta.studies.ratings.settings import NAME
from pasta.studies.ratings.tables import LABELS
from pasta.tracking import Run, tracked_run


@dataclass(frozen=True)
class Project:
    """What the applications read; each part is opened when it is first used."""

    groups: Sequence[Group]
    params: Params
    data: Path  # the folder of all stages

    @property
    def labels(self) -> Path:
        """The table that scorers learn from."""
        return self.data / "votes" / NAME / "labels.parquet"

    @property
    def scorer(self) -> Path:
        """The public scorer."""
        return self.data / "score/public"

    @property
    def scorers(self) -> dict[str, Path]:
        """All that the applications run with, the public one first."""
        public = self.params.scoring.public
        others = {name: self.data / "score/beside" / name for name in public.beside}
        return {public.scorer: self.scorer} | others

    @cached_property
    def planted(self) -> Path | None:
        """What was planted in simulated raters; None with real ones."""
        return planted_folder(self.data)

    @cached_property
    def datasets(self) -> dict[str, StoredDataset]:
        """All datasets by name."""
        folders = {group.dataset: group.images for group in self.groups}
        return {name: open_dataset(folder) for name, folder in folders.items()}

    @cached_property
    def score(self) -> PastaScore:
        """The public scorer, of the question that the parameters ask about."""
        return PastaScore.load(self.params.applications.question, self.scorer)

    @property
    def others(self) -> Iterator[tuple[str, PastaScore]]:
        """The scorers beside the public one, with its encoder."""
        for name, folder in list(self.scorers.items())[1:]:
            question = self.params.applications.question
            yield name, PastaScore.load(question, folder, encoder=self.score.encoder)

    @cached_property
    def judges(self) -> Judges:
        """The simulated raters, dataset by dataset."""
        return judges_of(self.planted, self.params.applications.question, self.datasets)


# tables and pictures by name
Outcome = tuple[Mapping[str, pd.DataFrame], Mapping[str, Pixels]]


def run_application(name: str, project: Project, out: Path) -> None:
    """Run one application and write its tables (CSV) and ``pictures`` into the folder ``out``.

    Tables and pictures are those of the public scorer; the table ``beside`` has the application's
    verdict by each scorer (``scorer``), those of ``scoring.public.beside`` among them.
    Steering also writes ``figure``: the best change as a picture or, if nobody gains from any, the
    first sheet of its images all the same.
    """
    if name not in APPLICATIONS:
        hint = did_you_mean(name, APPLICATIONS)
        raise PastaError(f"there is no application {name!r}. {hint}")
    title, work = APPLICATIONS[name]
    settings = getattr(project.params.applications, name)
    about = settings.model_dump(exclude={"towers", "studies"})
    params, reads = project.params, READS[name]
    with tracked_run(
        "applications",
        f"applications@{name}",
        title,
        about=ABOUT[name],
        inputs=[project.scorer / CARD, project.labels, *(project.data / one for one in reads)],
        params={"question": params.applications.question, **about},
        tags={
            "study": NAME,
            "dataset": ", ".join(dict.fromkeys(group.dataset for group in project.groups)),
            "scorer": params.scoring.public.scorer,
            "encoder": params.embedding.encoder,
        },
    ) as run:
        reason = None if name == "mixture" else why_nothing(project.data / reads[0])
        if reason is None:
            found, pictures = work(project, run)
        else:
            found, pictures = {"missing": pd.DataFrame([{"section": name, "why": reason}])}, {}
        store.write_csvs(found, out)
        run.log_metrics(application_metrics(name, found))
        for picture, pixels in pictures.items():
            save_picture(pixels, out / "pictures" / f"{picture}.jpg")
        for table in found:
            run.log_file(out / f"{table}.csv", "tables")


def application_metrics(name: str, found: Mapping[str, pd.DataFrame]) -> dict[str, float]:
    """The differences that an application is judged by; tuning logs those of each technique itself.

    In predicted stars (score), in faithfulness and, with simulated raters, in true quality.
    """
    if set(found) == {"missing"}:
        return {}
    match name:
        case "mixture":
            rows = found["comparison"]
            rows = rows[rows["against"].isin([ELSEWHERE, MEAN])]
            names = rows["images"] + "." + rows["against"]
        case "steering":
            rows = found["curve"]
            names = "lambda " + rows["weight"].astype(str)
        case "backbones":
            rows = found["trends"][found["trends"]["group"] == ALL]
            names = rows["family"]
        case _:
            return {}
    keys = names + "." + rows["measure"] + "_difference"
    known = rows["estimate"].notna()
    pairs = zip(keys[known], rows.loc[known, "estimate"], strict=True)
    return {str(key): float(value) for key, value in pairs}


def _mix(project: Project, _: Run) -> Outcome:
    """All applications that need nothing but what is stored: mixture, Pareto front, examples."""
    params, groups = project.params, project.groups
    settings, labels = params.applications, project.labels
    seed = params.seeds.analysing
    scores = _scored(project, settings.question, project.scorer)
    backbones = list(dict.fromkeys([settings.mixture.backbone, *settings.pareto.backbones]))
    maps = set(scores.loc[scores["kind"] == "saliency", "backbone"])
    known = [one for one in backbones if one in maps] or backbones
    measured = read_faithfulness(scores, groups, known)
    mixed: dict[str, dict[str, pd.DataFrame]] = {}
    for name, folder in project.scorers.items():
        own = _scored(project, settings.question, folder) if mixed else scores
        folds = settings.mixture.folds
        crossed = cross_validate(own, groups, labels, params, settings.question, folds, name)
        mixed[name] = run_mixture(own, measured, settings, seed, crossed)
    asked: dict[str, pd.DataFrame] = {
        question: scores
        if question == settings.question
        else _scored(project, question, project.scorer)
        for question in settings.examples.questions
    }
    found = {
        "scores": scores,
        "faithfulness": measured,
        **mixed[params.scoring.public.scorer],
        **_front(scores, measured, project),
        **run_examples(asked, store.read(labels, LABELS), settings),
        "beside": _beside({name: own["comparison"] for name, own in mixed.items()}),
    }
    return found, mixture_pictures(found, Shelves(groups))


def _front(
    scores: pd.DataFrame, measured: pd.DataFrame, project: Project
) -> Mapping[str, pd.DataFrame]:
    """Techniques by faithfulness and score, or why nobody knows how faithful they are."""
    if measured["faithfulness"].notna().any():
        params = project.params
        return run_pareto(scores, measured, params.applications, params.seeds.analysing)
    why = "how faithful an explanation is can only be measured where its classifier is"
    return {"missing": pd.DataFrame([{"section": "pareto", "why": why}])}


def _scored(project: Project, question: str, scorer: Path) -> pd.DataFrame:
    return score_stored(
        project.groups, project.labels, project.params, question, scorer, project.planted
    )


def _beside(verdicts: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The verdicts of several scorers in one table."""
    every = [own.assign(scorer=name) for name, own in verdicts.items()]
    joined = pd.concat(every, ignore_index=True)
    return joined[["scorer", *(name for name in joined if name != "scorer")]]


def _steer(project: Project, _: Run) -> Outcome:
    def steer(score: PastaScore) -> Steered:
        masks = project.data / "masks"
        return run_steering(project.datasets, project.params, score, masks, project.judges)

    found = steer(project.score)
    verdicts = {project.params.scoring.public.scorer: found.tables["curve"]}
    verdicts |= {name: steer(score).tables["curve"] for name, score in project.others}
    drawn, best = steering_pictures(found), before_after(found)
    pictures = {**drawn, README: drawn["steering-0"] if best is None else best}
    return {**found.tables, "beside": _beside(verdicts)}, pictures


def _compare_towers(project: Project, _: Run) -> Outcome:
    def compare(score: PastaScore) -> Backbones:
        towers = project.data / "towers"
        return run_backbones(project.datasets, project.params, score, towers, project.judges)

    found = compare(project.score)
    verdicts = {project.params.scoring.public.scorer: found.trends}
    verdicts |= {name: compare(score).trends for name, score in project.others}
    sheet = backbones_sheet(found)
    own = {name: getattr(found, name) for name in ("scores", "towers", "summary", "trends")}
    return {**own, "beside": _beside(verdicts)}, {} if sheet is None else {"backbones": sheet}


def _tune(project: Project, run: Run) -> Outcome:
    """Each candidate of the public scorer is a nested run."""

    def tune(score: PastaScore, tell: Tell | None = None) -> list[Tuned]:
        prepared = project.data / "candidates"
        return run_tuning(project.datasets, project.params, score, prepared, project.judges, tell)

    def joined(studies: Sequence[Tuned], name: str) -> pd.DataFrame:
        parts: list[pd.DataFrame] = [getattr(study, name) for study in studies]
        return pd.concat(parts, ignore_index=True)

    studies = tune(project.score, log_candidate)
    for study in studies:
        log_tuned(run, study)
    own = {name: joined(studies, name) for name in ("candidates", "verdict", "images")}
    verdicts = {project.params.scoring.public.scorer: own["verdict"]}
    verdicts |= {name: joined(tune(score), "verdict") for name, score in project.others}
    return {**own, "beside": _beside(verdicts)}, tuning_pictures(studies)


ABOUT = {
    "mixture": "The explanation with the best predicted score for each image, against every single "
    "method, and which techniques are both plausible and faithful.",
    "steering": "RISE whose masks the score weighs as well, from plain RISE to the score alone.",
    "backbones": "The same methods on image towers of growing size, as the score sees them.",
    "tuning": "Settings chosen by the score and compared on held-out images; each candidate is a "
    "run inside this one.",
}
READS = {
    "mixture": ("explain", "embed", "measure"),
    "steering": ("masks",),
    "backbones": ("towers",),
    "tuning": ("candidates",),
}
README = "readme"  # the picture that stage `headlines` puts into the README
APPLICATIONS: dict[str, tuple[str, Callable[[Project, Run], Outcome]]] = {
    "mixture": ("mixture of methods", _mix),
    "steering": ("steering RISE", _steer),
    "backbones": ("backbone size", _compare_towers),
    "tuning": ("tuning", _tune),
}
