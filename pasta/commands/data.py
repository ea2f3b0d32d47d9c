"""`pasta data`: what a dataset consists of, whether it is all there, and how to get it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pasta.commands.annotate import boxes, label, split

if TYPE_CHECKING:
    import pandas as pd

    from pasta.datasets.vocabulary import Vocabulary

app = typer.Typer(
    help="Check a dataset, fetch it from its official source, or annotate its images.",
    no_args_is_help=True,
)
app.command()(label)
app.command()(boxes)
app.command()(split)

Name = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="catsdogscars, pascalpart, monumai, coco, yours, or pasta (a release)"
    ),
]


RELEASE = "pasta"  # rated explanations of several datasets
DESCRIPTION = """\
Rated explanations come in as a folder, a release:

{layout}

Every entry of human_annotations.json is an object with

  img, explication, activations   paths below ROOT of the image, of the picture that people saw, and
                                  of the map (.npy, height x width of the image; signed or not) or
                                  the concepts (.json, {{"wheel": 0.8, ...}})
  GTclass, predictedclass         the true class and the one that is explained, by the vocabulary
  Annotation                      a list with an object for each vote, such as {{"Q1": 4, "Q3": 2}};
                                  "annotator" may say whose it is
  sample_id                       optional: dataset/image/method/backbone. Without it the picture's
                                  name {{dataset}}_{{image_id}}_{{technique}}.png says it, with a
                                  number of the released PASTA dataset (`pasta techniques`)
  imgpertubated, explicationpertubated, activationspertubated
                                  optional: the same three of a perturbed copy (spelt so)

Datasets are {datasets}, or your own: a file with its classes and concepts in
pasta/datasets/vocabularies. techniques.json says of techniques that are not known here
{{"mine/resnet50": {{"title": "Mine", "sign": "signed"}}}} (or "positive").

  pasta data check pasta --root ROOT            opens every file and says what is wrong
  pasta profile use released --root ROOT        takes it up; --lenient leaves broken entries out
  dvc repro                                     embeddings, labels, score, analyses and reports

Later votes are added by `pasta study ratings import FILE`."""


@app.command()
def check(
    name: Name,
    root: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="where the original files are")
    ] = None,
) -> None:
    """Say what is there and what is missing: the originals below ROOT, and the built tables.

    `pasta data check pasta --root FOLDER` opens every file of a release of rated explanations.
    """
    if name == RELEASE:
        _check_release(root)
        return
    from pasta.commands.show import STATES, console, print_table
    from pasta.config import load_params
    from pasta.datasets.vocabulary import vocabulary
    from pasta.paths import project_root

    words = vocabulary(name)
    section = load_params().datasets[name]
    console().print(_introduction(words, section.source))
    folder = root
    if folder is None and section.source == "files":
        folder = project_root() / str(section.root)
    if folder is None:
        _print_built(name)
        return
    from pasta.datasets.files.check import CLASS_FOLDERS, LAYOUTS, inspect

    findings = inspect(name, folder)
    rows = [(f.what, STATES[f.state], f.detail, f.fix) for f in findings]
    print_table(f"Original files below {folder}", ("what", "state", "found", "to do"), rows)
    if any(finding.state == "missing" for finding in findings):
        console().print(f"Expected layout:\n{LAYOUTS.get(name, CLASS_FOLDERS)}")
    if any(finding.state != "ok" for finding in findings):
        raise typer.Exit(1)


@app.command()
def fetch(
    name: Name,
    root: Annotated[Path | None, typer.Option(metavar="FOLDER", help="where to put it")] = None,
    edition: Annotated[
        str | None, typer.Option(metavar="NAME", help="pascalpart: semantic, with merged parts")
    ] = None,
) -> None:
    """Download the originals from their official source, with resume and checksums.

    `pasta data fetch pasta` loads the released PASTA dataset: rated explanations, with their images
    and votes, from the Hugging Face hub.
    """
    from pasta.commands.show import console
    from pasta.datasets.files.fetch import fetch as download
    from pasta.datasets.vocabulary import vocabulary
    from pasta.paths import DATA, project_root

    target = root or project_root() / DATA / "raw" / name
    if name == RELEASE:
        from pasta.datasets.files.hub import fetch_release

        folder = fetch_release(target)
        console().print(f"[green]ready[/] {folder}", soft_wrap=True)
        console().print(f"`pasta profile use released --root {folder}` takes it up", soft_wrap=True)
        return
    vocabulary(name)
    for file in download(name, target, edition):
        console().print(f"[green]ready[/] {file}")
    console().print(f"`pasta data check {name} --root {target}` looks at what came.")


@app.command()
def describe() -> None:
    """Say what a folder must hold so that rated explanations, anybody's, can be used here."""
    from pasta.datasets.released import LAYOUT
    from pasta.datasets.vocabulary import VOCABULARIES

    typer.echo(f"{DESCRIPTION.format(layout=LAYOUT, datasets=', '.join(VOCABULARIES))}")


