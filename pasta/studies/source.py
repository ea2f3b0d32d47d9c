"""Which answers a result was made from, as data beside the result.

The stage `votes` leaves a note in its folder: who answered, and a digest of the answers. Every
stage that uses the answers leaves the same note beside its own results. Results belong together if
their notes are equal, whoever built them, in whichever order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from pasta import store
from pasta.errors import PastaError

FILE = "source.json"
Origin = Literal["people", "simulated", "people and simulated"]


@dataclass(frozen=True)
class Source:
    """Who answered, and the md5 of the tables with the answers."""

    origin: Origin
    md5: str

    @property
    def simulated(self) -> bool:
        """Whether there is a simulated answer among all."""
        return self.origin != "people"

    def __str__(self) -> str:
        votes = {"people": "people's votes", "simulated": "simulated votes"}
        return f"{votes.get(self.origin, 'votes of people and simulated ones')} {self.md5[:10]}"


def describe_source(folder: Path, simulated: float) -> Source:
    """The source of everything that is made from the tables in a folder.

    Parameters
    ----------
    folder
        Where the answers are, as Parquet files.
    simulated
        The share of simulated answers.
    """
    digest = hashlib.md5(usedforsecurity=False)
    for file in sorted(folder.glob("*.parquet")):
        digest.update(file.name.encode())
        digest.update(file.read_bytes())
    origin: Origin = "people" if simulated == 0 else "people and simulated"
    return Source("simulated" if simulated == 1 else origin, digest.hexdigest())


def write_source(source: Source, folder: Path) -> None:
    """Leave a source beside what was made from it."""
    store.write_json(asdict(source), folder / FILE)


def read_source(folder: Path) -> Source:
    """The source of what is in a folder."""
    file = folder / FILE
    if not file.is_file():
        raise PastaError(
            f"{folder}: there is no {FILE}, so nobody knows from which votes this was made; "
            "`dvc repro` makes it anew"
        )
    return Source(**store.read_json(file))


def common_source(folders: Iterable[Path]) -> Source:
    """The one source of some folders; an error that names them if there are several."""
    found = {folder: read_source(folder) for folder in folders}
    if len(set(found.values())) > 1:
        each = "; ".join(f"{folder} from {source}" for folder, source in found.items())
        raise PastaError(
            f"these do not belong together, they were made from different votes: {each}. "
            "`dvc repro` brings them up to date"
        )
    return next(iter(found.values()))


def combine_sources(sources: Iterable[Source]) -> Source:
    """The source of what is made from the answers of several studies."""
    known = list(sources)
    digest = hashlib.md5(usedforsecurity=False)
    for one in known:
        digest.update(one.md5.encode())
    origins = {one.origin for one in known}
    origin: Origin = next(iter(origins)) if len(origins) == 1 else "people and simulated"
    return Source(origin, digest.hexdigest())
