"""Vectors that the user brings: ``embedding: {encoder: given, weights: NAME}``.

``pipelines/vectors/NAME.npz`` holds the arrays ``vectors`` (n x width) and ``ids`` (the sample ids
of the rows); or ``NAME.npy`` holds the vectors and ``NAME.csv``, in its column ``sample_id``, the
ids. They take the place of what an encoder would say: each explanation that shows something must
have one. Nothing is scaled, and nothing can be shown to them in another way, so that studies of how
explanations are shown are left out.
"""

from __future__ import annotations

import hashlib
import zipfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta import store
from pasta.datasets.stored import open_dataset
from pasta.embedding.stored import GIVEN, Floats, techniques_of
from pasta.errors import InputError
from pasta.explanations.stored import StoredExplanations
from pasta.layout import Group
from pasta.paths import VECTORS
from pasta.text_files import read_csv

ID = "sample_id"
FORM = "arrays `ids` (n texts) and `vectors` (n x width)"


@dataclass(frozen=True)
class GivenVectors:
    """Vectors by sample id."""

    file: Path
    ids: pd.Index
    vectors: Floats  # n x width
    md5: str

    def about(self, size: int) -> dict[str, Any]:
        """What makes vectors comparable; ``size`` is that of the images, see ``Embedded``."""
        width = int(self.vectors.shape[1])
        return {"encoder": GIVEN, "md5": self.md5, "size": size, "width": width}


def read_given(name: str, root: Path) -> GivenVectors:
    """Read and check the vectors called ``name`` below the root of a project."""
    both, alone = root / VECTORS / f"{name}.npz", root / VECTORS / f"{name}.npy"
    if both.is_file():
        ids, vectors = _read_both(both)
        file = both
    elif alone.is_file():
        column = read_csv(alone.with_suffix(".csv"), (ID,), f"a header with {ID}").complete()
        if ID not in column:
            raise InputError("has no ids", file=alone.with_suffix(".csv"), row=1, expected=ID)
        ids, vectors, file = column[ID].to_numpy(), np.asarray(store.read_array(alone)), alone
    else:
        raise InputError(
            "there are no such vectors",
            file=both,
            expected=f"{FORM}, or {name}.npy beside {name}.csv; embedding.weights says the name",
        )
    return _checked(file, ids, vectors)


def given_vectors(group: Group, given: GivenVectors) -> tuple[dict[str, Floats], dict[str, Any]]:
    """The vectors of a group by ``method.backbone``, and what is to be noted of them.

    Rows are NaN for explanations that show nothing, whether or not there is a vector.
    """
    stored, found = StoredExplanations(group.explanations), dict[str, Floats]()
    for technique, _ in techniques_of(stored):
        rows = stored.rows(technique)
        ok = np.flatnonzero(rows["status"] == "ok")
        wanted = rows["sample_id"].iloc[ok]
        place = given.ids.get_indexer(pd.Index(wanted))
        missing = wanted[place < 0]
        if len(missing):
            raise InputError(
                f"{len(missing)} of {len(wanted)} explanations of {technique.key} have no vector, "
                f"the first is {missing.iloc[0]}",
                file=given.file,
                expected="a vector for each explanation that shows something",
            )
        vectors = np.full((len(rows), given.vectors.shape[1]), np.nan, np.float32)
        vectors[ok] = given.vectors[place]
        found[f"{technique.method}.{technique.backbone}"] = vectors
    return found, given.about(int(open_dataset(group.images).pixels.shape[1]))


@lru_cache(maxsize=1)
def given_once(name: str, root: Path, written: int) -> GivenVectors:
    """The same as :func:`read_given`, read again only if the files were ``written`` anew."""
    del written
    return read_given(name, root)


def last_written(name: str, root: Path) -> int:
    """When the files of some vectors were written, in nanoseconds; 0 if there are none."""
    files = (root / VECTORS).glob(f"{name}.np[yz]")
    return max((file.stat().st_mtime_ns for file in files), default=0)


def _read_both(file: Path) -> tuple[NDArray[Any], NDArray[Any]]:
    try:
        with np.load(file, allow_pickle=False) as held:
            missing = {"ids", "vectors"} - set(held.files)
            if missing:
                problem = f"has the arrays {', '.join(held.files) or 'none'}"
                raise InputError(problem, file=file, expected=FORM)
            return held["ids"], held["vectors"]
    except (ValueError, EOFError, OSError, zipfile.BadZipFile) as error:
        raise InputError(f"cannot be read: {error}", file=file, expected=FORM) from error


def _checked(file: Path, ids: NDArray[Any], vectors: NDArray[Any]) -> GivenVectors:
    if vectors.ndim != 2 or not vectors.size or vectors.dtype.kind not in "fiu":
        shape = " x ".join(map(str, vectors.shape))
        problem = f"the vectors are {shape or 'one value'} of the type {vectors.dtype}"
        raise InputError(problem, file=file, expected="n x width, numbers")
    if ids.shape != (len(vectors),):
        problem = f"there are {len(vectors)} vectors but {ids.size} ids"
        raise InputError(problem, file=file, expected="one id for each vector")
    index = pd.Index(ids.astype(str))
    if not index.is_unique:
        raise InputError(
            f"the id {index[index.duplicated()][0]} stands there twice",
            file=file,
            expected="every id once",
        )
    plain = np.ascontiguousarray(vectors, dtype=np.float32)
    wrong = np.flatnonzero(~np.isfinite(plain).all(axis=1))
    if len(wrong):
        problem = f"the vector of {index[wrong[0]]} has values that are NaN or infinite"
        raise InputError(problem, file=file, row=int(wrong[0]) + 1, expected="numbers")
    digest = hashlib.md5("\n".join(index).encode(), usedforsecurity=False)
    digest.update(plain.data)
    return GivenVectors(file, index, plain, digest.hexdigest())
