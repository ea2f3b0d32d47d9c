"""The errata of all papers: as printed, as released, corrected, and how it is known."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from ruamel.yaml import YAML

from reports.source.errata_attention import errata as attention_errata
from reports.source.format import listed, number, whole
from reports.source.replication.latec import FAILS, HOLDS, MISPRINT, statement_table
from reports.source.replication.metapredictor import RIGHT, WRONG
from reports.source.replication.metapredictor import errata as metapredictor_errata

Frames = Mapping[str, pd.DataFrame]
FILE = Path(__file__).with_name("errata.yaml")
WRITTEN: dict[str, list[dict[str, str]]] = YAML(typ="safe").load(FILE.read_text(encoding="utf-8"))
COLUMNS = ["paper", "where", "printed", "released", "corrected", "shown_by", "test",
           "verdict"]  # fmt: skip
ERROR, SOUND, OPEN = "error", "holds", "open"
COMPUTED = "computed"
_WITHIN = 0.0101  # of two printed cells that are the same but for rounding
_SESSIONS = (5, 10, 15)  # examples that the meta-predictor's people have seen


def errata_table(published: Frames) -> pd.DataFrame:
    """Everything that was checked, of all papers.

    Parameters
    ----------
    published
        The papers' tables by file name (:func:`reports.source.replication.rows.published_tables`).

    Returns
    -------
    DataFrame
        paper, where, printed, released, corrected, shown_by, test (where a test of this project
        shows it), and verdict: "error", "holds", or "open" where the printed numbers cannot decide.
    """
    filled = _numbers(published)
    rows = [
        _written(paper, entry, filled) for paper, entries in WRITTEN.items() for entry in entries
    ]
    rows += _latec() + _metapredictor(published) + _attention(published)
    order = {paper: place for place, paper in enumerate(WRITTEN)}
    found = pd.DataFrame(rows, columns=COLUMNS)
    return found.sort_values("paper", key=lambda one: one.map(order), kind="stable").reset_index(
        drop=True
    )


def _written(paper: str, entry: Mapping[str, str], filled: Mapping[str, str]) -> dict[str, str]:
    """An entry of the file with its numbers."""
    words = {name: entry.get(name, "").format(**filled) for name in COLUMNS[1:5]}
    calculated = COMPUTED if "{" in entry["corrected"] + entry["printed"] else ""
    test = entry.get("test", "")
    known = ["a test" if test else "", calculated, entry.get("quotes", "")]
    shown = "; ".join(filter(None, known))
    return {"paper": paper, **words, "shown_by": shown, "test": test, "verdict": ERROR}


def _latec() -> list[dict[str, str]]:
    verdicts = {HOLDS: SOUND, FAILS: ERROR, MISPRINT: ERROR}
    return [
        _row("LATEC", line["where"], line["statement"], line["recomputed"],
             verdicts.get(str(line["verdict"]), OPEN))
        for line in statement_table().to_dict("records")
    ]  # fmt: skip


def _metapredictor(published: Frames) -> list[dict[str, str]]:
    found = metapredictor_errata(published)
    verdicts = {RIGHT: SOUND, WRONG: ERROR}
    return [
        _row("Meta-predictor", line["where"], line["statement"], line["computed"],
             verdicts.get(str(line["verdict"]), OPEN))
        for line in found.to_dict("records")
    ]  # fmt: skip


def _attention(published: Frames) -> list[dict[str, str]]:
    return [
        _row("Human attention", line["where"], f"{line['what']}: {line['printed']}",
             line["computed"], SOUND if line["holds"] else ERROR)
        for line in attention_errata(published["human_attention_tests"])
    ]  # fmt: skip


def _row(paper: str, where: Any, printed: Any, corrected: Any, verdict: str) -> dict[str, str]:
    return {
        "paper": paper, "where": str(where), "printed": str(printed).replace("_", " "),
        "released": "", "corrected": str(corrected), "shown_by": COMPUTED, "test": "",
        "verdict": verdict,
    }  # fmt: skip


def _numbers(published: Frames) -> dict[str, str]:
    """The numbers in braces, from the printed tables."""
    texts = published["text_numbers"]

    def said(fact: str, paper: str = "P1") -> float:
        own = texts[(texts["fact"] == fact) & (texts["paper"] == paper)]
        return float(own["value"].iloc[0])

    people, each, rated = (
        said(fact) for fact in ("annotators", "explanations_per_annotator", "rated_samples")
    )
    widths = published["pasta_v1_table23_lime_kernel_width"].set_index("kernel_width")
    scores = widths["pasta_score"]
    equal, cells, ratio = _spearman(published)
    k = np.array(_SESSIONS, np.float64)
    return {
        "scc_equal": whole(equal),
        "scc_rows": whole(cells),
        "scc_ratio": number(ratio),
        "p_reversed": whole(count_reversed(published["pasta_v1_table09_max_sensitivity_vs_human"])),
        "people": whole(people),
        "each": whole(each),
        "once": whole(people * each),
        "rated": whole(rated),
        "needed": whole(rated * said("votes_per_sample") / people),
        "width_text": f"{said('lime_tuned_width'):g}",
        "score_text": number(scores[said("lime_tuned_width")]),
        "width_table": f"{scores.idxmax():g}",
        "width_score": number(scores.max()),
        "p2_ratings": whole(said("ratings", "P2")),
        "p2_samples": whole(said("ratings", "P2") / 6 / said("votes_per_sample", "P2")),
        "sessions": listed([str(one) for one in _SESSIONS]),
        "area": f"{np.trapezoid(np.ones(len(k)), k):g}",
    }


def _spearman(published: Frames) -> tuple[int, int, float]:
    """Cells of P1 whose SCC equals its deviation, all of them, and P2's SCC over P1's."""
    first, second = published["pasta_v1_table03_scorer"], published["pasta_v2_table01_scorer"]
    ablations = published["pasta_v1_ablations_q1"]
    own = first[first["metric"] == "SCC"]
    pairs = np.concatenate(
        [own[["mean", "sd"]].to_numpy(np.float64),
         ablations[["scc_mean", "scc_sd"]].dropna().to_numpy(np.float64)]
    )  # fmt: skip
    equal = (np.abs(pairs[:, 0] - pairs[:, 1]) < _WITHIN).sum()
    both = own.merge(second[second["metric"] == "SCC"], on=["model", "question"])
    ratio = (both["mean_y"] / both["mean_x"]).median()
    return int(equal), len(pairs), float(ratio)


def count_reversed(table: pd.DataFrame) -> int:
    """Pairs of correlations of which the larger has the larger p, by more than rounding.

    All are of the same explanations, so that p falls as the correlation grows.
    """
    r = np.abs(table[["pcc", "scc"]].to_numpy(np.float64).ravel())
    p = table[["pcc_p", "scc_p"]].to_numpy(np.float64).ravel()
    larger = r[:, None] - r[None, :] > _WITHIN
    return int((larger & (p[:, None] > 10 * p[None, :])).sum())
