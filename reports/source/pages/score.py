"""score.pdf: how well a score predicts ratings, and what it is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from reports.source.document import (
    Block,
    Bullets,
    Column,
    Document,
    Heading,
    Note,
    Picture,
    Table,
    Text,
)
from reports.source.names import BEST, LEAVE_ONE_OUT, OWN_VOTE, PUBLISHED, TITLES
from reports.source.pages.parts import chosen, one, picture, table
from reports.source.plots.score import ablation_figure, differences_figure, score_figure
from reports.source.replication.table import ABLATION_MEASURES, ablation_levels
from reports.source.words import DASH, count, interval, listed, number, p_value, share, signed

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


STUDIES = {
    "split": "what the test part has new",
    "label type": "which label is learned",
    "label input": "what goes in",
    "scoring function": "the scoring function",
    "saliency image": "the picture of a saliency map",
    "n top": "concepts in a sentence",
    "concept embedding": "how concepts are embedded",
}
_TABLES = {
    "split": "Table 4",
    "label type": "Table 15",
    "label input": "Table 16",
    "scoring function": "Table 17",
    "saliency image": "Table 18",
    "n top": "Table 19",
    "concept embedding": "Table 20",
}
_FILE = "pasta_v1_ablations_q1"
_PAPER = ["paper_value", "paper_sd"]
_QUANTITIES = {measure: name.upper() for name, measure in ABLATION_MEASURES.items()}


def ablation_blocks(summary: pd.DataFrame, published: Frames) -> list[Block]:
    """The section, or nothing if no ablation was run."""
    rows = study_rows(summary, published)
    if rows.empty or rows["ours"].isna().all():
        return []
    figure = ablation_figure(chosen(rows, quantity="QWK"), STUDIES)
    blocks: list[Block] = [
        Heading("Ablations", 2),
        Text(
            "One thing at a time is varied around the linear network of P1; all ablations are "
            "about Q1, as published. P1 varied around a split by image and an input without the "
            "class; ours around new images and new techniques with the class in the input, so "
            "that levels can be compared within a study, not numbers across papers."
        ),
        *[Text(said) for said in _said(rows)],
    ]
    blocks += [_table(rows, study) for study in STUDIES if (rows["study"] == study).any()]
    blocks += picture(
        figure,
        "Quadratic kappa with the label of Q1 for each level of each study.",
        "Dot plots of kappa for the levels of each ablation, ours and the paper's.",
    )
    return blocks


def study_rows(summary: pd.DataFrame, published: Frames) -> pd.DataFrame:
    """Levels of all studies: study, level, quantity (MSE, QWK, SCC), ours and the paper's.

    Levels that only the paper or only we have are there too, ours last.
    """
    keys = ["study", "level", "measure"]
    own = chosen(summary, question="Q1")
    own = own.reindex(columns=[*keys, "mean", "sd"]).rename(
        columns={"mean": "ours", "sd": "ours_sd"}
    )
    own = own[own["study"].isin(list(STUDIES)) & own["measure"].isin(list(_QUANTITIES))]
    paper = table(published, _FILE)
    printed = ablation_levels(paper) if len(paper) else pd.DataFrame(columns=[*keys, *_PAPER])
    rows = printed[[*keys, *_PAPER]].merge(own, on=keys, how="outer", sort=False)
    there = zip(printed["study"], printed["level"], strict=True)
    order = {key: place for place, key in enumerate(dict.fromkeys(there))}
    place = [order.get(key, len(order)) for key in zip(rows["study"], rows["level"], strict=True)]
    words = rows["level"].str.replace("_", " ")
    rows = rows.assign(quantity=rows["measure"].map(_QUANTITIES), level=words, place=place)
    return rows.sort_values("place", kind="stable", ignore_index=True)


def _said(rows: pd.DataFrame) -> list[str]:
    """What matters most, in one sentence."""
    own = chosen(rows, quantity="QWK").dropna(subset="ours")
    if own.empty:
        return []
    found = {str(study): part["ours"] for study, part in own.groupby("study")}
    ranges = {study: float(kappas.max() - kappas.min()) for study, kappas in found.items()}
    most, least = max(ranges, key=ranges.__getitem__), min(ranges, key=ranges.__getitem__)
    return [
        f"Here {STUDIES[most]} matters most: kappa ranges from {_range(found[most])} over its "
        f"{count(len(found[most]), 'level')}. Least does {STUDIES[least]} "
        f"({_range(found[least])})."
    ]


def _range(kappas: pd.Series) -> str:
    return f"{number(kappas.min())} to {number(kappas.max())}"


def _table(rows: pd.DataFrame, study: str) -> Table:
    own = chosen(rows, study=study)
    levels = list(dict.fromkeys(own["level"]))
    frame = pd.DataFrame({"level": levels})
    columns = [Column("level", "")]
    for quantity in ("QWK", "MSE", "SCC"):
        part = chosen(own, quantity=quantity).set_index("level").reindex(levels)
        for side, sd, title in (("paper_value", "paper_sd", "paper"), ("ours", "ours_sd", "ours")):
            frame[f"{quantity} {title}"] = [
                DASH if pd.isna(mean) else f"{number(mean)} ± {number(spread)}"
                for mean, spread in zip(part[side], part[sd], strict=True)
            ]
            columns.append(Column(f"{quantity} {title}", f"{quantity}: {title}"))
    words = STUDIES[study]
    return Table(
        frame,
        columns,
        f"P1's {_TABLES[study]}, {words}. SCC is the mean of rho and p, as P1 has it.",
    )


def difference_blocks(differences: pd.DataFrame) -> list[Block]:
    """The ordinal model against the others, run by run."""
    if differences.empty:
        return []
    rivals = {str(name): TITLES.get(str(name), str(name)) for name in differences["than"].unique()}
    figure = differences_figure(differences, rivals)
    own = chosen(differences, measure="qwk")
    own = own.assign(than=own["than"].map(lambda name: rivals[str(name)]))
    runs = count(int(differences["n"].max()), "run")
    return [
        Heading("Differences between scorers", 2),
        Text(
            f"Every run gives all scorers the same split, so that they can be compared run by run. "
            f"The intervals are t intervals of the paired difference over {runs}. The runs share "
            "their data: the intervals say what further splits of the same ratings would show, "
            "not what other ratings would."
        ),
        *picture(
            figure,
            "Quadratic kappa of the ordinal model less that of others, with 95 % intervals over "
            "runs. Right of the line, the ordinal model is better.",
            "Differences of kappa between the ordinal model and others, by question.",
        ),
        Table(
            own,
            [
                Column("question", ""),
                Column("than", "compared with"),
                Column("n", "runs", "0"),
                Column("estimate", "difference of kappa", "signed"),
                Column("low", "95 % interval", "interval"),
                Column("p", "p", "p"),
            ],
            "Quadratic kappa of the ordinal model less that of other scorers.",
        ),
    ]


def coverage_blocks(main: pd.DataFrame) -> list[Block]:
    """How often conformal intervals contain the label, and how wide they are."""
    own = chosen(main, measure="coverage").dropna(subset="mean")
    if own.empty:
        return []
    width = chosen(main, measure="width").set_index(["level", "question"])["mean"]
    keys = list(zip(own["level"], own["question"], strict=True))
    frame = own.assign(
        width=[float(width.get(key, float("nan"))) for key in keys],
        scorer=own["level"].map(lambda name: TITLES.get(str(name), str(name))),
    )
    low, high = own["mean"].min(), own["mean"].max()
    return [
        Heading("Intervals of single scores", 2),
        Text(
            "A score comes with a conformal interval that should contain the label nine times out "
            f"of ten. On unseen explanations it does in {share(low)} to {share(high)} of the "
            f"cases, depending on the question.{_wide_words(frame['width'])}"
        ),
        Table(
            frame,
            [
                Column("scorer", "scorer"),
                Column("question", ""),
                Column("mean", "coverage", "percent"),
                Column("sd", "standard deviation", "0.00"),
                Column("width", "mean width in stars", "0.00"),
                Column("n", "runs", "0"),
            ],
            "Coverage of conformal intervals at a level of 90 %, mean over runs.",
        ),
    ]


def _wide_words(width: pd.Series) -> str:
    known = width.dropna()
    if known.empty:
        return ""
    return (
        f" The price is the width: {number(known.min(), 1)} to {number(known.max(), 1)} of the "
        "five stars on average, so that a single score says little and the mean of many says more."
    )


def errata_blocks(main: pd.DataFrame, published: Frames) -> list[Block]:
    """SCC as half of rho, and people compared with a mode that contains their own vote."""
    blocks: list[Block] = [
        Heading("Two things the papers got wrong", 2),
        Text(
            "**SCC is half of rho.** P1 prints an SCC of, for instance, 0.25 ± 0.25. Spearman's "
            "test returns a pair, rho and its p-value; P1 averaged the pair. With p near zero the "
            "mean is half of rho, and the standard deviation of the pair is about as large. P2 "
            "prints rho itself. Both are in the next table."
        ),
    ]
    levels = {"pasta-linear": "linear", BEST: "ordinal"}
    measures = ("spearman_of_stars", "scc_as_published")
    frame = _beside_papers(main, published, levels, measures, metric="SCC", model="CLIP")
    blocks += _larger(frame)
    blocks.append(
        Table(
            frame,
            [
                Column("question", ""),
                Column("linear spearman_of_stars", "linear: rho", "0.00"),
                Column("linear scc_as_published", "mean of rho and p", "0.00"),
                Column("ordinal spearman_of_stars", "ordinal: rho", "0.00"),
                Column("ordinal scc_as_published", "mean of rho and p", "0.00"),
                Column("P1", "P1's SCC (CLIP)", "0.00"),
                Column("P2", "P2's SCC (CLIP)", "0.00"),
            ],
            "Spearman's correlation of stars, and what P1's formula makes of it.",
        )
    )
    blocks += _people(main, published)
    return blocks


def _beside_papers(
    main: pd.DataFrame,
    published: Frames,
    levels: Mapping[str, str],
    measures: Sequence[str],
    **printed: str,
) -> pd.DataFrame:
    """A row for each question: measures of some levels, and the number that each paper prints."""
    rows = []
    for question in sorted(main["question"].unique()):
        row: dict[str, object] = {"question": question}
        for level, short in levels.items():
            for measure in measures:
                found = one(main, level=level, question=question, measure=measure)
                row[f"{short} {measure}"] = found["mean"] if found else float("nan")
        for paper, file in PUBLISHED.items():
            line = one(table(published, file), question=question, **printed)
            row[paper] = line["mean"] if line else float("nan")
        rows.append(row)
    return pd.DataFrame(rows)


def _larger(frame: pd.DataFrame) -> list[Block]:
    """Where P1's formula gives more than rho: a large p adds to it."""
    names = {"linear": "linear network", "ordinal": "ordinal model"}
    for short, name in names.items():
        rho, printed = frame[f"{short} spearman_of_stars"], frame[f"{short} scc_as_published"]
        apart = (printed - rho).to_numpy(float)
        if not (apart > 0).any():
            continue
        place = int(np.nanargmax(apart))
        return [
            Text(
                "The formula even rewards having no correlation, because p is then large: for the "
                f"{name} on {frame['question'].iloc[place]} rho is {number(rho.iloc[place])}, and "
                f"its mean with p {number(printed.iloc[place])}."
            )
        ]
    return []


def _people(main: pd.DataFrame, published: Frames) -> list[Block]:
    levels = {OWN_VOTE: "own", LEAVE_ONE_OUT: "out"}
    frame = _beside_papers(main, published, levels, ("qwk", "mse"), metric="QWK", model="human")
    gap = (frame["own qwk"] - frame["out qwk"]).dropna()
    said = f" Here it adds {number(gap.min())} to {number(gap.max())} to kappa." if len(gap) else ""
    return [
        Text(
            "**The ceiling contains the annotator's own vote.** Both papers compare an annotator "
            "with the mode of all votes, the annotator's among them. With five votes everybody "
            f"pulls the label along.{said} The honest ceiling of a score is the agreement with the "
            "mode of the others (leave one out)."
        ),
        Table(
            frame,
            [
                Column("question", ""),
                Column("own qwk", "own vote in the mode: QWK", "0.00"),
                Column("out qwk", "leave one out: QWK", "0.00"),
                Column("own mse", "own vote: MSE", "0.00"),
                Column("out mse", "leave one out: MSE", "0.00"),
                Column("P1", "P1, human: QWK", "0.00"),
                Column("P2", "P2, human: QWK", "0.00"),
            ],
            "People as if they were scorers: mean over annotators.",
        ),
    ]
