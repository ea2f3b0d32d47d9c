"""`score.pdf`: how well the PASTA-score predicts ratings, and what matters for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from reports.document import Block, Bullets, Column, Document, Heading, Note, Picture, Table, Text
from reports.names import BEST, LEAVE_ONE_OUT, OWN_VOTE, PUBLISHED, TITLES
from reports.pages.parts import chosen, one, table
from reports.pages.score_ablations import ablation_blocks
from reports.pages.score_certainty import coverage_blocks, difference_blocks
from reports.pages.score_errata import errata_blocks
from reports.plots.score import score_figure
from reports.words import DASH, count, interval, listed, number, p_value, signed

Frames = Mapping[str, pd.DataFrame]
_MEASURES = {
    "qwk": ("quadratic kappa", "QWK", "Higher is better."),
    "mse": ("mean squared error in stars²", "MSE", "Lower is better."),
    "spearman_of_stars": (
        "Spearman's correlation of stars",
        "SCC",
        "Higher is better. P1's numbers are about half of rho, see below.",
    ),
}


def score_document(
    tables: Frames, published: Frames | None = None, *, simulated: bool = False
) -> Document:
    """Write the report.

    Parameters
    ----------
    tables
        ``summary`` (study, level, question, measure, mean, sd, n, reason) and ``differences``
        (question, measure, scorer, than, n, estimate, low, high, p) of the score stage.
    published
        The papers' tables; without them the rows and columns of the papers are left out.
    """
    summary = table(tables, "summary")
    printed = published or {}
    blocks: list[Block] = [Heading("How well the score predicts ratings"), *_about(simulated)]
    main = chosen(summary, study="main")
    if main.empty:
        blocks.append(Note("No scorer has been tested: the score's summary is empty.", "missing"))
    else:
        blocks += [
            *_short(main, table(tables, "differences")),
            *_main(main, printed, simulated),
            *errata_blocks(main, printed),
            *difference_blocks(table(tables, "differences")),
            *coverage_blocks(main),
            *ablation_blocks(summary, printed),
        ]
    return Document(
        "score",
        "The PASTA-score",
        "Predicting how people would rate an explanation",
        blocks,
        simulated=simulated,
    )


def titles_of(main: pd.DataFrame) -> dict[str, str]:
    """The rows of the main study in their order, people last."""
    people = (LEAVE_ONE_OUT, OWN_VOTE)
    levels = [str(level) for level in main["level"].unique() if level not in people]
    named = {level: TITLES.get(level, level) for level in levels}
    return named | {level: level for level in people if (main["level"] == level).any()}


def _about(simulated: bool) -> list[Block]:
    blocks: list[Block] = [
        Text(
            "A scorer sees an explanation, embedded by a vision-language encoder, and predicts the "
            "stars that people would give. It is trained on some explanations and tested on "
            "others. Each row below is the mean over runs with different splits, with the standard "
            "deviation over runs; for people, over annotators."
        )
    ]
    if simulated:
        blocks.append(
            Note(
                "The images are drawn, the encoder is small and the votes are simulated. The "
                "numbers show what the scorers can learn from such votes. They do not replicate "
                "the papers: agreement with the published numbers is not to be expected.",
                "caution",
            )
        )
    return blocks


def _short(main: pd.DataFrame, differences: pd.DataFrame) -> list[Block]:
    questions = sorted(main["question"].unique())
    found = [one(main, level=BEST, question=name, measure="qwk") for name in questions]
    people = [one(main, level=LEAVE_ONE_OUT, question=name, measure="qwk") for name in questions]
    items = []
    own = {name: row["mean"] for name, row in zip(questions, found, strict=True) if row}
    if own:
        low, high = min(own, key=lambda name: own[name]), max(own, key=lambda name: own[name])
        said = (
            "The ordinal model agrees with the label of unseen explanations with a quadratic kappa "
            f"from {number(own[low])} ({low}) to {number(own[high])} ({high})."
        )
        ceiling = [row["mean"] for row in people if row]
        if ceiling:
            said += (
                f" One annotator agrees with the others' label with {number(min(ceiling))} to "
                f"{number(max(ceiling))}: that is the ceiling."
            )
        items.append(said)
    items += _won(differences)
    items += [
        f"On {name} the best scorer is another one, _{TITLES.get(rival, rival)}_: kappa "
        f"{number(best)} against {number(own[name])} of the ordinal model."
        for name in own
        for rival, best in [_leader(main, name)]
        if rival != BEST and best > own[name]
    ]
    return [Bullets(items)] if items else []


def _leader(main: pd.DataFrame, question: str) -> tuple[str, float]:
    rows = chosen(main, question=question, measure="qwk")
    rows = rows[~rows["level"].isin([LEAVE_ONE_OUT, OWN_VOTE])].dropna(subset="mean")
    best = rows.iloc[int(rows["mean"].to_numpy().argmax())]
    return str(best["level"]), float(best["mean"])


def _won(differences: pd.DataFrame) -> list[str]:
    """Where the ordinal model is surely better, or worse, than the papers' networks."""
    items = []
    for rival in ("pasta-linear", "pasta-mlp"):
        rows = chosen(differences, measure="qwk", than=rival)
        if rows.empty:
            continue
        better = rows.loc[rows["low"] > 0, "question"].tolist()
        worse = rows.loc[rows["high"] < 0, "question"].tolist()
        top = rows.iloc[int(rows["estimate"].to_numpy().argmax())]
        parts = [f"surely better on {listed(better)}"] if better else []
        parts += [f"surely worse on {listed(worse)}"] if worse else []
        said = " and ".join(parts) if parts else "neither surely better nor surely worse"
        items.append(
            f"Against {TITLES[rival]} the ordinal model is {said} (largest difference of kappa: "
            f"{signed(top['estimate'])} {interval(top['low'], top['high'])} on {top['question']}, "
            f"{p_value(top['p'])})."
        )
    return items


