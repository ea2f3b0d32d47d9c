"""Who marks what: the checks first, then ten samples, each sample by ten people."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from pasta.errors import PastaError
from pasta.seeds import generator


def marking_plan(
    samples: Sequence[str],
    checks: Sequence[str],
    people: int,
    each: int,
    seed: int,
    prefix: str = "a",
) -> pd.DataFrame:
    """Give every sample to so many people; a person has some samples after the same checks.

    Parameters
    ----------
    samples, checks
        What is marked; everybody begins with the checks, in their order.
    people
        Different ones for each sample.
    each
        Samples of a person after the checks, or as many as there are.
    seed
        Of the order.
    prefix
        Of the names of people.

    Returns
    -------
    DataFrame
        annotator_id, sample, position (from 1), check.

    Examples
    --------
    >>> plan = marking_plan(["a", "b", "c", "d"], ["check"], people=2, each=2, seed=0)
    >>> plan.groupby("sample").size().to_dict()
    {'a': 2, 'b': 2, 'c': 2, 'check': 4, 'd': 2}
    """
    if not samples:
        raise PastaError("there is nothing to mark: `dvc repro images` makes the images")
    each = min(each, len(samples))
    rounds = [
        generator(seed, "who marks what", one).permutation(len(samples)) for one in range(people)
    ]
    queue = list(np.concatenate(rounds))
    rows: list[dict[str, object]] = []
    number = 0
    while queue:
        number += 1
        own: list[int] = []
        for place in list(queue):  # nobody has a sample twice
            if len(own) == each:
                break
            if place not in own:
                own.append(int(place))
        for place in own:
            queue.remove(place)
        name = f"{prefix}{number:03d}"
        order = [*checks, *(samples[place] for place in own)]
        rows += [
            {"annotator_id": name, "sample": one, "position": at, "check": at <= len(checks)}
            for at, one in enumerate(order, start=1)
        ]
    return pd.DataFrame(rows)


def mixed(samples: Sequence[str], seed: int) -> list[str]:
    """The maps to rate in the order of the study: by chance, however they were listed."""
    known = sorted(samples)
    return [known[place] for place in generator(seed, "order of maps").permutation(len(known))]


def rating_plan(
    samples: Sequence[str], raters: int, ratings: int, first: int, seed: int
) -> pd.DataFrame:
    """Give every rater the same first samples, then others, each sample to as many people.

    Returns
    -------
    DataFrame
        annotator_id, sample_id, position (from 1).

    Examples
    --------
    >>> plan = rating_plan(list("abcdefgh"), raters=3, ratings=4, first=2, seed=0)
    >>> plan["position"].tolist()[:4], plan.groupby("annotator_id").size().tolist()
    ([1, 2, 3, 4], [4, 4, 4])
    """
    if not samples:
        return pd.DataFrame({"annotator_id": [], "sample_id": [], "position": []})
    first = min(first, max(0, len(samples) - 1))
    start, rest = list(samples[:first]), list(samples[first:])
    each = min(ratings - first, len(rest))
    queue: list[str] = []
    rows: list[dict[str, object]] = []
    turn = 0
    for number in range(1, raters + 1):
        while len(queue) < 2 * len(rest):
            order = generator(seed, "who rates what", turn).permutation(len(rest))
            queue += [rest[place] for place in order]
            turn += 1
        own = list(dict.fromkeys(queue))[:each]
        for one in own:
            queue.remove(one)
        name = f"r{number:03d}"
        rows += [
            {"annotator_id": name, "sample_id": one, "position": at}
            for at, one in enumerate([*start, *own], start=1)
        ]
    return pd.DataFrame(rows)
