"""Who rates what: the choice of samples, and how evenly they are spread.

P1 rates a random subset of all explanations; P2 rates 21 of the 46 techniques of each image (both:
doi:10.48550/arXiv.2411.02470). Every sample goes to the same number of different annotators.

Sharing out samples among annotators as evenly as whole numbers allow.

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

from pasta.errors import InputError, PastaError
from pasta.seeds import generator

Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]

IMAGE, TECHNIQUE = ["dataset", "image_id"], ["method", "backbone"]
FACTORS = {"dataset": ["dataset"], "image": IMAGE, "technique": TECHNIQUE, "kind": ["kind"]}

# An assumption, for the papers give no times: a sentence and boxes about half a minute, then six
# ratings of ten seconds.
SECONDS_PER_SAMPLE = 90.0

COLUMNS = ["sample_id", *IMAGE, *TECHNIQUE, "kind"]


def make_plan(
    explanations: pd.DataFrame,
    annotators: int,
    votes: int,
    seed: int,
    samples: int | None = None,
    techniques_per_image: int | None = 21,
) -> pd.DataFrame:
    """Choose samples and give each to ``votes`` different annotators.

    Parameters
    ----------
    explanations
        What can be rated, one row for each ``sample_id``; the order of the rows does not matter.
    annotators, votes
        How many people there are, and how many of them rate each sample.
    samples
        A random subset of this size, as in P1; ``techniques_per_image`` then has no meaning.
    techniques_per_image
        As in P2: so many for each image, or all where an image has fewer. None takes everything.

    Returns
    -------
    DataFrame
        ``sample_id``, ``annotator_id`` and ``position`` (from 1, the shuffled order in which the
        annotator works), sorted by annotator and position.
    """
    chosen = choose_samples(explanations, seed, samples, techniques_per_image)
    _check_people(len(chosen), annotators, votes)
    sample, person = assign(chosen, annotators, votes, generator(seed, "plan", "assignment"))
    shuffled = generator(seed, "plan", "order").permutation(len(sample))
    sample, person = sample[shuffled], person[shuffled]
    by_person = np.argsort(person, kind="stable")
    sample, person = sample[by_person], person[by_person]
    starts = np.searchsorted(person, np.arange(annotators))
    names = np.array(names_of_annotators(annotators))
    return pd.DataFrame(
        {
            "sample_id": chosen["sample_id"].to_numpy()[sample],
            "annotator_id": names[person],
            "position": np.arange(len(person)) - starts[person] + 1,
        }
    ).astype({"annotator_id": "str", "sample_id": "str"})


def names_of_annotators(number: int) -> list[str]:
    """What the people of a plan are called."""
    width = len(str(number))
    return [f"annotator-{place:0{width}d}" for place in range(1, number + 1)]


def choose_samples(
    explanations: pd.DataFrame,
    seed: int,
    samples: int | None = None,
    techniques_per_image: int | None = 21,
) -> pd.DataFrame:
    """The rows to be rated, sorted by ``sample_id``; see :func:`make_plan`."""
    ordered = _checked(explanations)
    if samples is not None:
        if not 1 <= samples <= len(ordered):
            raise PastaError(f"cannot choose {samples} samples: there are {len(ordered)}")
        picked = generator(seed, "plan", "samples").choice(len(ordered), samples, replace=False)
        return ordered.iloc[np.sort(picked)].reset_index(drop=True)
    if techniques_per_image is None:
        return ordered
    if techniques_per_image < 1:
        raise PastaError(f"found {techniques_per_image} techniques per image, expected 1 or more")
    kept = _least_used(ordered, techniques_per_image, generator(seed, "plan", "techniques"))
    return ordered[kept].reset_index(drop=True)


def balance(plan: pd.DataFrame, explanations: pd.DataFrame) -> pd.DataFrame:
    """How evenly a plan is spread.

    For each factor: how many ``levels`` it has, the smallest, mean and largest number of votes of
    a level (``min``, ``mean``, ``max``), and ``spread``: the largest difference between two
    annotators' votes within one level. The row ``pair`` counts the samples that two annotators
    have in common instead, on which their agreement will rest.
    """
    if plan.empty:
        raise PastaError("the plan is empty")
    planned = plan.merge(_checked(explanations), on="sample_id", how="left")
    unknown = planned["dataset"].isna()
    if unknown.any():
        sample = planned.loc[unknown, "sample_id"].iloc[0]
        raise InputError(f"the plan's sample {sample!r} is not among the explanations")
    person = codes(planned, ["annotator_id"])
    rows = [_counts("annotator", np.zeros_like(person), person)]
    rows[0] |= _extremes(np.bincount(person))
    for factor, columns in FACTORS.items():
        rows.append(_counts(factor, codes(planned, columns), person))
    rows.append({"factor": "pair", **_extremes(_in_common(codes(planned, ["sample_id"]), person))})
    return pd.DataFrame(rows).astype({"spread": "Int64"})


def expected_hours(
    plan: pd.DataFrame, seconds_per_sample: float = SECONDS_PER_SAMPLE
) -> pd.Series[float]:
    """Working hours of each annotator, without training and breaks."""
    if not seconds_per_sample > 0:
        raise PastaError(f"found {seconds_per_sample} seconds per sample, expected more than 0")
    count = plan.groupby("annotator_id")["sample_id"].size()
    return (count * (seconds_per_sample / 3600)).rename("hours")


def summary(
    plan: pd.DataFrame, explanations: pd.DataFrame, seconds_per_sample: float = SECONDS_PER_SAMPLE
) -> list[str]:
    """The balance and the hours of a plan in words, a line each."""
    hours = expected_hours(plan, seconds_per_sample)
    samples = plan["sample_id"].nunique()
    lines = [
        f"{samples} samples, {len(plan)} ratings of all questions, {len(hours)} annotators",
        f"about {hours.sum():.0f} hours in all, {hours.max():.1f} for each annotator "
        f"(assuming {seconds_per_sample:g} s per sample)",
    ]
    for row in balance(plan, explanations).to_dict("records"):
        numbers = f"{row['min']} to {row['max']} (mean {row['mean']:.1f})"
        if row["factor"] == "pair":
            lines.append(f"samples in common to two annotators: {numbers}")
            continue
        line = f"votes per {row['factor']} ({row['levels']}): {numbers}"
        within = f"; annotators differ by at most {row['spread']} within one"
        lines.append(line if row["factor"] == "annotator" else line + within)
    return lines


def _checked(explanations: pd.DataFrame) -> pd.DataFrame:
    """The needed columns, sorted, or an error."""
    missing = [name for name in COLUMNS if name not in explanations.columns]
    if missing:
        raise InputError("is missing from the explanations", column=missing[0])
    if explanations.empty:
        raise PastaError("there are no explanations to rate")
    for key in (["sample_id"], IMAGE + TECHNIQUE):
        again = explanations.duplicated(key)
        if again.any():
            sample = explanations.loc[again, "sample_id"].iloc[0]
            raise InputError(f"the sample {sample!r} occurs twice", column=key[0])
    pairs = explanations[[*TECHNIQUE, "kind"]].drop_duplicates()
    again = pairs.duplicated(TECHNIQUE)
    if again.any():
        technique = "/".join(pairs.loc[again, TECHNIQUE].iloc[0])
        raise InputError(f"the technique {technique!r} is of two kinds", column="kind")
    return explanations[COLUMNS].sort_values("sample_id", ignore_index=True)


def _check_people(samples: int, annotators: int, votes: int) -> None:
    if votes < 1:
        raise PastaError(f"found {votes} votes per sample, expected 1 or more")
    if annotators < votes:
        raise PastaError(
            f"{votes} different annotators for each sample cannot be found among {annotators}"
        )
    if annotators > samples * votes:
        raise PastaError(
            f"{samples} samples with {votes} votes each are not enough work for {annotators} "
            "annotators"
        )


def _least_used(ordered: pd.DataFrame, number: int, random: np.random.Generator) -> Flags:
    """For each image the techniques used least so far, chance deciding between equals.

    Where all images have the same techniques, their frequencies differ by at most one over all
    and, as images are taken dataset by dataset, by at most two in each dataset.
    """
    technique, image = codes(ordered, TECHNIQUE), codes(ordered, IMAGE)
    dataset = codes(ordered, ["dataset"])
    rows_of = np.split(np.argsort(image, kind="stable"), np.cumsum(np.bincount(image))[:-1])
    home = np.array([dataset[rows[0]] for rows in rows_of])
    turn = random.permutation(home.max() + 1)[home]
    used = np.zeros(technique.max() + 1, dtype=np.int64)
    kept = np.zeros(len(ordered), dtype=bool)
    for this in np.lexsort((random.random(len(home)), turn)):
        rows = rows_of[this]
        order = np.lexsort((random.random(len(rows)), used[technique[rows]]))
        taken = rows[order[:number]]
        kept[taken] = True
        used[technique[taken]] += 1
    return kept


def _counts(factor: str, level: Whole, person: Whole) -> dict[str, Any]:
    people = person.max() + 1
    cells = np.bincount(level * people + person, minlength=(level.max() + 1) * people)
    table = cells.reshape(-1, people)
    spread = int((table.max(axis=1) - table.min(axis=1)).max())
    return {"factor": factor, **_extremes(table.sum(axis=1)), "spread": spread}


def _extremes(counts: Whole) -> dict[str, Any]:
    return {
        "levels": len(counts),
        "min": int(counts.min()) if len(counts) else 0,
        "mean": float(counts.mean()) if len(counts) else 0.0,
        "max": int(counts.max()) if len(counts) else 0,
    }


def _in_common(sample: Whole, person: Whole) -> Whole:
    """For each pair of annotators the number of samples that both rate."""
    rated = csr_array((np.ones(len(sample), dtype=np.int64), (person, sample)))
    together = (rated @ rated.T).toarray()
    return np.asarray(together[np.triu_indices(len(together), 1)])


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