def _main(main: pd.DataFrame, published: Frames, simulated: bool) -> list[Block]:
    titles = titles_of(main)
    note = "Votes are simulated." if simulated else ""
    runs = main.loc[main["level"] == BEST, "n"]
    blocks: list[Block] = [
        Heading("All scorers, all questions", 2),
        Picture(
            score_figure(main, titles, note),
            "Every scorer on every question, mean and standard deviation over runs; people in "
            "black.",
            "Dot plot of kappa and squared error of each scorer on each question.",
        ),
    ]
    for measure, (words, short, better) in _MEASURES.items():
        rows = _wide(main, measure, titles)
        rows = pd.concat([rows, *_printed(published, short)], ignore_index=True)
        questions = [name for name in rows.columns if name not in ("scorer", "who")]
        about = f", over {count(int(runs.max()), 'run')}" if len(runs) else ""
        blocks.append(
            Table(
                rows,
                [Column("who", ""), Column("scorer", "scorer"),
                 *(Column(name, name) for name in questions)],
                f"{words[0].upper()}{words[1:]} ({short}) on unseen explanations{about}, laid out "
                f"as P1's Table 3 and P2's Table 1. {better}",
                note=_constant(main, measure),
            )
        )  # fmt: skip
    return blocks


def _wide(main: pd.DataFrame, measure: str, titles: Mapping[str, str]) -> pd.DataFrame:
    own = chosen(main, measure=measure)
    cells = own.assign(cell=_spread(own["mean"], own["sd"]))
    wide = cells.pivot(index="level", columns="question", values="cell")  # noqa: PD010
    wide = wide.reindex(list(titles))
    return wide.assign(scorer=list(titles.values()), who="ours").reset_index(drop=True)


def _printed(published: Frames, short: str) -> list[pd.DataFrame]:
    frames = []
    for paper, file in PUBLISHED.items():
        if file not in published:
            continue
        own = chosen(published[file], metric=short)
        places = 2 if paper == "P1" else 3
        cells = own.assign(cell=_spread(own["mean"], own["sd"], places))
        wide = cells.pivot(index="model", columns="question", values="cell")  # noqa: PD010
        wide = wide.reindex(list(dict.fromkeys(own["model"])))
        frames.append(wide.assign(scorer=wide.index, who=paper).reset_index(drop=True))
    return frames


def _constant(main: pd.DataFrame, measure: str) -> str:
    """Why cells are empty."""
    own = chosen(main, measure=measure)
    lost = own[own["mean"].isna() & own["reason"].notna()]
    if lost.empty:
        return ""
    names = listed(list(dict.fromkeys(TITLES.get(str(name), str(name)) for name in lost["level"])))
    return f"A dash: predictions were constant in at least one run ({names}), so rho is undefined."


def _spread(means: pd.Series, sds: Sequence[float] | pd.Series, places: int = 2) -> list[str]:
    return [
        DASH
        if pd.isna(mean)
        else number(mean, places) + ("" if pd.isna(sd) else f" ± {number(sd, places)}")
        for mean, sd in zip(means, sds, strict=True)
    ]
