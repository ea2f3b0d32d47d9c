"""The ablations of the score (P1, Tables 4 and 15 to 20), beside the paper's."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from reports.document import Block, Column, Heading, Table, Text
from reports.pages.parts import chosen, picture, table
from reports.plots.ablations import ablation_figure
from reports.replication.score import ABLATION_MEASURES, ablation_levels
from reports.words import DASH, count, number

Frames = Mapping[str, pd.DataFrame]
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
