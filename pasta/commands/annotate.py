"""`pasta data label`, `boxes` and `split`: what the papers made of the images they had."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    import pandas as pd

    from pasta.datasets.files.cats_dogs_cars import ClassFolders

Root = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help="where the images are; default: where `fetch` puts them"),
]
Lenient = Annotated[bool, typer.Option("--lenient", help="leave out what cannot be read")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="replace the table that is there")]


def label(
    name: Annotated[str, typer.Argument(metavar="NAME", help="coco")],
    root: Root = None,
    weights: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|URL|random",
            help="of the network; default: what the authors of Places365 publish",
        ),
    ] = None,
    network: Annotated[str, typer.Option(metavar="NAME", help="resnet50 or resnet18")] = "resnet50",
    indoor: Annotated[
        float,
        typer.Option(min=0.0, max=1.0, help="probability of indoor scenes above which one is used"),
    ] = 0.5,
    batch: Annotated[int, typer.Option(min=1, help="images that the network sees at a time")] = 64,
    lenient: Lenient = False,
    overwrite: Overwrite = False,
) -> None:
    """Label the indoor images of COCO with one of six kinds of places: `scene_labels.csv`.

    A Places365 network looks at each of the 122,000 images that have objects. An image is indoor
    if indoor scenes have more than half of the probability; its label is the kind of place whose
    scenes have most of it. `scenes.csv` says what the network saw in every image. P1 has 53,051
    indoor images, labelled by a network that is not published: the numbers will differ.

    Killed? Start it again: it goes on where it was. On a few cores it takes some hours.
    """
    from pasta.commands.show import console, note, print_table
    from pasta.config import load_params
    from pasta.datasets.files.coco import PARTS
    from pasta.datasets.files.published import PUBLISHED
    from pasta.datasets.files.scenes import RANDOM, SceneNetwork, find_weights, label_coco
    from pasta.datasets.vocabulary import vocabulary

    _require(name, "coco", "has labels of its own: only coco needs those of scenes")
    found = find_weights(network, weights)
    used = SceneNetwork(network, found, load_params().seeds.training)
    folder = _root(name, root)
    with _small_memory():
        table, left_out = label_coco(
            folder, used, indoor=indoor, batch=batch, lenient=lenient, overwrite=overwrite
        )
    if found == RANDOM:
        note("random weights: these labels mean nothing")
    counts = table.pivot_table("image_id", "label", "folder", "count", fill_value=0)
    folders = [folder for folder, _ in PARTS]
    counts = counts.reindex(index=[*vocabulary("coco").classes, ""], columns=folders, fill_value=0)
    rows = [
        (kind or "not indoor, not used", *(f"{number:,}" for number in counts.loc[kind]))
        for kind in counts.index
    ]
    print_table("Images", ("kind of place", *folders), rows, numbers=folders)
    _print_left_out(left_out)
    inside = int((table["label"] != "").sum())
    console().print(
        f"{inside:,} of {len(table):,} images are indoor ({PUBLISHED['coco'].say()}).\n"
        f"[green]ready[/] {folder / 'scene_labels.csv'}; {folder / 'scenes.csv'} to look over\n"
        f"`pasta data check coco --root {folder}` looks at it all."
    )


def boxes(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="catsdogscars, or yours in class folders")
    ],
    root: Root = None,
    model: Annotated[
        str, typer.Option(metavar="NAME|FOLDER", help="on the Hugging Face hub, or in its layout")
    ] = "IDEA-Research/grounding-dino-base",
    weights: Annotated[
        str, typer.Option(metavar="pretrained|random", help="random ones show that all works")
    ] = "pretrained",
    threshold: Annotated[float, typer.Option(min=0.0, max=1.0, help="least score of a box")] = 0.3,
    overlap: Annotated[
        float,
        typer.Option(min=0.0, max=0.95, help="of two boxes of one concept (IoU) that both stay"),
    ] = 0.5,
    at_once: Annotated[int, typer.Option(min=1, help="phrases in a prompt")] = 13,
    batch: Annotated[int, typer.Option(min=1, help="images that the network sees at a time")] = 4,
    sample: Annotated[int, typer.Option(min=1, help="images of each class on the sheet")] = 40,
    only_sheet: Annotated[
        bool, typer.Option("--only-sheet", help="draw the boxes that are there anew")
    ] = False,
    lenient: Lenient = False,
    overwrite: Overwrite = False,
) -> None:
    """Find the concepts of a dataset in its images with Grounding DINO: `boxes.csv`.

    Each of the 39 concepts is looked for by its name, a few in a prompt, in every image. A box
    counts if the mean score of its phrase's words reaches the threshold; of overlapping boxes of
    one concept the best stays. `boxes.pdf` shows a random sample of each class: P1 looked over all
    boxes by hand. Correct the table in any editor, and draw the sheet again with --only-sheet.

    Killed? Start it again: it goes on where it was. Each image is seen once for each prompt: the
    network is for GPUs.
    """
    from pasta.commands.show import console, note, print_table
    from pasta.config import load_params
    from pasta.datasets.files import file_source
    from pasta.datasets.files.box_sheets import write_sheet
    from pasta.datasets.files.cats_dogs_cars import BOXES, ClassFolders
    from pasta.errors import PastaError
    from pasta.extras import require_extra

    require_extra("vlm", "`pasta data boxes`")
    if weights not in ("pretrained", "random"):
        raise typer.BadParameter(
            f"{weights!r}: expected pretrained or random", param_hint="weights"
        )
    seeds = load_params().seeds
    folder = _root(name, root)
    source = file_source(name, folder, seeds.splitting)
    if not isinstance(source, ClassFolders):
        raise PastaError(f"{name} has annotations of its own: boxes are for class folders")
    if not only_sheet:
        found, left_out = _find_boxes(
            source,
            model,
            weights == "random",
            seeds.training,
            threshold=threshold,
            overlap=overlap,
            at_once=at_once,
            batch=batch,
            lenient=lenient,
            overwrite=overwrite,
        )
        labels = {source.relative(one.path): one.label for one in source.pictures.values()}
        classes = source.vocabulary.classes
        print_table(
            f"Images in which a concept was found, of {len(labels):,}",
            ("concept", "images", *classes, "boxes"),
            _concept_rows(found, labels, source.vocabulary.concepts, classes),
            numbers=("images", *classes, "boxes"),
        )
        _print_left_out(left_out)
        if weights == "random":
            note("random weights: these boxes mean nothing")
    sheet = write_sheet(source, sample, seeds.drawing)
    console().print(
        f"[green]ready[/] {folder / BOXES}; look over {sheet}\n"
        f"`pasta data check {name} --root {folder}` looks at it all."
    )


def split(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="monumai, pascalpart, or another without a split")
    ],
    train: Annotated[int, typer.Option(min=1, help="images to train on")],
    validation: Annotated[int, typer.Option(min=1, help="images to choose settings with")],
    test: Annotated[int, typer.Option(min=1, help="images to explain and to test on")],
    root: Root = None,
    overwrite: Overwrite = False,
) -> None:
    """Draw a split of exactly these sizes, with the classes in the same proportions: `split.csv`.

    Images beyond the sizes are left out. Without such a file 70, 10 and 20 % of the images train,
    validate and test. P1 says that MonuMAI has 908 images and the repository has 1,514: perhaps
    P1 counts the 60 % that its authors train on elsewhere. To train on as many:

        pasta data split monumai --train 908 --validation 303 --test 303
    """
    from pasta.commands.show import console, print_table
    from pasta.config import load_params
    from pasta.datasets.files import file_source
    from pasta.datasets.files.base import UNUSED
    from pasta.datasets.files.splitting import write_split

    folder = _root(name, root)
    source = file_source(name, folder, load_params().seeds.splitting)
    sizes = {"train": train, "validation": validation, "test": test}
    table = write_split(source, sizes, overwrite)
    counts = table.pivot_table("image_id", "label", "split", "count", fill_value=0)
    columns = [*sizes, UNUSED]
    counts = counts.reindex(columns=columns, fill_value=0)
    rows = [(label, *(f"{number:,}" for number in counts.loc[label])) for label in counts.index]
    print_table("Images", ("class", *columns), rows, numbers=columns)
    console().print(
        f"[green]ready[/] {folder / 'split.csv'}\n"
        f"If the images were built before, `dvc repro --force images@{name}` builds them anew."
    )


def _find_boxes(
    source: ClassFolders, model: str, random: bool, seed: int, **options: Any
) -> tuple[pd.DataFrame, list[str]]:
    from pasta.errors import PastaError

    try:
        from pasta.datasets.files.boxes import Detector, box_dataset
    except ModuleNotFoundError as error:
        if error.name != "transformers":
            raise
        raise PastaError(
            "Grounding DINO needs the library transformers: `pip install pasta-xai[vlm]`"
        ) from None
    with _small_memory():
        return box_dataset(source, Detector(model, random, seed), **options)


def _concept_rows(
    found: pd.DataFrame, labels: Mapping[str, str], concepts: Sequence[str], classes: Sequence[str]
) -> Iterator[tuple[object, ...]]:
    for concept in concepts:
        boxes = found[found["concept"] == concept]
        files = boxes["file"].unique()
        seen = [labels[file] for file in files]
        numbers = (len(files), *(seen.count(label) for label in classes), len(boxes))
        yield (concept, *(f"{number:,}" for number in numbers))


def _require(name: str, wanted: str, otherwise: str) -> None:
    from pasta.datasets.vocabulary import vocabulary
    from pasta.errors import PastaError

    if vocabulary(name).dataset != wanted:
        raise PastaError(f"{name} {otherwise}")


def _root(name: str, root: Path | None) -> Path:
    from pasta.paths import DATA, project_root

    return root or project_root() / DATA / "raw" / name


def _print_left_out(left_out: list[str]) -> None:
    from pasta.commands.show import console

    for problem in left_out:
        console().print(f"left out: {problem}", markup=False, soft_wrap=True)


@contextmanager
def _small_memory() -> Iterator[None]:
    """Say what to do when a GPU has too little memory."""
    import torch

    from pasta.errors import PastaError

    try:
        yield
    except torch.OutOfMemoryError as error:
        raise PastaError(
            f"the device has too little memory ({str(error).splitlines()[0]}). A smaller --batch "
            "needs less; what is finished is kept"
        ) from None
