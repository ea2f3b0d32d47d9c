"""The tables on disk that a report declares to read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd

from analysis.tables import Tables, joined
from pasta import store
from pasta.errors import PastaError
from pasta.paths import DATA, FIGURES, SECONDS
from pasta.registry import Registry
from pasta.studies.ratings.protocol import Protocol, load_protocol
from pasta.studies.ratings.settings import NAME
from pasta.studies.source import Source, common_source, read_source
from reports.source.replication.collected import beside_papers
from reports.source.replication.rows import published_tables
from reports.source.replication.table import replication_table
from reports.source.setting import Setting, read_setting
from reports.source.typesetting import Report

VOTES, SCORE, HEADLINES = f"votes/{NAME}", "score", "headlines"
LATEC = "analyse/latec"
JOINS = "joins"
COMPARED = "compared"  # the numbers of two versions
ANALYSE = "analyse/"
ANALYSES = tuple(
    f"{ANALYSE}{name}"
    for name in ("dataset", "agreement", "bias", "preference", "correlation", "latec")
)
OTHERS = (f"{ANALYSE}utility", f"{ANALYSE}attention")  # made from other answers than ratings
APPLICATIONS = tuple(
    f"applications/{name}" for name in ("mixture", "steering", "backbones", "tuning")
)


@dataclass(frozen=True)
class Data:
    """The tables of a project, read when they are first used.

    Attributes
    ----------
    root
        The folder of the project.
    reads
        Folders below ``pipelines/data``; no other is looked into, so that what a report declares
        is what it depends on.
    figures
        Pictures of ``reports/figures`` that are shown.
    others
        Further folders, of other studies: they are made from other answers.
    """

    root: Path
    reads: tuple[str, ...]
    figures: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    @cached_property
    def parts(self) -> dict[str, Tables]:
        """The tables of analyses that have run, by name, and of the score.

        Those on bias stand with those on agreement.
        """
        every = (*self.reads, *self.others)
        own = (one for one in every if one.startswith(ANALYSE) or one == JOINS)
        tables = self._tables((*own, SCORE))
        if "bias" in tables:
            tables["agreement"] = joined(tables.get("agreement", {}), tables.pop("bias"))
        return tables

    @cached_property
    def applications(self) -> dict[str, Tables]:
        """The tables of applications that have run, by name."""
        return self._tables(APPLICATIONS)

    @cached_property
    def compared(self) -> pd.DataFrame | None:
        """The numbers of the version before and of this one; None if there is none before."""
        found = self._tables((HEADLINES,)).get(HEADLINES, {}).get(COMPARED)
        if found is None:
            return None
        found[["name", "of"]] = found[["name", "of"]].fillna("")
        return found if found["before"].notna().any() else None

    @cached_property
    def published(self) -> Tables:
        """What the papers print."""
        return published_tables()

    @cached_property
    def replication(self) -> pd.DataFrame:
        """Every number that the papers print, beside ours."""
        ours = beside_papers(self.parts, self.applications, self.setting.choices)
        file = self.root / SECONDS
        if file.is_file():
            ours["seconds"] = pd.read_csv(file)
        return replication_table(self.published, ours)

    @cached_property
    def source(self) -> Source:
        """The votes that everything was made from; an error if these are not the same for all."""
        folders = [self.root / DATA / one for one in self.reads]
        there = [folder for folder in folders if folder.is_dir()]
        if not there:
            raise PastaError(f"{self.root / DATA}: no results yet, `dvc repro` makes them")
        return common_source(there)

    @property
    def simulated(self) -> bool:
        """Whether there is a simulated vote among all."""
        return self.source.simulated

    @property
    def others_simulated(self) -> bool:
        """Whether there is a simulated answer among those of the other studies."""
        folders = [self.root / DATA / one for one in self.others]
        return any(read_source(folder).simulated for folder in folders if folder.is_dir())

    @cached_property
    def setting(self) -> Setting:
        """What the parameters say that every report repeats."""
        return read_setting(self.root)

    @cached_property
    def protocol(self) -> Protocol:
        """What annotators of this study were asked."""
        return load_protocol(self.setting.protocol)

    @property
    def pictures(self) -> dict[str, Path]:
        """Declared figures that were drawn, and the pictures of other folders, by name."""
        files = [self.root / FIGURES / name for name in self.figures]
        own = (one for one in self.reads if one in APPLICATIONS or one.startswith(ANALYSE))
        for folder in own:
            files += sorted((self.root / DATA / folder / "pictures").glob("*.jpg"))
        return {file.stem: file for file in files if file.is_file()}

    def _tables(self, folders: tuple[str, ...]) -> dict[str, Tables]:
        _ = self.source  # nothing is read before it is known to belong together
        own = {
            one.rpartition("/")[2]: self.root / DATA / one
            for one in folders
            if one in (*self.reads, *self.others)
        }
        return {name: store.read_csvs(folder) for name, folder in own.items() if folder.is_dir()}


REPORTS: Registry[Callable[[Data], Report]] = Registry("report")
