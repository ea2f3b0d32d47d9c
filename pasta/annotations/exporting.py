"""Stored annotations in the formats that can be imported again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from pasta.annotations.formats.files import new_folder
from pasta.annotations.formats.label_studio_writing import (
    write_label_studio,
    write_labelling_config,
)
from pasta.annotations.formats.releasing import Rated, write_released
from pasta.annotations.formats.tidy import write_tidy
from pasta.annotations.protocol import Protocol
from pasta.annotations.rateable import Views
from pasta.annotations.records import Annotations
from pasta.layout import Group
from pasta.progress import bar

TASKS, CONFIGURATION = "tasks.json", "config.xml"


def write_exports(
    annotations: Annotations,
    out: Path,
    form: str,
    protocol: Protocol,
    groups: Sequence[Group],
) -> None:
    """Write one format into a new folder, or ``all`` into folders of their own below it.

    ``groups`` have the pictures of a release; without them only its JSON is written.
    """
    writers: dict[str, Callable[[Path], None]] = {
        "tidy": lambda place: write_tidy(annotations, place, protocol.version),
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
    annotations: Annotations, place: Path, protocol: Protocol, groups: Sequence[Group]
) -> None:
    if not groups:
        write_released(annotations, place, protocol.version)
        return
    samples = annotations.votes["sample_id"].nunique()
    views = Views(groups)
    with bar("pictures", samples, "samples") as line:

        def rated(sample: str) -> Rated:
            line.advance()
            return views.rated(sample)

        write_released(annotations, place, protocol.version, rated)


def _label_studio(annotations: Annotations, place: Path, protocol: Protocol) -> None:
    """Tasks with their answers, and the form that asks for them."""
    with new_folder(place) as temporary:
        write_label_studio(annotations, temporary / TASKS, protocol)
        write_labelling_config(protocol, temporary / CONFIGURATION)
