"""What changed between two versions of the experiment: by topic, with intervals and in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from reports.source.format import count, interval, listed, number, signed
from reports.source.numbers import COLUMNS, TOPICS, Topic

Numbers = Mapping[str, pd.DataFrame]
SAME = 0.0005  # smaller differences are rounding
NOTHING = "Nothing changed beyond rounding."
_KEYS = ["name", "of"]
_CHANGED = ("clear", "no interval")
_RANKS = {"clear": 0, "no interval": 0, "new": 1, "gone": 2, "noise": 3, "same": 4}


def compare_versions(before: Numbers, after: Numbers) -> pd.DataFrame:
    """Every number of two versions, in the order of topics and, in each, of importance.

    Two estimates differ clearly if the 95 % interval of their difference leaves out zero. It is
    made of the two intervals as if the versions had no data in common (MOVER,
    doi:10.1002/sim.3095). As a rule new votes are added to old ones, so that it is rather too wide:
    what is clear is clear, and noise may hide a small change.

    Parameters
    ----------
    before, after
        A table for each topic, as :func:`reports.source.numbers.collect_numbers` makes them.

    Returns
    -------
    DataFrame with topic, name, of, before, before_low, before_high, after, after_low, after_high,
    difference, verdict (clear, noise, no interval, new, gone, same), importance (the difference in
    units of what the intervals allow) and sentence
    """
    nothing = pd.DataFrame(columns=list(COLUMNS))
    frames = [
        _compare_topic(topic, before.get(topic, nothing), after.get(topic, nothing))
        for topic in TOPICS
    ]
    return pd.concat([frame for frame in frames if len(frame)] or frames[:1], ignore_index=True)


def _compare_topic(topic: str, before: pd.DataFrame, after: pd.DataFrame) -> pd.DataFrame:
    new, old = _plain(after, "after"), _plain(before, "before")
    both = new.merge(old, on=_KEYS, how="outer")
    found = both.assign(topic=topic, difference=both["after"] - both["before"])
    margin = _allowed(found)
    apart = found["difference"].abs()
    cases = {
        "new": found["before"].isna(),
        "gone": found["after"].isna(),
        "same": apart < SAME,
        "no interval": margin.isna(),
        "clear": apart > margin,
    }
    verdict = np.select(list(cases.values()), list(cases), "noise")
    found = found.assign(verdict=verdict, importance=apart / margin)
    ranked = found.assign(rank=found["verdict"].map(_RANKS))
    order = ranked.sort_values(["rank", "importance"], ascending=[True, False], kind="stable")
    found = found.loc[order.index, list(_COLUMNS)].reset_index(drop=True)
    return found.assign(sentence=[write_change(row.to_dict()) for _, row in found.iterrows()])


_COLUMNS = (
    *("topic", "name", "of", "before", "before_low", "before_high", "after", "after_low"),
    *("after_high", "difference", "verdict", "importance"),
)


def _plain(frame: pd.DataFrame, when: str) -> pd.DataFrame:
    """Numbers that are there, under names that say of which version they are."""
    texts = {key: frame[key].astype(object).fillna("") for key in _KEYS}
    values = {
        when if name == "estimate" else f"{when}_{name}": frame[name].astype(float)
        for name in ("estimate", "low", "high")
    }
    return pd.DataFrame({**texts, **values}).dropna(subset=[when]).drop_duplicates(_KEYS)


def _allowed(rows: pd.DataFrame) -> pd.Series:
    """How far two estimates may lie apart by chance: the sides that face each other, together."""
    rose = rows["difference"] > 0
    old = (rows["before_high"] - rows["before"]).where(rose, rows["before"] - rows["before_low"])
    new = (rows["after"] - rows["after_low"]).where(rose, rows["after_high"] - rows["after"])
    return pd.Series(np.hypot(old, new), rows.index)


def write_change(row: Mapping[Any, Any]) -> str:
    """One number of two versions as a sentence."""
    topic = TOPICS[str(row["topic"])]
    subject = topic.subject.format(name=row["name"], of=row["of"])
    subject = subject[0].upper() + subject[1:]
    old, new = (_value(row, when, topic) for when in ("before", "after"))
    match row["verdict"]:
        case "new":
            return f"{subject} is new: {new}."
        case "gone":
            return f"{subject} is no longer there; it was {old}."
        case "same":
            return f"{subject} is still {new}."
    text = f"{subject} {'rose' if row['difference'] > 0 else 'fell'} from {old} to {new}"
    match row["verdict"]:
        case "clear":
            return f"{text}: more than the intervals allow."
        case "noise":
            return f"{text}: within noise."
    return f"{text} ({signed(row['difference'], topic.places)})."


def _value(row: Mapping[Any, Any], when: str, topic: Topic) -> str:
    text = number(row[when], topic.places)
    low, high = row[f"{when}_low"], row[f"{when}_high"]
    known = not (np.isnan(low) or np.isnan(high))
    return f"{text} {interval(low, high, topic.places)}" if known else text


def describe_changes(compared: pd.DataFrame, most: int | None = None) -> list[dict[str, Any]]:
    """Every topic in which something changed: title, summary and sentences.

    With ``most``, so many sentences at most, and none about noise and about what is new or gone.
    """
    topics = []
    for topic, rows in compared.groupby("topic", sort=False):
        moved = rows[rows["verdict"] != "same"]
        if moved.empty:
            continue
        shown = moved if most is None else moved[moved["verdict"].isin(_CHANGED)]
        topics.append(
            {
                "title": TOPICS[str(topic)].title,
                "summary": _summarise(rows["verdict"]),
                "sentences": shown["sentence"].tolist()[:most],
                "more": max(0, len(shown) - most) if most is not None else 0,
            }
        )
    return topics


def largest_changes(compared: pd.DataFrame, most: int, of_topic: int = 2) -> list[str]:
    """The changes that exceed their intervals, the largest first, as sentences.

    Sizes are measured by what the intervals allow, so that stars and correlations can stand in one
    list; of each topic there are the largest ``of_topic``. Counts have no intervals and are left to
    :func:`describe_versions`.
    """
    clear = compared[compared["verdict"] == "clear"]
    ranked = clear.sort_values("importance", ascending=False, kind="stable")
    return ranked.groupby("topic", sort=False).head(of_topic)["sentence"].head(most).tolist()


def _summarise(verdicts: pd.Series) -> str:
    """How many of a topic's numbers changed, and how."""
    number_of = verdicts.value_counts()
    both = len(verdicts) - number_of.get("new", 0) - number_of.get("gone", 0)
    words = (
        (sum(number_of.get(word, 0) for word in _CHANGED), f"of {both} changed"),
        (number_of.get("noise", 0), f"of {both} moved within noise"),
        (number_of.get("new", 0), "new"),
        (number_of.get("gone", 0), "no longer there"),
    )
    return f"{listed([f'{how_many} {what}' for how_many, what in words if how_many])}."


def describe_versions(compared: pd.DataFrame) -> str:
    """ "76 800 votes before, 82 800 now": by which readers know the versions."""
    votes = compared[(compared["topic"] == "data") & (compared["name"] == "votes")]
    if votes.empty or votes[["before", "after"]].isna().to_numpy().any():
        return ""
    old, new = int(votes["before"].iloc[0]), int(votes["after"].iloc[0])
    return f"{count(old, 'vote')} before, {number(new, 0)} now"
