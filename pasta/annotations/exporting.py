"""Stored annotations in the formats that can be imported again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from pasta.annotations.formats.folders import new_folder
from pasta.annotations.formats.label_studio_project import write_labelling_config
from pasta.annotations.formats.label_studio_writing import write_label_studio
from pasta.annotations.formats.releasing import Rated, write_released
from pasta.annotations.formats.tidy_writing import write_tidy
from pasta.annotations.protocol import Protocol
from pasta.annotations.records import Annotations
from pasta.annotations.views import Views
from pasta.progress import Bar, bar

TASKS, CONFIGURATION = "tasks.json", "config.xml"


def write_exports(
    annotations: Annotations,
    out: Path,
    form: str,
    protocol: Protocol,
    folders: Sequence[Path],
) -> None:
    """Write one format into a new folder, or ``all`` into folders of their own below it.

    ``folders`` are those of the datasets, for the pictures of a release; without them only its
    JSON is written.
    """
    writers: dict[str, Callable[[Path], None]] = {
        "tidy": lambda place: write_tidy(annotations, place, protocol.version),
        "released": lambda place: _released(annotations, place, protocol, folders),
        "label_studio": lambda place: _label_studio(annotations, place, protocol),
    }
    if form != "all":
        writers[form](out)
        return
    with new_folder(out) as temporary:
        for name, write in writers.items():
            write(temporary / name)


def _released(
    annotations: Annotations, place: Path, protocol: Protocol, folders: Sequence[Path]
) -> None:
    if not folders:
        write_released(annotations, place, None, protocol.version)
        return
    samples = annotations.votes["sample_id"].nunique()
    with bar("pictures", samples, "samples") as line:
        seen = _counted(Views(folders).rated, line)
        write_released(annotations, place, seen, protocol.version)


def _counted(rated: Callable[[str], Rated], line: Bar) -> Callable[[str], Rated]:
    def one(sample: str) -> Rated:
        line.advance()
        return rated(sample)

    return one


def _label_studio(annotations: Annotations, place: Path, protocol: Protocol) -> None:
    """Tasks with their answers, and the form that asks for them."""
    with new_folder(place) as temporary:
        write_label_studio(annotations, temporary / TASKS, protocol)
        write_labelling_config(protocol, temporary / CONFIGURATION)
