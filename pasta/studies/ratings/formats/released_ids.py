"""Names of files in the released dataset, and what they say about a sample.

``{dataset}_{image_id}_{number of the technique}....png`` is a shown explanation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import pandas as pd

from pasta.explanations.techniques import RELEASED

TECHNIQUES = {number: technique for technique, number in RELEASED.items()}
_NAME = re.compile(r"([^_/\s]+)_([0-9]+)_([0-9]{1,3})(?![0-9])[^/]*")


@dataclass(frozen=True)
class Named:
    """What the name of a shown explanation says."""

    dataset: str
    image_id: str  # as it was found: plain numbers in the release
    number: int

    @property
    def sample_id(self) -> str | None:
        """The sample, or None for a technique that has no name here."""
        technique = TECHNIQUES.get(self.number)
        return None if technique is None else f"{self.dataset}/{self.image_id}/{technique}"


def read_name(path: str) -> Named | None:
    """Read the last part of a path, or None if it is not named as in the release."""
    match = _NAME.fullmatch(path.replace("\\", "/").rpartition("/")[2])
    return None if match is None else Named(match[1], match[2], int(match[3]))


def stem(sample_id: str) -> str:
    """The file name of a sample without suffix; techniques without number go by their name."""
    dataset, image_id, method, backbone = sample_id.split("/")
    number = RELEASED.get(f"{method}/{backbone}")
    return f"{dataset}_{image_id}_{f'{method}-{backbone}' if number is None else number}"


def matched(sample_ids: Iterable[str], known: pd.Index | None) -> dict[str, str]:
    """Map sample ids of a release to known ones that differ only in zeros before the number.

    The release numbers images plainly (``137``), drawn images have a fixed width (``0137``). An id
    that is known as it stands, or that fits none or several known ones, is left as it is.
    """
    if known is None:
        return {}
    wanted = set(sample_ids).difference(known)
    if not wanted:
        return {}
    plain = {one: _plain(one) for one in wanted}
    fitting: dict[str, list[str]] = {}
    for one in known:
        fitting.setdefault(_plain(str(one)), []).append(str(one))
    return {
        one: fitting[short][0] for one, short in plain.items() if len(fitting.get(short, ())) == 1
    }


@cache
def _plain(sample_id: str) -> str:
    dataset, _, rest = sample_id.partition("/")
    image_id, _, technique = rest.partition("/")
    short = (image_id.lstrip("0") or "0") if image_id.isdecimal() else image_id
    return f"{dataset}/{short}/{technique}"
