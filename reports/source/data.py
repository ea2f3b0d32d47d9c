"""The tables on disk that a report declares to read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd

from analysis.tables import Tables, joined
from pasta import store
from pasta.config import Params, load_params
from pasta.errors import PastaError
from pasta.explanations.techniques import BACKBONE_TITLES
from pasta.paths import DATA, FIGURES, PARAMS
from pasta.registry import Registry
from pasta.studies.ratings.protocol import Protocol, load_protocol
from pasta.studies.ratings.settings import NAME
from pasta.studies.source import Source, common_source
from reports.source.names import dataset_name
from reports.source.replication.collected import collect_facts, kernel_widths
from reports.source.replication.rows import published_tables
from reports.source.replication.table import replication_table
from reports.source.typesetting import Report

VOTES, SCORE, HEADLINES = f"votes/{NAME}", "score", "headlines"
COMPARED = "compared"  # the numbers of two versions
ANALYSES = tuple(
    f"analyse/{name}" for name in ("dataset", "agreement", "bias", "preference", "correlation")
)
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
    """

    root: Path
    reads: tuple[str, ...]
    figures: tuple[str, ...] = ()

    @cached_property
    def parts(self) -> dict[str, Tables]:
        """The tables of analyses that have run, by name, and of the score.

        Those on bias stand with those on agreement.
        """
        tables = self._tables((*ANALYSES, SCORE))
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
        return replication_table(self.published, beside_papers(self.parts, self.applications))

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

    @cached_property
    def drawn(self) -> list[str]:
        """The datasets whose images are drawn by a program."""
        datasets = self.params.datasets.items()
        return [dataset_name(name) for name, one in datasets if one.source == "drawn"]

    @property
    def random(self) -> list[str]:
        """The networks whose weights are random where pretrained ones belong."""
        return [BACKBONE_TITLES.get(name, name) for name in self.params.random_weights]

    @cached_property
    def params(self) -> Params:
        """The parameters of the project."""
        return load_params(self.root / PARAMS)

    @cached_property
    def protocol(self) -> Protocol:
        """What annotators of this study were asked."""
        return load_protocol(self.params.annotations.protocol)

    @property
    def pictures(self) -> dict[str, Path]:
        """Declared figures that were drawn, and the pictures of applications, by name."""
        files = [self.root / FIGURES / name for name in self.figures]
        for folder in (one for one in APPLICATIONS if one in self.reads):
            files += sorted((self.root / DATA / folder / "pictures").glob("*.jpg"))
        return {file.stem: file for file in files if file.is_file()}

    def _tables(self, folders: tuple[str, ...]) -> dict[str, Tables]:
        _ = self.source  # nothing is read before it is known to belong together
        own = {
            one.rpartition("/")[2]: self.root / DATA / one for one in folders if one in self.reads
        }
        return {name: store.read_csvs(folder) for name, folder in own.items() if folder.is_dir()}


def beside_papers(parts: Mapping[str, Tables], applications: Mapping[str, Tables]) -> Tables:
    """The tables that stand beside the papers' numbers, by the names the replication uses."""
    names = {
        "correlations": ("correlation", "correlations"),
        "values": ("correlation", "values"),
        "score": ("score", "summary"),
        "technique_scores": ("preference", "technique_scores"),
        "positions": ("preference", "positions"),
        "kind_differences": ("preference", "kind_differences"),
        "backbone_differences": ("preference", "backbone_differences"),
    }
    found = {
        name: parts[part][table]
        for name, (part, table) in names.items()
        if table in parts.get(part, {})
    }
    found["facts"] = collect_facts(parts, applications)
    tried = applications.get("tuning", {}).get("candidates")
    return found if tried is None else found | {"kernel_width": kernel_widths(tried)}


REPORTS: Registry[Callable[[Data], Report]] = Registry("report")
