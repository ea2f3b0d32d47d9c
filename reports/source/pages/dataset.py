"""dataset.pdf: images, models, techniques, perturbed copies, votes, and what people prefer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from pasta.annotations.protocol import Protocol
from reports.source.document import (
    Block,
    Column,
    Document,
    Heading,
    Note,
    PageBreak,
    Picture,
    Table,
    Text,
)
from reports.source.names import METHODS, dataset_name, model_name, technique_name
from reports.source.pages.parts import Tables, chosen, missing, one, picture, table
from reports.source.pages.preference import preference_blocks
from reports.source.plots.preference import perturbations_figure, stars_figure
from reports.source.words import count, listed, number, share, whole

SPLITS = ("train", "validation", "test")
STATUSES = {
    "ok": "usable",
    "zero": "zero everywhere",
    "constant": "the same everywhere",
    "nan": "not a number",
}
GALLERIES = {
    "resnet50": "Saliency maps of ResNet50, a row for each image.",
    "vit_b_16": "Saliency maps of ViT-B for the same images.",
    "clip_zero_shot": "Saliency maps of CLIP-zero-shot for the same images.",
    "concepts": "Concept explanations: bars to the right speak for the predicted class.",
}


def dataset_report(
    tables: Mapping[str, Tables], pictures: Mapping[str, Path], simulated: bool, protocol: Protocol
) -> Document:
    """Make the report on the data.

    Parameters
    ----------
    tables
        ``dataset``: those of :func:`analysis.suites.dataset.dataset_tables`, and ``accuracy``
        (dataset, model, measure, estimate, low, high) if known. ``preference``: those of
        :func:`analysis.suites.preference.preference_tables`.
    pictures
        Files by name: datasets, resnet50, vit_b_16, clip_zero_shot, concepts. Names that are not
        there are said to be missing.
    simulated
        Whether the votes are those of simulated raters.
    protocol
        What was asked.
    """
    counts, preferences = tables.get("dataset", {}), tables.get("preference", {})
    blocks: list[Block] = [
        *_summary(counts),
        *_images(counts, pictures),
        *_models(counts),
        *_techniques(counts),
        *_gallery(pictures),
        *_perturbed(counts),
        *vote_blocks(counts, protocol, simulated),
        *preference_blocks(preferences, protocol),
    ]
    about = "Images, models, techniques, votes, and what people prefer"
    return Document("dataset", "The dataset", about, blocks, simulated)


def _summary(counts: Tables) -> list[Block]:
    facts = table(counts, "study")
    values = {} if facts.empty else dict(zip(facts["what"], facts["value"], strict=True))
    if not values:
        return [Heading("What is here"), missing(counts, "Everything", "study")]

    def of(what: str, noun: str, plural: str | None = None) -> str:
        return count(int(values[what]), noun, plural) if what in values else ""

    sizes = [
        of("images", "image"), of("techniques", "technique"), of("explanations", "explanation"),
        of("samples", "rated explanation"), of("annotators", "annotator"), of("votes", "vote"),
    ]  # fmt: skip
    said = f"This study has {listed([size for size in sizes if size])}."
    if "explained images" in values and "images" in values:
        said += (
            f" Classifiers were trained and tested on all images; "
            f"{of('explained images', 'image')} of the test "
            f"{'part was' if values['explained images'] == '1' else 'parts were'} explained."
        )
    if "first day" in values and "last day" in values:
        said += f" Votes carry dates from {values['first day']} to {values['last day']}."
    return [Heading("What is here"), Text(said)]


def _images(counts: Tables, pictures: Mapping[str, Path]) -> list[Block]:
    blocks: list[Block] = [Heading("Images")]
    splits, classes = table(counts, "splits"), table(counts, "classes")
    if splits.empty:
        return [*blocks, missing(counts, "Images", "splits")]
    rows = []
    for dataset in dict.fromkeys(splits["dataset"]):
        own = chosen(splits, dataset=dataset).set_index("split")["n"]
        sizes = chosen(classes, dataset=dataset)["n"]
        row = {"dataset": dataset_name(str(dataset)), "total": int(own.sum())}
        row |= {split: int(own.get(split, 0)) for split in SPLITS}
        row |= {"classes": len(sizes), "least": sizes.min(), "most": sizes.max()}
        rows.append(row)
    frame = pd.DataFrame(rows)
    even = bool((frame["least"] == frame["most"]).all())
    said = (
        "Within each dataset all classes have the same number of images."
        if even
        else "Classes differ in size: " + listed(_sizes(frame[frame["least"] != frame["most"]]))
    )
    names = listed([f"{row['dataset']} ({count(int(row['classes']), 'class', 'classes')})"
                    for _, row in frame.iterrows()])  # fmt: skip
    blocks.append(Text(f"The images come from {names}. {said}"))
    columns = [Column("dataset", "Dataset"), Column("classes", "Classes", "0")]
    columns += [Column(split, split.capitalize(), "0") for split in SPLITS]
    columns += [
        Column("total", "All", "0"),
        Column("least", "Smallest class", "0"),
        Column("most", "Largest class", "0"),
    ]
    blocks.append(Table(frame, columns, "Images of each dataset, by split and class."))
    blocks += _file(
        pictures, "datasets", "Some images of each dataset with their parts.", "Images", 0.82
    )
    return blocks


def _sizes(frame: pd.DataFrame) -> list[str]:
    return [
        f"{row['dataset']} from {whole(row['least'])} to {whole(row['most'])} images"
        for _, row in frame.iterrows()
    ]


def _file(
    pictures: Mapping[str, Path], name: str, caption: str, what: str, width: float = 1.0
) -> list[Block]:
    file = pictures.get(name)
    if file is None or not file.is_file():
        return [Note(f"{what}: the picture {name} has not been drawn.", "missing")]
    return [Picture(file, caption, caption, width)]


def _models(counts: Tables) -> list[Block]:
    blocks: list[Block] = [PageBreak(), Heading("Models")]
    scores = chosen(table(counts, "accuracy"), measure="accuracy")
    if scores.empty:
        return [*blocks, Note("Accuracy of the models: it was not measured.", "missing")]
    ordered = scores.sort_values("estimate", kind="stable")
    worst, best = ordered.iloc[0], ordered.iloc[-1]
    blocks.append(
        Text(
            f"The {count(scores['model'].nunique(), 'classifier')} were tested on images that they "
            f"were not trained on. Accuracy goes from {share(worst['estimate'])} "
            f"({model_name(worst['model'])} on {dataset_name(worst['dataset'])}) to "
            f"{share(best['estimate'])} ({model_name(best['model'])} on "
            f"{dataset_name(best['dataset'])}). An explanation of a wrong prediction can be rated "
            "too: people are asked about the explanation, not about the class."
        )
    )
    datasets = list(dict.fromkeys(scores["dataset"]))
    rows = []
    for model in dict.fromkeys(scores["model"]):
        row = {"model": model_name(str(model))}
        for dataset in datasets:
            cell = one(scores, model=model, dataset=dataset)
            row[str(dataset)] = "" if cell is None else _accuracy(cell)
        rows.append(row)
    columns = [Column("model", "Model")]
    columns += [Column(str(dataset), dataset_name(str(dataset))) for dataset in datasets]
    caption = "Accuracy on test images in per cent, with 95 % interval."
    blocks.append(Table(pd.DataFrame(rows), columns, caption))
    return blocks


def _accuracy(cell: Mapping[str, float]) -> str:
    ends = f"[{number(100 * cell['low'], 0)}, {number(100 * cell['high'], 0)}]"
    return f"{number(100 * cell['estimate'], 1)} {ends}"


def _techniques(counts: Tables) -> list[Block]:
    blocks: list[Block] = [Heading("Techniques")]
    found = table(counts, "techniques")
    if found.empty:
        return [*blocks, missing(counts, "Techniques", "techniques")]
    said = [f"A technique is a method on a backbone: there are {len(found)}."]
    if found["extra"].notna().all():
        extra = int(found["extra"].astype(bool).sum())
        said.append(
            f"{len(found) - extra} are those of the papers, {extra} are extras that are computed "
            "and measured but not rated."
            if extra and not found.loc[found["extra"].astype(bool), "rated"].any()
            else f"{len(found) - extra} are those of the papers, {extra} are extras."
        )
    bad = int(found["n"].sum() - found["ok"].sum())
    total = int(found["n"].sum())
    kinds = [
        f"{whole(found[name].sum())} are {words}"
        for name, words in STATUSES.items()
        if name != "ok" and found[name].sum()
    ]
    said.append(
        f"All {whole(total)} explanations are usable."
        if not bad
        else f"Of {count(total, 'explanation')}, {whole(total - bad)} are usable; "
        f"{listed(kinds)} ({listed(_failing(found))}). Nothing was put in their place."
    )
    blocks.append(Text(" ".join(said)))
    methods = found.assign(method=found["method"].map(lambda key: METHODS.get(key, key)))
    grouped = methods.groupby(["kind", "method"], sort=False)
    summed = grouped[["n", *STATUSES, "rated"]].sum().reset_index()
    backbones = grouped["backbone"].agg(lambda keys: ", ".join(model_name(key) for key in keys))
    summed = summed.assign(backbones=backbones.to_numpy())
    summed = summed.sort_values("kind", ascending=False, kind="stable")
    columns = [Column("method", "Method"), Column("kind", "Kind"), Column("backbones", "Backbones")]
    columns += [Column("n", "All", "0")]
    columns += [Column(name, name.capitalize(), "0") for name in STATUSES]
    columns += [Column("rated", "Rated", "0")]
    note = "Status: " + "; ".join(f"_{name}_ {words}" for name, words in STATUSES.items()) + "."
    blocks.append(Table(summed, columns, "Explanations by method, with their status.", note))
    return blocks


def _failing(found: pd.DataFrame) -> list[str]:
    bad = found.assign(bad=found["n"] - found["ok"])
    bad = bad[bad["bad"] > 0].sort_values("bad", ascending=False, kind="stable").head(4)
    return [f"{technique_name(row['technique'])}: {whole(row['bad'])}" for _, row in bad.iterrows()]


def _gallery(pictures: Mapping[str, Path]) -> list[Block]:
    blocks: list[Block] = [PageBreak(), Heading("Gallery")]
    for name, caption in GALLERIES.items():
        blocks += _file(pictures, name, caption, "Gallery")
    return blocks


def _perturbed(counts: Tables) -> list[Block]:
    blocks: list[Block] = [Heading("Perturbed copies")]
    strengths = table(counts, "strengths")
    if strengths.empty:
        return [*blocks, missing(counts, "Perturbed copies", "strengths")]
    said = [
        "Questions Q5 and Q6 show an explanation beside that of a changed copy of the image. A "
        "light change should leave the prediction as it was, a strong one should change it."
    ]
    for _, row in strengths.iterrows():
        said.append(
            f"Of {whole(row['n'])} {row['strength']} copies the prediction changed for "
            f"{share(row['changed'], 1) if 0 < row['changed'] < 1 else _all_or_none(row)}."
        )
    bad = int(strengths["n"].sum() - strengths["ok"].sum())
    if bad:
        said.append(
            f"{count(bad, 'explanation')} of copies {'is' if bad == 1 else 'are'} not usable."
        )
    blocks.append(Text(" ".join(said)))
    blocks += picture(
        perturbations_figure(table(counts, "perturbations")),
        "How often each perturbation was the one chosen, by strength.",
        "Bar charts of how often each perturbation was chosen, light and strong",
        0.85,
    )
    return blocks


def _all_or_none(row: pd.Series) -> str:
    return "all" if row["changed"] == 1 else "none"


FACTORS = {"sex": "Sex", "age_group": "Age", "country": "Country"}


def vote_blocks(counts: Tables, protocol: Protocol, simulated: bool) -> list[Block]:
    """Numbers of votes, the stars that were given, the plan and the people."""
    blocks: list[Block] = [Heading("Votes")]
    questions = table(counts, "questions")
    if questions.empty:
        return [*blocks, missing(counts, "Votes", "questions")]
    if simulated:
        blocks.append(
            Note(
                "The raters are a program. Every number below and in the chapter on preferences "
                "shows what the analysis makes of such votes, not what people think.",
                "caution",
            )
        )
    blocks.append(Text(" ".join(_in_words(questions))))
    blocks.append(_questions(questions, protocol))
    blocks += picture(
        stars_figure(table(counts, "stars")),
        "Share of each star, by question.",
        "Stacked bars of the share of one to five stars for each question",
    )
    plan = table(counts, "plan")
    if len(plan):
        blocks += [Heading("How the votes are spread", 2), Text(_evenness(plan)), _plan(plan)]
    people = table(counts, "people")
    blocks.append(Heading("Who voted", 2))
    if people.empty:
        return [*blocks, missing(counts, "Age, sex and country", "people")]
    shown = people.assign(factor=people["factor"].map(lambda name: FACTORS.get(name, name)))
    shown = shown.assign(factor=shown["factor"].where(~shown["factor"].duplicated(), ""))
    columns = [
        Column("factor", "Factor"),
        Column("group", "Group"),
        Column("n", "Annotators", "0"),
        Column("votes", "Votes", "0"),
        Column("share", "Share of votes", "percent"),
    ]
    blanks = shown.assign(factor=shown["factor"].replace("", " "))  # a dash would mean missing
    return [*blocks, Table(blanks, columns, "The annotators, as they describe themselves.")]


def _in_words(questions: pd.DataFrame) -> list[str]:
    ordered = questions.sort_values("mean", kind="stable")
    low, high = ordered.iloc[0], ordered.iloc[-1]
    total = int(questions["n"].sum())
    same = bool((questions["n"] == questions["n"].iloc[0]).all())
    each = f", {whole(questions['n'].iloc[0])} on each question" if same else ""
    return [
        f"There are {count(total, 'vote')}{each}.",
        f"The mean goes from {number(low['mean'])} stars on {low['question']} to "
        f"{number(high['mean'])} on {high['question']}.",
    ]


def _questions(questions: pd.DataFrame, protocol: Protocol) -> Table:
    asked = {question.id: question for question in protocol.questions}
    rows = []
    for _, row in questions.iterrows():
        question = asked.get(str(row["question"]))
        wording = "" if question is None else question.wording
        if question is not None and question.note:
            wording = f"{wording} ({question.note})"
        rows.append(row.to_dict() | {"wording": wording})
    columns = [
        Column("question", "Question"),
        Column("wording", "Wording"),
        Column("samples", "Samples", "0"),
        Column("annotators", "Annotators", "0"),
        Column("n", "Votes", "0"),
        Column("mean", "Mean", "0.00"),
        Column("sd", "SD", "0.00"),
    ]
    widths = [0.1, 0.41, 0.1, 0.13, 0.1, 0.08, 0.08]
    caption = "The questions and their votes."
    return Table(pd.DataFrame(rows), columns, caption, "SD: standard deviation.", widths)


def _evenness(plan: pd.DataFrame) -> str:
    rows = {(row["what"], row["of"]): row for _, row in plan.iterrows()}
    votes = rows.get(("annotators", "sample"))
    common = rows.get(("samples in common", "pair of annotators"))
    said = ""
    if votes is not None:
        said = (
            f"Every sample was rated by {whole(votes['least'])} annotators."
            if votes["least"] == votes["most"]
            else f"A sample was rated by {whole(votes['least'])} to {whole(votes['most'])} "
            f"annotators ({number(votes['mean'], 1)} on average)."
        )
    if common is not None:
        said += (
            f" Agreement between annotators rests on what two have in common: "
            f"{whole(common['least'])} to {whole(common['most'])} samples."
        )
    return said.strip()


def _plan(plan: pd.DataFrame) -> Table:
    named = [f"{row['what'].capitalize()} of a {row['of']}" for _, row in plan.iterrows()]
    columns = [
        Column("what", "Number of"),
        Column("levels", "Cases", "0"),
        Column("least", "Fewest", "0"),
        Column("mean", "Mean", "0.0"),
        Column("most", "Most", "0"),
    ]
    shown = plan.assign(what=[name.replace("of a image", "of an image") for name in named])
    shown = shown.assign(what=shown["what"].str.replace("of a annotator", "of an annotator"))
    return Table(shown, columns, "How evenly people and samples met.")
