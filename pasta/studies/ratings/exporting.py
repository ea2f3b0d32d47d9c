"""Out to people: stored annotations in every format, and Label Studio projects from a plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from PIL import Image

from pasta.errors import InputError
from pasta.explanations.stored import STRENGTHS
from pasta.json_files import new_folder
from pasta.layout import Group
from pasta.progress import bar
from pasta.studies.base import Frames, Study
from pasta.studies.ratings.label_studio import (
    write_label_studio,
    write_labelling_config,
    write_tasks,
)
from pasta.studies.ratings.protocol import Protocol
from pasta.studies.ratings.rateable import Views
from pasta.studies.ratings.released import Rated, View, write_released
from pasta.studies.reading import write_tidy

TASKS, CONFIGURATION = "tasks.json", "config.xml"
ADDRESS = "/data/local-files/?d="  # how Label Studio serves files of a local storage
_COLUMNS = ("sample_id", "annotator_id", "position")


def write_exports(
    annotations: Frames,
    out: Path,
    form: str,
    study: Study,
    protocol: Protocol,
    groups: Sequence[Group],
) -> None:
    """Write one format into a new folder, or ``all`` into folders of their own below it.

    ``groups`` have the pictures of a release; without them only its JSON is written.
    """
    writers: dict[str, Callable[[Path], None]] = {
        "tidy": lambda place: write_tidy(study, annotations, place),
        "released": lambda place: _released(annotations, place, protocol, groups),
        "label_studio": lambda place: _label_studio(annotations, place, protocol),
    }
    if form != "all":
        writers[form](out)
        return
    with new_folder(out) as temporary:
        for name, write in writers.items():
            write(temporary / name)


def _released(
    annotations: Frames, place: Path, protocol: Protocol, groups: Sequence[Group]
) -> None:
    if not groups:
        write_released(annotations, place, protocol.version)
        return
    samples = annotations["votes"]["sample_id"].nunique()
    views = Views(groups)
    with bar("pictures", samples, "samples") as line:

        def rated(sample: str) -> Rated:
            line.advance()
            return views.rated(sample)

        write_released(annotations, place, protocol.version, rated)


def _label_studio(annotations: Frames, place: Path, protocol: Protocol) -> None:
    """Tasks with their answers, and the form that asks for them."""
    with new_folder(place) as temporary:
        write_label_studio(annotations, temporary / TASKS, protocol)
        write_labelling_config(protocol, temporary / CONFIGURATION)


def write_project(plan_file: Path, out: Path, groups: Sequence[Group], protocol: Protocol) -> int:
    """Write the folder of a project, all or nothing; returns the number of tasks."""
    plan = read_plan(plan_file)
    views = Views(groups)
    samples = list(dict.fromkeys(plan["sample_id"]))
    unknown = [one for one in samples if one not in views]
    if unknown:
        row = int(plan.index[plan["sample_id"] == unknown[0]][0]) + 2
        expected = "a sample of the explanations table"
        problem = f"found {unknown[0]!r}"
        raise InputError(problem, file=plan_file, row=row, column="sample_id", expected=expected)
    assigned = {str(name): list(own) for name, own in plan.groupby("sample_id")["annotator_id"]}
    with new_folder(out) as temporary, bar("pictures", len(samples), "samples") as line:

        def pictures(sample: str) -> dict[str, str]:
            line.advance()
            return _save(views, sample, temporary, out.name)

        write_tasks(
            samples,
            temporary / TASKS,
            protocol,
            views.predicted,
            pictures,
            assigned,
        )
        write_labelling_config(protocol, temporary / CONFIGURATION)
    return len(samples)


def read_plan(file: Path) -> pd.DataFrame:
    """A plan as `pasta annotations plan --out` writes it."""
    try:
        plan = pd.read_csv(file, dtype=str)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read: {error}", file=file, expected="a plan") from error
    if tuple(plan.columns) != _COLUMNS:
        found = ", ".join(map(str, plan.columns))
        raise InputError(
            f"found the columns {found}", file=file, row=1, expected=", ".join(_COLUMNS)
        )
    return plan


def _save(views: Views, sample: str, folder: Path, name: str) -> dict[str, str]:
    """The pictures of a task, by their keys."""
    place = sample.replace("/", "_")
    original = views.view(sample)
    made = {"image": original.image, "explanation": original.picture}
    for strength in STRENGTHS:
        made[f"{strength}_original"] = _beside(original)
        made[f"{strength}_changed"] = _beside(views.view(sample, strength))
    (folder / "pictures").mkdir(exist_ok=True)
    for key, pixels in made.items():
        Image.fromarray(np.asarray(pixels)).save(folder / "pictures" / f"{place}.{key}.png")
    return {key: f"{ADDRESS}{name}/pictures/{place}.{key}.png" for key in made}


def _beside(view: View) -> NDArray[np.uint8]:
    """An image and its explanation next to each other, equally high."""
    picture = Image.fromarray(np.asarray(view.picture))
    side = picture.height
    canvas = Image.new("RGB", (side + 8 + picture.width, side), "white")
    canvas.paste(Image.fromarray(view.image).resize((side, side), Image.Resampling.LANCZOS))
    canvas.paste(picture, (side + 8, 0))
    return np.asarray(canvas)
