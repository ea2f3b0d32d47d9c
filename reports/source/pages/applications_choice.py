"""Explanations chosen by their score: the mixture, the Pareto front, and examples."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from reports.source.document import Block, Column, Heading, Note, Picture, Table, Text
from reports.source.names import METHODS, dataset_name, model_name, technique_name
from reports.source.pages.parts import Tables, chosen, one, picture, table
from reports.source.plots.applications import comparison_figure, pareto_figure, wins_figure
from reports.source.replication.rows import published_table
from reports.source.words import count, interval, listed, number, share, signed

Parts = Mapping[str, Mapping[str, pd.DataFrame]]
Verdict = Literal["better", "worse", "open", "unknown"]
BLANK = "\N{NO-BREAK SPACE}"  # a cell that is empty on purpose, not for want of a value
MEASURES = {"score": "predicted stars", "faithfulness": "faithfulness", "quality": "true quality"}
SHEET = 1800  # pixels of a picture that is as wide as the text
DIFFERENCE = [
    Column("estimate", "difference", "signed"),
    Column("low", "95 % interval", "interval"),
    Column("better", "better", "0"),
    Column("equal", "equal", "0"),
    Column("worse", "worse", "0"),
]


def verdict(row: Mapping[str, Any] | None, up: int = 1) -> Verdict:
    """Whether a difference is clearly an improvement; ``up`` is -1 where less is better."""
    if row is None or pd.isna(row["low"]) or pd.isna(row["high"]):
        return "unknown"
    low, high = sorted((up * row["low"], up * row["high"]))
    if low > 0:
        return "better"
    return "worse" if high < 0 else "open"


def change(row: Mapping[str, Any], places: int = 2) -> str:
    """ "+0.24 [0.04, 0.47]", without an interval where there are too few images for one."""
    if pd.isna(row["low"]):
        return signed(row["estimate"], places)
    return f"{signed(row['estimate'], places)} {interval(row['low'], row['high'], places)}"


def top(frame: pd.DataFrame, values: pd.Series[Any]) -> dict[str, Any]:
    """The row with the largest of these values, which belong to its rows."""
    return {str(name): value for name, value in frame.iloc[int(values.to_numpy().argmax())].items()}


def served(row: Mapping[str, Any] | None, up: int = 1) -> str:
    """The end of a sentence: would people be better served?"""
    if row is None:
        return "nobody judges whether people would be better served"
    return {
        "better": "people would be better served",
        "worse": "people would be worse served",
        "open": "it is not clear that people would be better served",
        "unknown": "there are too few images to say whether people would be better served",
    }[verdict(row, up)]


def printed(fact: str) -> float:
    """A number from the running text of the papers."""
    values = published_table("pasta_text_numbers").set_index("fact")["value"]
    return float(values[fact])


def method_title(key: str) -> str:
    """``gradcam/resnet50`` or ``gradcam`` as "GradCAM"."""
    method = str(key).partition("/")[0]
    return METHODS.get(method, str(key))


def drawn(
    pictures: Mapping[str, Path], name: str, caption: str, alt: str, share: float = 1.0
) -> list[Block]:
    """A picture file at the size it was drawn for, or a note that it is missing."""
    from PIL import Image

    file = pictures.get(name)
    if file is None or not file.is_file():
        return [Note(f"The picture “{name}” has not been drawn.", "missing")]
    with Image.open(file) as opened:
        width = opened.size[0]
    return [Picture(file, caption, alt, share * min(1.0, width / SHEET))]


HELD_OUT, ALL, CROSSED = "held-out", "all", "cross-fitted"
MEAN, CEILING, ELSEWHERE = "mean of all methods", "best possible", "best on other images"
_SETS = {HELD_OUT: "the public scorer has not seen", CROSSED: "scorers of other folds judge"}
LEGEND = "P: predicted stars, F: faithfulness correlation, Q: true quality."


def mixture_blocks(tables: Tables | None, pictures: Mapping[str, Path], up: int) -> list[Block]:
    """Who wins how often, and what the mixture is worth."""
    blocks: list[Block] = [Heading("A mixture of methods")]
    wins, comparison = table(tables, "wins"), table(tables, "comparison")
    if wins.empty or comparison.empty:
        return [*blocks, Note("The mixture of methods: it was not computed.", "missing")]
    backbone = str(wins["technique"].iloc[0]).partition("/")[2]
    names = {str(key): method_title(str(key)) for key in wins["technique"].unique()}
    blocks += [
        Text(
            f"For each image and {model_name(backbone)}, the explanation with the best predicted "
            f"score is taken. {_winners(wins)} {_ties(table(tables, 'choices'))}"
        ),
        *picture(
            wins_figure(wins, names),
            "How often each method has the best predicted score (P2, Figure 7).",
            "Bar chart of how often each method has the best predicted score",
            0.66,
        ),
        Text(_worth(comparison)),
        _main_table(comparison, up),
        Text(_lost(comparison)),
        *picture(
            comparison_figure(comparison, names),
            "The mixture minus every single method, minus their mean, minus the method that is "
            "best on other images, and minus the best that could have been chosen; 95 % intervals "
            "over images. To the right of the line the mixture is better.",
            "Dot plots of differences between the mixture and every other choice",
            0.78,
        ),
        *drawn(
            pictures,
            "mixture",
            "The first held-out image of each dataset: the three explanations with the best "
            f"predicted scores, and the one with the worst. {LEGEND}",
            "Rows of explanations in the order of their predicted score",
            0.86,
        ),
    ]
    return blocks


def _winners(wins: pd.DataFrame) -> str:
    every = chosen(wins, images=ALL).sort_values("wins", ascending=False)
    some = every[every["wins"] > 0]
    said = [f"{method_title(row['technique'])} {share(row['share'])}" for _, row in some.iterrows()]
    never = len(every) - len(some)
    rest = f"; {count(never, 'method')} never {'wins' if never == 1 else 'win'}" if never else ""
    return (
        f"Of {count(int(every['n'].iloc[0]), 'image')} the shares of wins are: {listed(said)}"
        f"{rest}. In P2 FullGrad won nearly half."
    )


def _ties(choices: pd.DataFrame) -> str:
    if choices.empty:
        return ""
    tied, none = int((choices["tied"] > 1).sum()), int(choices["undecided"].astype(bool).sum())
    if not tied:
        close = choices["margin"].min()
        return f"No win is shared; the closest was decided by {number(close, 3)} stars."
    words = f"On {count(tied, 'image')} the first place is shared, and counts in part for each."
    if none:
        words += f" On {count(none, 'image')} all methods have the same score: nothing is chosen."
    return words


def best_single(
    comparison: pd.DataFrame, images: str, measure: str, up: int = 1
) -> dict[str, Any] | None:
    """The row of the single method that is best on these images, in hindsight."""
    own = chosen(comparison, images=images, measure=measure)
    own = own[own["against"].str.contains("/") & (own["n"] > 0)] if len(own) else own
    sign = up if measure == "score" else 1  # the others are turned so that more is better
    return None if own.empty else top(own, sign * own["second"])


def _worth(comparison: pd.DataFrame) -> str:
    said = [
        "That the mixture scores at least as high as every single method is so by its making and "
        "says nothing about people."
    ]
    rows = {
        name: one(comparison, images=name, measure="quality", against=ELSEWHERE) for name in _SETS
    }
    if all(row is None for row in rows.values()):
        return f"{said[0]} There is no other judge than the score here."
    for name, row in rows.items():
        if row is None:
            continue
        always = str(row["note"]).split(";")[0].removeprefix("always ")
        usual = " or ".join(method_title(key) for key in always.split(" or "))
        said.append(
            f"On the {count(int(row['n']), 'image')} that {_SETS[name]}, the true quality of the "
            f"mixture differs from that of always taking {usual}, the method with the best score "
            f"on other images, by {change(row)}: {served(row)} by a choice for each image."
        )
        top = one(comparison, images=name, measure="quality", against=CEILING)
        if top is not None and name == CROSSED:
            said.append(
                f"The best explanation of each image would have a true quality of "
                f"{number(top['second'])}; the mixture has {number(top['first'])}, and "
                f"{usual} {number(row['second'])}."
            )
    return " ".join(said)


def _lost(comparison: pd.DataFrame) -> str:
    name = CROSSED if len(chosen(comparison, images=CROSSED)) else HELD_OUT
    row = one(comparison, images=name, measure="faithfulness", against=MEAN)
    if row is None:
        return "Faithfulness was not measured."
    words = {
        "better": "The mixture is more faithful than the mean of all methods",
        "worse": "The mixture is paid for with faithfulness: it is less faithful than the mean of "
        "all methods",
        "open": "The mixture is neither clearly more nor clearly less faithful than the mean of "
        "all methods",
        "unknown": "There are too few images to say whether the mixture is as faithful as the "
        "mean of all methods",
    }[verdict(row)]
    return (
        f"{words}: a faithfulness correlation of {number(row['first'], 3)} against "
        f"{number(row['second'], 3)}, {change(row, 3)}. P2 has "
        f"{number(printed('mixture_faithfulness'), 4)} for its selection and "
        f"{number(printed('every_faithfulness'), 4)} for the average, without intervals. "
        "By this metric hardly any map, here or there, tells which pixels the model depends on."
    )


def _main_table(comparison: pd.DataFrame, up: int) -> Table:
    rows = []
    for name in (HELD_OUT, CROSSED):
        for measure, words in MEASURES.items():
            own = chosen(comparison, images=name, measure=measure)
            single = best_single(comparison, name, measure, up)
            for against in (MEAN, ELSEWHERE, "single", CEILING):
                row = single if against == "single" else one(own, against=against)
                if row is None or (against == "single" and measure != "score"):
                    continue
                title = f"{method_title(row['against'])}, best here" if against == "single" else ""
                rows.append({**row, "against": title or against, "measure": words, "images": name})
    return Table(
        pd.DataFrame(rows),
        [
            Column("images", "images"),
            Column("measure", "measure"),
            Column("against", "mixture against"),
            Column("n", "n", "0"),
            Column("first", "mixture", "0.00"),
            Column("second", "other", "0.00"),
            *DIFFERENCE,
        ],
        "The mixture against other ways to choose, paired by image.",
        note="“Best here” is the single method with the best mean score on the same images, known "
        "in hindsight only. Better, equal, worse: on how many images.",
    )


def pareto_blocks(tables: Tables | None, pictures: Mapping[str, Path]) -> list[Block]:
    """Techniques by faithfulness and predicted score, and the Pareto front."""
    blocks: list[Block] = [Heading("Plausible and faithful")]
    places = _complete(table(tables, "places"), "faithfulness", "score")
    if places.empty:
        return [*blocks, Note("Faithfulness against score: it was not computed.", "missing")]
    names = {str(key): _short_title(str(key)) for key in places["technique"]}
    names |= {str(key): model_name(str(key)) for key in places["backbone"].unique()}
    front = places[places["on_front"].astype(bool)].sort_values("score", ascending=False)
    named = [technique_name(str(key)) for key in front["technique"]]
    blocks += [
        Text(
            "P2's Figure 1 asks for explanations that people find good and that follow the model. "
            f"On the mean over {count(int(places['n'].max()), 'image')}, nothing beats "
            f"{listed(named)} in both at once: from the most plausible to the most faithful, these "
            f"are the Pareto front of {count(len(places), 'technique')}. {_agreement(tables)}"
        ),
        *picture(
            pareto_figure(places, names),
            "Mean faithfulness correlation and predicted stars of each technique, with 95 % "
            "intervals; techniques on the front of their classifier are orange, and named as far "
            "as there is room (P2, Figure 1).",
            "Scatter plots of faithfulness against predicted stars, one panel per classifier",
        ),
        _front_table(places),
        *drawn(
            pictures,
            "pareto",
            "The four corners of P2's Figure 1 for the first held-out image of each dataset: "
            "explanations above or below the median of the image's own in faithfulness and score; "
            f"a corner may be empty. {LEGEND}",
            "Rows of explanations: plausible and faithful, plausible only, faithful only, neither",
            0.86,
        ),
    ]
    return blocks


def _short_title(key: str) -> str:
    return technique_name(key, short=True).partition(" ·")[0]


def _complete(frame: pd.DataFrame, *columns: str) -> pd.DataFrame:
    return frame if frame.empty else frame.dropna(subset=list(columns))


def _agreement(tables: Tables | None) -> str:
    rows = _complete(table(tables, "agreement"), "estimate")
    if rows.empty:
        return ""
    said = [
        f"{number(row['estimate'])} {interval(row['low'], row['high'])} on "
        f"{model_name(row['backbone'])}"
        for _, row in rows.iterrows()
    ]
    return (
        "Within an image the two hardly go together: Spearman's correlation between faithfulness "
        f"and score is {listed(said)} on average."
        if (rows["estimate"].abs() < 0.2).all()
        else f"Within an image, Spearman's correlation between the two is {listed(said)}."
    )


def _front_table(places: pd.DataFrame) -> Table:
    own = places[places["on_own_front"].astype(bool)]
    own = own.sort_values(["backbone", "score"], ascending=[True, False])
    own = own.assign(
        name=own["technique"].map(lambda key: _short_title(str(key))),
        classifier=own["backbone"].map(lambda key: model_name(str(key))),
        overall=own["on_front"].astype(bool).map({True: "yes", False: BLANK}),
    )
    columns = [
        Column("name", "method"),
        Column("classifier", "classifier"),
        Column("faithfulness", "faithfulness", "0.000"),
        Column("faithfulness_low", "95 % interval", "interval", other="faithfulness_high"),
        Column("score", "stars", "0.00"),
        Column("score_low", "95 % interval", "interval", other="score_high"),
        Column("front_share", "images", "percent"),
        Column("overall", "front"),
    ]
    if own["quality"].notna().any():
        columns.insert(6, Column("quality", "quality", "0.00"))
    lost = int(places["without_value"].sum())
    note = f"{count(lost, 'map')} without a value {'is' if lost == 1 else 'are'} left out." * bool(
        lost
    )
    return Table(
        own,
        columns,
        "Techniques that no other of the same classifier beats in both. Images: on how many it is "
        "on the image's own front; front: whether it is on that of all classifiers.",
        note=note,
    )


GROUPS = {
    "best": "highest predicted scores",
    "worst": "lowest predicted scores",
    "better than predicted": "people kinder than predicted",
    "worse than predicted": "people harsher than predicted",
}
_VOTES = [f"votes_{star}" for star in range(1, 6)]


def examples_blocks(tables: Tables | None, pictures: Mapping[str, Path]) -> list[Block]:
    """A table of examples, and their pictures."""
    blocks: list[Block] = [Heading("Examples")]
    found = table(tables, "examples")
    if found.empty:
        return [*blocks, Note("Examples: no explanation has both votes and a score.", "missing")]
    unseen = bool(found["held_out"].astype(bool).all())
    furthest = top(found, found["surprise"].abs())
    blocks += [
        Text(
            "Explanations with the best and the worst predicted scores, and those on which votes "
            "and prediction are furthest apart. "
            + (
                "The scorer has not seen their images. "
                if unseen
                else "The scorer may have seen their images: there are no held-out ones. "
            )
            + f"The largest surprise is {technique_name(str(furthest['technique']))} on "
            f"{furthest['sample_id'].split('/')[0]}/{_image(furthest['sample_id'])}: "
            f"{number(furthest['score'])} stars predicted, {number(furthest['mean'])} given. "
            "Surprises were searched for; they are not typical."
        ),
        _table(found),
        *drawn(
            pictures,
            "examples",
            "The same explanations as people see them, with predicted stars and votes.",
            "Rows of explanations: best, worst, better and worse than predicted",
        ),
    ]
    return blocks


def _image(sample: str) -> str:
    return str(sample).split("/")[1]


def _table(found: pd.DataFrame) -> Table:
    inside = found["mean"].between(found["low"], found["high"])
    rows = found.assign(
        set=found["group"].map(GROUPS).fillna(found["group"]).where(found["place"] == 1, BLANK),
        name=found["technique"].map(lambda key: technique_name(str(key))),
        image=[
            f"{dataset_name(str(dataset))} {_image(sample)}"
            for dataset, sample in zip(found["dataset"], found["sample_id"], strict=True)
        ],
        votes=[
            " ".join(
                str(star) for star, name in enumerate(_VOTES, 1) for _ in range(int(row[name]))
            )
            for _, row in found.iterrows()
        ],
        ends=[
            interval(low, high, 1) for low, high in zip(found["low"], found["high"], strict=True)
        ],
    )
    return Table(
        rows,
        [
            Column("set", "group"),
            Column("image", "image"),
            Column("name", "technique"),
            Column("score", "predicted", "0.00"),
            Column("ends", "90 % interval"),
            Column("votes", "votes"),
            Column("mode", "mode", "0"),
            Column("mean", "mean", "0.0"),
        ],
        "Votes and predicted stars, laid out as P1's Tables 21 and 22.",
        note=f"On {int(inside.sum())} of {len(found)} the mean vote lies within the predicted "
        "interval.",
        widths=[0.15, 0.17, 0.2, 0, 0, 0, 0, 0],
    )
