"""Check a dataset's folder: what is there, what is missing and what to do about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pasta.datasets.files import FileSource, file_source
from pasta.datasets.files.published import PUBLISHED
from pasta.datasets.records import SPLITS, Item
from pasta.datasets.vocabulary import vocabulary
from pasta.errors import PastaError

SAMPLE = 50  # images that are decoded; all of COCO would take an hour

CLASS_FOLDERS = """\
ROOT/
├── train/<class>/*.jpg
├── test/<class>/*.jpg
├── boxes.csv          optional: file,concept,x0,y0,x1,y1 (in pixels, file as train/<class>/1.jpg)
└── split.csv          optional: image_id,split (or unused)"""
LAYOUTS: dict[str, str] = {
    "coco": """\
ROOT/
├── annotations/
│   ├── instances_train2017.json
│   └── instances_val2017.json
├── train2017/*.jpg
├── val2017/*.jpg
├── scene_labels.csv   image_id,label (the COCO id and one of the 6 scenes)
└── split.csv          optional: image_id,split (or unused)""",
    "pascalpart": """\
ROOT/
├── Annotations_Part/*.mat                  PASCAL-Part
├── VOCdevkit/VOC2010/JPEGImages/*.jpg      PASCAL VOC 2010
└── split.csv                               optional: image_id,split (or unused)
or, as boxes and with its own test images, semantic PASCAL-Part:
ROOT/                  or the folder semanticPascalPart in it
├── Annotations_trainval/*.xml
├── Annotations_test/*.xml
├── JPEGImages_trainval/*.jpg
├── JPEGImages_test/*.jpg
└── split.csv          optional: image_id,split (or unused)""",
    "catsdogscars": """\
ROOT/
├── train/
│   ├── cats/*.jpg
│   ├── dogs/*.jpg
│   └── cars/*.jpg
├── test/              the same three folders
├── boxes.csv          file,concept,x0,y0,x1,y1 (in pixels, file as train/cats/1.jpg)
└── split.csv          optional: image_id,split (or unused)""",
    **{
        name: f"ROOT/\n└── {name}.npz     or {name}_64.npz, as MedMNIST publishes them"
        for name in ("vesselmnist3d", "adrenalmnist3d", "organmnist3d")
    },
    "modelnet40": """\
ROOT/
├── airplane/
│   ├── train/*.off    or .ply; or points in .npz
│   └── test/*.off
├── ...                the same for 40 classes
└── split.csv          optional: image_id,split (or unused)
or, packed with 2,048 points each (needs the extra "volumes"):
ROOT/
├── ply_data_train*.h5
└── ply_data_test*.h5""",
    "shapenetpart": """\
ROOT/
├── 02691156/*.txt     rows of x, y, z, normal and part; or .npz, .off, .ply
├── ...                the same for 16 synsets
└── split.csv          optional: image_id,split (or unused)""",
    "coma": """\
ROOT/
├── <person>/          FaMoS and a number
│   ├── bareteeth/*.ply
│   └── ...            the same for 12 expressions
└── ...""",
    "monumai": """\
ROOT/                  or a clone with these folders in MonuMAI_dataset/
├── Baroque/
│   ├── *.jpg
│   └── xml/*.xml
├── Gothic/            the same
├── Hispanic-Muslim/   the same
├── Renaissance/       the same
└── split.csv          optional: image_id,split (or unused)""",
}
# What makes a file that no archive has.
MAKERS = {
    "scene_labels.csv": "`pasta data label coco --root {}` makes it",
    "boxes.csv": "`pasta data boxes catsdogscars --root {}` makes it",
}


@dataclass(frozen=True)
class Finding:
    """One line of a report on a dataset's folder."""

    what: str
    state: Literal["ok", "missing", "problem"]
    detail: str
    fix: str = ""


def inspect(dataset: str, root: Path) -> list[Finding]:
    """Report on a dataset's folder without loading all of it.

    Parameters
    ----------
    dataset
        A dataset with a vocabulary; an unknown one is the only error that is raised.
    root
        The folder, which may be missing, empty or full of something else.
    """
    source = file_source(vocabulary(dataset).dataset, root, 0)
    if not root.is_dir():
        fix = "create the folder in the layout shown, or download the dataset"
        return [Finding("folder", "missing", f"there is no folder {root}", fix)]
    findings = [_present(root, name) for name in source.required_paths()]
    for step in (_counts, _orphans, _sample):
        findings += _guarded(step, source)
        if findings[-1].what == "reading":
            break  # the later steps need the items and would only repeat the error
    return findings


def _present(root: Path, name: str) -> Finding:
    path = root / name
    if not path.exists():
        fix = MAKERS.get(name, f"put it at {path}").format(root)
        return Finding(name, "missing", f"there is no {path}", fix)
    if path.is_dir() and not any(path.iterdir()):
        return Finding(name, "problem", "the folder is empty", f"fill {path}")
    detail = "a folder" if path.is_dir() else f"{path.stat().st_size} bytes"
    return Finding(name, "ok", detail)


def _guarded(step: Callable[[FileSource], Iterator[Finding]], source: FileSource) -> list[Finding]:
    try:
        return list(step(source))
    except (PastaError, OSError) as error:
        fix = "correct or replace the file that the message names"
        return [Finding("reading", "problem", str(error), fix)]


def _counts(source: FileSource) -> Iterator[Finding]:
    items = source.items()
    counts = Counter((item.label, item.split) for item in items)
    for label in source.vocabulary.classes:
        numbers = {split: counts[label, split] for split in SPLITS}
        detail = ", ".join(f"{split} {number}" for split, number in numbers.items())
        empty = [split for split, number in numbers.items() if not number]
        if empty:
            fix = f"add images of {label}, or place some in {', '.join(empty)} with split.csv"
            yield Finding(f"class {label}", "problem", detail, fix)
        else:
            yield Finding(f"class {label}", "ok", detail)
    state: Literal["ok", "problem"] = "ok" if items else "problem"
    yield Finding("images", state, f"{len(items)} with a class", "" if items else "see the layout")
    published = PUBLISHED.get(source.dataset)
    if published is not None:
        yield Finding("published size", "ok", published.compare(items))
    if published is not None and published.folders:
        yield Finding("published folders", "ok", published.compare_folders(source.root))


def _orphans(source: FileSource) -> Iterator[Finding]:
    lonely = source.find_orphans()
    if lonely.images and source.complete:
        fix = "add the annotations, or remove the images"
        yield Finding("images without annotations", "problem", _some(lonely.images), fix)
    else:  # PASCAL VOC has more images than PASCAL-Part annotates, and a picture may show nothing
        yield Finding("images without annotations", "ok", _some(lonely.images))
    if lonely.annotations:
        fix = "add the images, or remove the annotations"
        yield Finding("annotations without images", "problem", _some(lonely.annotations), fix)
    else:
        yield Finding("annotations without images", "ok", "none")


def _some(names: Sequence[str]) -> str:
    if not names:
        return "none"
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{len(names)}: {', '.join(names[:3])}{more}"


def _sample(source: FileSource) -> Iterator[Finding]:
    """Load images that are spread evenly over the dataset."""
    items = source.items()
    chosen = items[:: max(-(-len(items) // SAMPLE), 1)]
    bad = [problem for problem in (_problem(source, item) for item in chosen) if problem]
    for problem in bad:
        fix = "replace the image or correct its annotation"
        yield Finding("sample", "problem", problem, fix)
    if not bad and chosen:
        yield Finding("sample", "ok", f"{len(chosen)} of {len(items)} images read")


def _problem(source: FileSource, item: Item) -> str | None:
    try:
        source.load(item, 64)
    except PastaError as error:
        return str(error)
    return None