def _check_release(root: Path | None) -> None:
    """Read every file of a release, as the stages will."""
    from pasta.commands.show import STATES, console, print_table
    from pasta.config import load_params
    from pasta.datasets.released import read_release
    from pasta.explanations.released import find_problems
    from pasta.paths import project_root

    settings = load_params().release
    folder = root or project_root() / settings.root
    release = read_release(folder, lenient=True)
    problems = [*release.left_out, *find_problems(release)]
    datasets = dict.fromkeys(entry.dataset for entry in release.entries)
    rows = []
    for name in datasets:
        own = release.of(name)
        maps = sum(entry.kind == "saliency" for entry in own)
        copies = sum(entry.copy is not None for entry in own)
        seen = sum(entry.picture is not None for entry in own)
        images = len({entry.image_id for entry in own})
        rows.append((name, images, len(own), maps, len(own) - maps, seen, copies))
    columns = ("dataset", "images", "explanations", "maps", "concepts", "pictures", "copies")
    print_table(f"Release in {folder}", columns, rows, numbers=columns[1:])
    for problem in problems:
        state = STATES["problem"]
        console().print(f"{state} ", end="")
        console().print(str(problem), markup=False, highlight=False, soft_wrap=True)
    if problems:
        console().print(f"{len(problems):,} entries cannot be used; `--lenient` leaves them out")
        raise typer.Exit(1)
    console().print(f"`pasta profile use released --root {folder}` takes it up", soft_wrap=True)


@app.command()
def rehearse(
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FOLDER]", help="where to put them; default: where the profile rehearsal looks"
        ),
    ] = None,
    train: Annotated[int, typer.Option(min=2, help="images of each class to train on")] = 2,
    validation: Annotated[int, typer.Option(min=1, help="images of each class to validate")] = 1,
    test: Annotated[
        int, typer.Option(min=1, help="images of each class to test on; six of a dataset at least")
    ] = 1,
) -> None:
    """Write small datasets of drawings in the true layouts, to try an experiment before the data
    and the GPU are there.

    All four datasets with all their classes, a few images of each, as the authors' archives leave
    them; `pasta profile use rehearsal` and `dvc repro` then run the papers' architectures on them,
    with random weights.
    """
    from pasta.commands.show import console
    from pasta.datasets.rehearsal import WRITERS, write_rehearsal
    from pasta.paths import DATA, project_root
    from pasta.progress import bar

    target = folder or project_root() / DATA / "rehearsal"
    with bar("datasets", len(WRITERS), "datasets") as line:
        for name in WRITERS:
            number = write_rehearsal(name, target / name, (train, validation, test))
            line.advance(words=f"{name}: {number} images")
    console().print(
        f"[green]ready[/] {', '.join(WRITERS)} below {target}\n"
        f"`pasta data check {name} --root {target / name}` looks at what is there."
    )


def _introduction(words: Vocabulary, source: str) -> str:
    origin = "drawn by this repository" if source == "drawn" else "read from original files"
    return (
        f"\n[bold]{words.title}[/] ({words.dataset}): {len(words.classes)} classes, "
        f"{len(words.concepts)} concepts, {origin} in this profile"
    )


def _print_built(name: str) -> None:
    from pasta.commands.show import print_table
    from pasta.datasets.stored import CONCEPTS, IMAGES, open_dataset
    from pasta.errors import PastaError
    from pasta.paths import project_root, stage_folder
    from pasta.pinned import require_pinned

    folder = stage_folder("images") / name
    if not (folder / IMAGES).exists():
        raise PastaError(f"nothing of {name} is drawn yet; `dvc repro images@{name}` does it")
    root = project_root()
    require_pinned([folder.relative_to(root).as_posix()], root)
    data = open_dataset(folder)
    splits = ["train", "validation", "test"]
    counts = data.images.pivot_table("row", "label", "split", "count", fill_value=0)
    rows = [(label, *counts.loc[label, splits]) for label in counts.index]
    print_table("Images", ("class", *splits), rows, numbers=splits)
    print_table("On disk", ("file", "state", "content"), _disk_rows(folder, data.parts.shape))
    if (folder / CONCEPTS).exists():
        _print_concepts(data.concepts())


def _disk_rows(folder: Path, shape: tuple[int, ...]) -> Iterator[tuple[str, str, str]]:
    from pasta.commands.show import STATES

    pixels = " x ".join(map(str, shape))
    contents = {
        "images.npy": f"{pixels} x 3, one byte each",
        "parts.npy": f"{pixels}, the concept each pixel shows",
        "images.parquet": f"{shape[0]:,} images",
        "regions.parquet": "every visible instance with its box",
        "concepts.parquet": "every image x concept",
    }
    for file, content in contents.items():
        yield file, STATES["ok" if (folder / file).exists() else "missing"], content


def _print_concepts(concepts: pd.DataFrame) -> None:
    from pasta.commands.show import print_table

    found = concepts.groupby("concept").agg(images=("present", "sum"), share=("share", "mean"))
    found = found.sort_values("images", ascending=False)
    rows = [(c, f"{n:,}", f"{s:.2%}") for c, n, s in found.head(8).itertuples(name=None)]
    missing = [str(name) for name in found.index[found["images"] == 0]]
    caption = f"Never seen: {', '.join(missing)}" if missing else "Every concept is seen."
    columns = ("concept", "images", "pixels")
    print_table("Most frequent concepts", columns, rows, numbers=columns[1:], caption=caption)
