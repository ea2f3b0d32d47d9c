"""Sharing out samples among annotators as evenly as whole numbers allow.

Over the whole study and within every dataset, image, technique and kind, the votes of two
annotators differ by at most one. That this is always possible follows from flows: sharing each
sample's votes equally among all annotators is even everywhere, and where a flow in fractions
exists, one in whole numbers between its floors and ceilings exists too. One annotator after the
other gets a random share, which a small flow then evens out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]

IMAGE, TECHNIQUE = ["dataset", "image_id"], ["method", "backbone"]
FACTORS = {"dataset": ["dataset"], "image": IMAGE, "technique": TECHNIQUE, "kind": ["kind"]}


def assign(
    samples: pd.DataFrame, annotators: int, votes: int, random: np.random.Generator
) -> tuple[Whole, Whole]:
    """Row of ``samples`` and number of the annotator, for each rating.

    Every row goes to ``votes`` different annotators of 0 to ``annotators - 1``. An image and a
    technique have at most one sample in common, and a technique has one kind.
    """
    network = _network(samples)
    left = np.full(len(samples), votes)
    rows, people = [], []
    for place, person in enumerate(random.permutation(annotators)):
        taken = _share(network, left, annotators - place, random)
        left -= taken
        rows.append(np.flatnonzero(taken))
        people.append(np.full(len(rows[-1]), person))
    return np.concatenate(rows), np.concatenate(people)


def codes(frame: pd.DataFrame, columns: list[str]) -> Whole:
    """A number from 0 for each different combination of values, in sorted order."""
    return np.asarray(frame.groupby(columns, sort=True).ngroup(), dtype=np.int64)


@dataclass(frozen=True)
class _Network:
    """Samples as edges from images to techniques, and the groups they add up to.

    A group is an edge too: source > dataset > image > (sample) > technique > kind > sink > source.
    The last one carries everything.
    """

    nodes: int
    tail: Whole  # of each sample: the node of its image
    head: Whole  # of each sample: the node of its technique
    group_tail: Whole
    group_head: Whole
    groups: tuple[Whole, ...]  # of each sample: the group of its dataset, of its image, and so on

    def sums(self, amounts: NDArray[Any]) -> Whole:
        """Add up the samples' amounts in each group."""
        size = len(self.group_tail)
        parts = [np.bincount(group, amounts, size) for group in self.groups]
        return np.asarray(np.sum(parts, axis=0), dtype=np.int64)


def _network(samples: pd.DataFrame) -> _Network:
    source, sink, nodes = 0, 1, 2
    of: dict[str, Whole] = {}
    for factor, columns in FACTORS.items():
        of[factor] = codes(samples, columns) + nodes
        nodes = int(of[factor].max()) + 1
    parent = np.zeros(nodes, dtype=np.int64)
    parent[of["dataset"]], parent[of["image"]] = source, of["dataset"]
    parent[of["technique"]], parent[of["kind"]] = of["kind"], sink
    own = np.arange(2, nodes)  # each node but source and sink has one group: the edge to its parent
    inward = own < of["technique"].min()
    return _Network(
        nodes,
        tail=of["image"],
        head=of["technique"],
        group_tail=np.append(np.where(inward, parent[own], own), sink),
        group_head=np.append(np.where(inward, own, parent[own]), source),
        groups=(*(node - 2 for node in of.values()), np.full(len(samples), len(own))),
    )


def _share(network: _Network, left: Whole, people: int, random: np.random.Generator) -> Flags:
    """What the next of ``people`` annotators gets of the votes that are left.

    First at random, each sample with the chance ``left / people`` and the right number for each
    image (systematic sampling): little remains to be evened out, no pattern of the solver shows,
    and annotators meet each other about equally often.
    """
    order = np.lexsort((random.random(len(left)), network.tail))
    passed = (np.cumsum(left[order]) + random.integers(people)) // people
    taken = np.zeros(len(left), dtype=bool)
    taken[order] = np.diff(passed, prepend=0) > 0
    return _evened(network, taken, left, people)


def _evened(network: _Network, taken: Flags, left: Whole, people: int) -> Flags:
    """Change as many samples as it takes for every group to be within its bounds.

    Each group's amount is moved into its bounds. Then some nodes get more than they pass on and
    others less, and a flow along whatever may still be changed carries the excess between them.
    """
    total = network.sums(left)
    low, high = total // people, -(-total // people)
    sums = np.clip(network.sums(taken), low, high)
    start, end, nodes = network.nodes, network.nodes + 1, network.nodes + 2
    tail = np.concatenate([network.group_tail, network.tail])
    head = np.concatenate([network.group_head, network.head])
    amount = np.concatenate([sums, taken])
    excess = (np.bincount(head, amount, nodes) - np.bincount(tail, amount, nodes)).astype(np.int64)
    over, under = np.flatnonzero(excess > 0), np.flatnonzero(excess < 0)
    more = np.concatenate([high - sums, (left > 0) & ~taken])
    less = np.concatenate([sums - low, (left < people) & taken])
    rows = np.concatenate([tail, head, np.full(len(over), start), under])
    columns = np.concatenate([head, tail, over, np.full(len(under), end)])
    room = np.concatenate([more, less, excess[over], -excess[under]])
    used = room > 0
    capacity = csr_array(
        (room[used].astype(np.int32), (rows[used], columns[used])), shape=(nodes, nodes)
    )
    flow = maximum_flow(capacity, start, end).flow
    changed: Flags = np.asarray(flow[network.tail, network.head]).ravel() != 0
    return np.asarray(taken != changed)
