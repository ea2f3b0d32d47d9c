"""Where the stages of the pipeline keep their data: ``pipelines/data/<stage>/<item>/``.

A *group* is one dataset with some of its classifiers. It is the unit of the stages train, explain
and measure: a profile that trains for days has one backbone in a group, so that each can be run
again alone; the demo has one group a dataset.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pasta.config import Params, load_params
from pasta.errors import PastaError
from pasta.paths import DATA, project_root
from pasta.registry import did_you_mean


@dataclass(frozen=True)
class Group:
    """The folders of one group.

    Attributes
    ----------
    key
        Its name in the sections ``groups`` and ``models`` of the parameters.
    dataset
        The dataset it belongs to.
    data
        The folder of all data, usually ``pipelines/data``.
    """

    key: str
    dataset: str
    data: Path

    @property
    def images(self) -> Path:
        """Pixels, part masks and tables of the dataset (stage `images`)."""
        return self.data / "images" / self.dataset

    @property
    def models(self) -> Path:
        """A folder for each trained classifier, and their predictions (stage `train`)."""
        return self.data / "train" / self.key

    @property
    def explanations(self) -> Path:
        """Attributions of every technique, and their tables (stage `explain`)."""
        return self.data / "explain" / self.key

    @property
    def metrics(self) -> Path:
        """The table of metric values (stage `measure`)."""
        return self.data / "measure" / self.key

    @property
    def embeddings(self) -> Path:
        """Vectors of every explanation (stage `embed`)."""
        return self.data / "embed" / self.key


def groups(params: Params | None = None, root: Path | None = None) -> list[Group]:
    """The groups whose explanations people rate, in the order of the parameters."""
    home = root or project_root()
    known = params or load_params(home / "params.yaml")
    return [Group(key, dataset, home / DATA) for key, dataset in known.rated.items()]


def every_group(params: Params | None = None, root: Path | None = None) -> list[Group]:
    """All groups of classifiers, also those of the benchmark alone."""
    home = root or project_root()
    known = params or load_params(home / "params.yaml")
    return [Group(key, dataset, home / DATA) for key, dataset in known.groups.items()]


def find_group(key: str, params: Params | None = None, root: Path | None = None) -> Group:
    """One group by its key."""
    found = {one.key: one for one in every_group(params, root)}
    if key not in found:
        raise PastaError(f"there is no group of models {key!r}. {did_you_mean(key, found)}")
    return found[key]


def explained_groups(root: Path | None = None) -> list[Group]:
    """The groups whose explanations are there."""
    return [one for one in groups(root=root) if (one.explanations / TABLE).is_file()]


TABLE = "explanations.parquet"
