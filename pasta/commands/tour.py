"""`pasta tour`: what the pipeline has made here, where it lies, and what was found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pasta.config import Params

FINDINGS = "findings.csv"  # beside the other tables of a report


@dataclass(frozen=True)
class Stop:
    """A part of the experiment.

    Attributes
    ----------
    title, about
        What it is, in a few words and in a line.
    stage
        What `dvc repro` runs to make it.
    folders
        Where it lies, below ``pipelines/data``.
    reports
        Names of the PDFs about it; the first one with a finding tells it.
    commands
        What to try next.
    """

    title: str
    about: str
    stage: str
    folders: tuple[str, ...]
    reports: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()


def tour() -> None:
    """Walk through what the pipeline has made: what is where, a finding of each part, what next.

    Nothing is computed: the findings are those that the reports have printed. What is not made yet
    is named with the command that makes it.
    """
    from pasta.commands.show import console
    from pasta.config import load_params
    from pasta.paths import FIGURES, project_root

    params, root = load_params(), project_root()
    out = console()
    stops = list(stops_of(params))
    out.print(
        f"[bold]A walk through this project[/] (profile {params.profile}): {len(stops)} parts, "
        "each with its place, a finding and what to try next."
    )
    missing = []
    for number, stop in enumerate(stops, 1):
        out.print(f"\n[bold]{number}. {stop.title}[/]")
        for line in describe(stop, root):
            out.print(f"   {line}", soft_wrap=True, highlight=False)
        if not is_made(stop, root):
            missing.append(stop.stage)
    made = sorted(file.stem for file in (root / FIGURES.parent).glob("*.pdf"))
    out.print("\n[bold]The PDFs[/]")
    if made:
        out.print(f"   reports/: {', '.join(made)}; `pasta report overview --open`")
    out.print("   every run, with its parameters and artefacts: `make ui` (MLflow)")
    if missing:
        out.print(
            f"\nNot made yet: {', '.join(missing)}. `dvc repro` makes all of it.", soft_wrap=True
        )
    else:
        out.print(
            "\nChange something in params.yaml, or import votes, and `dvc repro` runs what depends "
            "on it; `pasta changes` then says what it did to the numbers.",
            soft_wrap=True,
        )


def stops_of(params: Params) -> Iterator[Stop]:
    """The parts of this project in the order of the pipeline, every study among them."""
    from pasta.studies.registry import load_study, study_names

    dataset = next(iter(params.datasets))
    yield Stop(
        "Images and classifiers",
        f"{len(params.datasets)} datasets with a mask for every part, and the networks to explain",
        "train",
        ("images", "train"),
        ("dataset",),
        ("pasta models", f"pasta data check {dataset}"),
    )
    yield Stop(
        "Explanations",
        "each technique on test images, and on perturbed copies of them",
        "explain",
        ("explain",),
        (),
        ("pasta techniques", f"pasta explain photo.jpg --dataset {dataset} --all"),
    )
    yield Stop(
        "Computational metrics",
        "every saliency map measured, without people",
        "measure",
        ("measure",),
        ("correlation",),
        ("pasta metrics",),
    )
    yield Stop(
        "Benchmark",
        "17 explanation methods ranked by 20 metrics (LATEC)",
        "benchmark",
        ("benchmark",),
        ("latec",),
        ("pasta benchmark rank",),
    )
    for name in study_names():
        study = load_study(name, params)
        about = tuple(study.reports) or (("agreement", "dataset") if name == "ratings" else ())
        yield Stop(
            f"The study {name!r}",
            study.about,
            f"votes@{name}",
            (f"votes/{name}",),
            about,
            (f"pasta study {name} check FILE", f"pasta study {name} import FILE"),
        )
    yield Stop(
        "The PASTA-score",
        "a scorer that has learned the ratings, for explanations that nobody has rated",
        "score",
        ("score",),
        ("score",),
        ("pasta score my-method/ --question Q1",),
    )
    yield Stop(
        "What the score is good for",
        "explanations chosen, steered and tuned by it",
        "applications",
        ("applications",),
        ("applications",),
        (f"pasta best photo.jpg --dataset {dataset}",),
    )


def is_made(stop: Stop, root: Path) -> bool:
    """Whether every folder of a part is there and not empty."""
    from pasta.paths import DATA

    return all(_size(root / DATA / folder)[0] for folder in stop.folders)


def describe(stop: Stop, root: Path) -> list[str]:
    """What a part is, where it lies, what was found, and what to try."""
    from pasta.paths import DATA, FIGURES

    if not is_made(stop, root):
        return [f"{stop.about}.", f"not made yet: `dvc repro {stop.stage}`"]
    places = []
    for folder in stop.folders:
        files, size = _size(root / DATA / folder)
        places.append(f"{(DATA / folder).as_posix()} ({files:,} files, {size / 2**20:,.1f} MiB)")
    said = [f"{stop.about}.", f"where: {'; '.join(places)}"]
    if stop.stage.startswith("votes@"):
        said += _answers(root / DATA / stop.folders[0])
    reports = [name for name in stop.reports if (root / FIGURES.parent / f"{name}.pdf").is_file()]
    found = finding(stop.reports, root)
    if found:
        said.append(f"found: {found}")
    if reports:
        said.append(f"read: {', '.join(f'reports/{name}.pdf' for name in reports)}")
    elif stop.reports:
        said.append(f"the report is not made yet: `dvc repro report@{stop.reports[0]}`")
    return [*said, f"try: {', '.join(f'`{command}`' for command in stop.commands)}"]


def finding(reports: Sequence[str], root: Path) -> str | None:
    """The first finding of the first of these reports that has one."""
    import pandas as pd

    from pasta.paths import FIGURES

    for name in reports:
        file = root / FIGURES.parent / "tables" / name / FINDINGS
        if file.is_file():
            rows = pd.read_csv(file)["finding"].dropna()
            if len(rows):
                return str(rows.iloc[0]).replace("**", "")
    return None


def _answers(folder: Path) -> list[str]:
    """How many answers a study has, and whose; nothing for other folders."""
    from pyarrow import parquet

    from pasta import store
    from pasta.studies.source import FILE

    if not (folder / FILE).is_file():
        return []
    rows = {
        file.stem: parquet.read_metadata(file).num_rows for file in sorted(folder.glob("*.parquet"))
    }
    counts = ", ".join(f"{number:,} {name}" for name, number in rows.items() if number)
    origin = store.read_json(folder / FILE)["origin"]
    said = "of people" if origin == "people" else "[yellow]simulated[/], nothing about people"
    if origin == "people and simulated":
        said = "of people, and simulated ones"
    return [f"answers: {counts}; {said}"]


def _size(folder: Path) -> tuple[int, int]:
    """How many files there are below a folder, and their bytes."""
    sizes = [file.stat().st_size for file in folder.rglob("*") if file.is_file()]
    return len(sizes), sum(sizes)
