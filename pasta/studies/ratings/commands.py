"""`pasta study ratings`, or `pasta annotations`: what only the rating study has.

Imports stand in the functions: the command line must be light.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

from pasta.studies.ratings.settings import MAIN

if TYPE_CHECKING:
    import pandas as pd

    from pasta.config import Params
    from pasta.studies.base import Study
    from pasta.studies.ratings.protocol import Protocol

app = typer.Typer(
    help="Plan a rating study, check and import its votes, and hand them on.\n\n"
    "New votes have arrived: `pasta study ratings check FILE`, then "
    "`pasta study ratings import FILE` and `dvc repro`.",
)


@app.command()
def plan(
    annotators: Annotated[
        int | None, typer.Option(min=1, help="how many people; default: params")
    ] = None,
    votes: Annotated[int | None, typer.Option(min=1, help="people for each sample")] = None,
    samples: Annotated[
        int | None, typer.Option(min=1, help="a random subset of so many samples, as in P1")
    ] = None,
    techniques_per_image: Annotated[
        int | None, typer.Option(min=1, help="so many techniques of each image, as in P2")
    ] = None,
    unrated: Annotated[bool, typer.Option("--unrated", help="only samples without votes")] = False,
    seed: Annotated[int | None, typer.Option(help="another seed gives another plan")] = None,
    out: Annotated[Path | None, typer.Option(help="write the plan to this CSV file")] = None,
    number: Annotated[
        int | None,
        typer.Option("--next", min=1, help="so many more ratings, beside those that are there"),
    ] = None,
    by: Annotated[
        Literal["chance", "information"],
        typer.Option(help="of --next: any samples, or those that say most"),
    ] = "information",
    goal: Annotated[
        Literal["techniques", "score"],
        typer.Option(help="of --by information: the order of techniques, or every sample's score"),
    ] = "techniques",
    question: Annotated[str, typer.Option(help="of --by information: on this question")] = MAIN,
) -> None:
    """Choose samples and say who rates which, evenly; print the balance and the hours of work.

    `--next 300 --by information` asks for 300 more ratings where they say most, by the uncertainty
    of the ordinal scorer and the votes so far: which samples, and how many people each. Most of the
    gain is that it asks one person each about many samples, as `--by chance --votes 1` does.
    """
    from pasta.config import load_params
    from pasta.layout import explained_groups
    from pasta.paths import project_root
    from pasta.studies.ratings.plan import make_plan, summary
    from pasta.studies.ratings.rateable import rateable

    params, root = load_params(), project_root()
    settings = params.annotations
    candidates = rateable(explained_groups(root), settings.extras)
    if unrated:
        candidates = _without_votes(candidates, root)
    chance = params.seeds.simulating if seed is None else seed
    most = votes or settings.votes
    if number is None:
        made = make_plan(
            candidates,
            annotators or settings.annotators,
            most,
            chance,
            samples or settings.samples,
            techniques_per_image or settings.techniques_per_image,
        )
    else:
        wanted = Next(number, by, goal, question, most, annotators or settings.annotators, chance)
        made = _plan_next(wanted, candidates, params, root)
    for line in summary(made, candidates, settings.seconds_per_sample):
        typer.echo(line)
    if out is not None:
        from pasta import store

        with store.atomic(out) as temporary:
            made.to_csv(temporary, index=False, lineterminator="\n")
        typer.echo(f"wrote {out}")


@app.command()
def new(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="a new folder")],
    plan_file: Annotated[
        Path | None,
        typer.Option("--plan", help="from `plan --out`; default: as the parameters say"),
    ] = None,
    annotators: Annotated[
        int | None, typer.Option(min=1, help="how many people; default: params")
    ] = None,
    votes: Annotated[int | None, typer.Option(min=1, help="people for each sample")] = None,
    samples: Annotated[int | None, typer.Option(min=1, help="a random subset")] = None,
    seed: Annotated[int | None, typer.Option(help="another seed gives another plan")] = None,
) -> None:
    """Prepare a study for the browser: pictures, order, texts and consent form in a new folder.

    Then `pasta study serve DIR` and `pasta study invite DIR --count 15`.
    """
    from pasta.config import load_params
    from pasta.json_files import new_folder
    from pasta.layout import explained_groups
    from pasta.paths import project_root
    from pasta.studies.app.preparing import finish_new
    from pasta.studies.ratings.app_items import write_study
    from pasta.studies.ratings.exporting import read_plan
    from pasta.studies.ratings.plan import make_plan
    from pasta.studies.ratings.protocol import study_protocol
    from pasta.studies.ratings.rateable import Views, rateable

    params, root = load_params(), project_root()
    settings, groups = params.annotations, explained_groups(root)
    chosen = params.seeds.simulating if seed is None else seed
    if plan_file is not None:
        made = read_plan(plan_file).astype({"position": int})
    else:
        made = make_plan(
            rateable(groups, settings.extras),
            annotators or settings.annotators,
            votes or settings.votes,
            chosen,
            samples or settings.samples,
            settings.techniques_per_image,
        )
    views = Views(groups, params.embedding.style)
    with new_folder(folder) as temporary:
        number = write_study(temporary, made, views, study_protocol(params), chosen)
    for line in finish_new(folder, number, "samples"):
        typer.echo(line)


@app.command()
def export(
    out: Annotated[Path, typer.Argument(help="a new folder")],
    form: Annotated[
        Literal["all", "tidy", "released", "label_studio"],
        typer.Option("--format", help="only this one, straight into the folder"),
    ] = "all",
    pictures: Annotated[
        bool,
        typer.Option(help="with the released JSON, for others: images, attributions, pictures"),
    ] = False,
) -> None:
    """Write all stored annotations so that they can be imported elsewhere, or here, unchanged.

    Without `--format` there is a folder for each: `tidy` (CSV), `released` (the JSON of the
    released dataset) and `label_studio` (tasks with their answers, and the labelling
    configuration). A release for people who do not have the explanations needs `--pictures`,
    which takes a tenth of a second for each sample.
    """
    from pasta.config import load_params
    from pasta.errors import PastaError
    from pasta.layout import explained_groups
    from pasta.studies.batches import merged, project_batches
    from pasta.studies.ratings.exporting import write_exports

    study, protocol, root = _study()
    annotations = merged(study, project_batches(study, root))
    if annotations["votes"].empty:
        raise PastaError("there are no votes yet; `pasta study ratings import FILE` stores some")
    groups = explained_groups(root) if pictures else []
    style = load_params().embedding.style
    write_exports(annotations, out, form, study, protocol, groups, style)
    typer.echo(f"wrote {len(annotations['votes']):,} votes to {out}")


@app.command()
def tasks(
    plan_file: Annotated[Path, typer.Argument(metavar="PLAN", help="from `plan --out`")],
    out: Annotated[Path, typer.Option(help="a new folder for tasks.json, config.xml, pictures")],
) -> None:
    """Prepare a Label Studio project: the tasks of a plan with their pictures, and its form."""
    from pasta.config import load_params
    from pasta.layout import explained_groups
    from pasta.studies.ratings.exporting import write_project

    _, protocol, root = _study()
    style = load_params().embedding.style
    number = write_project(plan_file, out, explained_groups(root), protocol, style)
    typer.echo(f"wrote {number} tasks, their pictures and the labelling configuration to {out}")


@app.command()
def simulate(
    out: Annotated[Path, typer.Argument(help="a new folder of tidy CSV")],
    samples: Annotated[int, typer.Option(min=1, help="unrated samples to rate")] = 50,
    seed: Annotated[int, typer.Option(help="another seed gives other raters")] = 1,
) -> None:
    """Let new simulated raters rate samples that have no votes yet: a batch to try things with."""
    from pasta.config import load_params
    from pasta.layout import explained_groups
    from pasta.studies.ratings.plan import make_plan
    from pasta.studies.ratings.rateable import rateable
    from pasta.studies.ratings.simulation.study import simulate as run_study
    from pasta.studies.reading import write_tidy

    params = load_params()
    study, protocol, root = _study()
    settings, groups = params.annotations, explained_groups(root)
    candidates = _without_votes(rateable(groups, settings.extras), root)
    people = min(settings.annotators, samples * settings.votes)  # everybody has something to rate
    made = make_plan(candidates, people, settings.votes, seed, samples)
    made["annotator_id"] = f"seed{seed}-" + made["annotator_id"]
    simulated = run_study(groups, made, settings.simulation, seed, protocol)
    write_tidy(study, simulated.frames, out)
    typer.echo(f"wrote {len(simulated.frames['votes']):,} simulated votes to {out}")


class Next(NamedTuple):
    """Further ratings that are asked for."""

    number: int
    by: str
    goal: str
    question: str
    most: int  # votes on a sample
    people: int
    seed: int


# Who chooses by information needs a scorer, of which a study knows nothing: the commands put it in.
Informed = Callable[["Next", "Params", Path], "pd.DataFrame"]
INFORMED: dict[str, Informed] = {}


def _plan_next(wanted: Next, candidates: pd.DataFrame, params: Params, root: Path) -> pd.DataFrame:
    """A plan of further ratings, for people who may have rated already."""
    from pasta.seeds import generator
    from pasta.studies.batches import merged, project_batches
    from pasta.studies.ratings.information import choose_by_chance, share_out
    from pasta.studies.ratings.plan import names_of_annotators

    study, _, _ = _study()
    votes = merged(study, project_batches(study, root))["votes"]
    if wanted.by == "chance":
        rated = set(votes["sample_id"])
        unrated = candidates[~candidates["sample_id"].isin(rated)]
        random = generator(wanted.seed, "plan", "next", "samples")
        asked = choose_by_chance(unrated, wanted.number, wanted.most, random)
    else:
        asked = INFORMED["information"](wanted, params, root)
    each = asked["votes"].value_counts().sort_index()
    told = ", ".join(f"{count} with {size} more" for size, count in each.items())
    again = int((asked["votes_before"] > 0).sum())
    typer.echo(f"{len(asked)} samples ({told}), {again} of them rated before")
    people = names_of_annotators(wanted.people)
    return share_out(asked, people, votes, generator(wanted.seed, "plan", "next"))


def _study() -> tuple[Study, Protocol, Path]:
    """The study, its protocol, and the project's root."""
    from pasta.config import load_params
    from pasta.paths import project_root
    from pasta.studies.ratings.protocol import study_protocol
    from pasta.studies.ratings.study import ratings

    params = load_params()
    return ratings(params), study_protocol(params), project_root()


def _without_votes(candidates: pd.DataFrame, root: Path) -> pd.DataFrame:
    from pasta.studies.batches import merged, project_batches

    study, _, _ = _study()
    rated = merged(study, project_batches(study, root))["votes"]["sample_id"]
    return candidates[~candidates["sample_id"].isin(set(rated))]
