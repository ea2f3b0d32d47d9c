"""The attention study as the generic code sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from pasta import tables as project_tables
from pasta.config import Params
from pasta.contracts import Table
from pasta.layout import Group, explained_groups, groups
from pasta.paths import DATA, project_root
from pasta.store import read
from pasta.studies.attention import coco, tables
from pasta.studies.attention.analyses import attention_tables, draw_pictures
from pasta.studies.attention.geometry import problem
from pasta.studies.attention.masks import failed_checks, image_attention
from pasta.studies.attention.material import image_table, read_maps, read_material
from pasta.studies.attention.plan import marking_plan
from pasta.studies.attention.settings import NAME, AttentionParams
from pasta.studies.attention.simulation import simulate
from pasta.studies.attention.texts import stored_texts
from pasta.studies.base import Finding, Format, Frames, Simulated, Study, place, quoted
from pasta.studies.registry import STUDIES

VERSION = "attention-1"
_FIXES = {
    "it crosses itself": "draw it again, or repair it (shapely.make_valid)",
    "it is not closed": "repeat the first point at the end",
    "it lies outside": "give pixels of the image as it is stored here, origin top left",
    "it reaches beyond": "give pixels of the image as it is stored here, origin top left",
}
_FIX = "write it like POLYGON ((10 10, 40 10, 40 30, 10 10)), in pixels"


@STUDIES.register(NAME)
def attention(params: Params) -> Study:
    """The attention study as the parameters describe it."""
    settings = params.attention
    size = params.image_size
    parts = dict(tables.PARTS)
    parts["regions"] = replace(parts["regions"], check=partial(bad_regions, size=(size, size)))
    parts["words"] = replace(parts["words"], check=bad_words)
    return Study(
        NAME,
        "people mark what shows the class, and say how good a map is",
        VERSION,
        parts,
        people="people",
        cells=tables.CELLS,
        references=tables.REFERENCES,
        optional=tables.OPTIONAL,
        formats=(
            Format(
                "coco",
                "annotations as in COCO: images, annotations with segmentation and annotator_id",
                lambda content, _: coco.is_coco(content),
                lambda content, file, _, ids: coco.from_content(content, file, ids),
            ),
        ),
        outside=outside,
        makes_outside="dvc repro explain",
        rated="image_id",
        plan=partial(planned, settings=settings),
        simulate=first_answers,
        outcomes=outcomes,
        summarise=summarise,
        analyses=(NAME,),
        reports=(NAME,),
        analyse=attention_tables,
        draw=draw_pictures,
        reads=sources,
        settings=settings.model_dump(mode="json"),
        lenient=True,
    )


def sources(root: Path) -> list[Path]:
    """What the simulated answers are made from: the images, the explanations and the texts."""
    here = explained_groups(root)
    folders = [*dict.fromkeys(one.images for one in here), *(one.explanations for one in here)]
    return [*folders, *([root / DATA / "texts"] if stored_texts(root) else [])]


def outside(root: Path) -> Frames:
    """The images and explanations that are there."""
    known = groups(root=root)
    built = [one for one in known if (one.images / "images.parquet").is_file()]
    found: dict[str, pd.DataFrame] = {}
    if built:
        found["attention_images"] = image_table(built)[["image_id"]]
    explained = [
        read(one.explanations / "explanations.parquet", project_tables.EXPLANATIONS)
        for one in explained_groups(root)
    ]
    if explained:
        found["explanations"] = pd.concat(explained, ignore_index=True)[["sample_id"]]
    return found


def planned(here: Sequence[Group], params: Params, settings: AttentionParams) -> pd.DataFrame:
    """Who marks which images, the checks first."""
    material = read_material(here, settings)
    return marking_plan(
        [one.image_id for one in material.images],
        [one.image_id for one in material.checks],
        settings.people,
        settings.samples,
        params.seeds.simulating,
    ).rename(columns={"sample": "image_id"})


def first_answers(here: Sequence[Group], params: Params) -> Simulated:
    """The answers of simulated people, or none."""
    settings = params.attention
    empty = {name: part.table.frame([]) for name, part in tables.PARTS.items()}
    if settings.source == "imported":
        return Simulated(empty, {})
    material = read_material(here, settings)
    maps = read_maps(here, settings, list(material.objects), rated_only=True)
    root = here[0].data.parent.parent if here else Path()
    known = stored_texts(root)
    chosen = list(known.items())[: settings.texts]
    texts = {name: (len(one), sorted(one.cues)) for name, one in chosen}
    rows, truth = simulate(material, maps, settings, params.seeds.simulating, texts)
    frames = {name: tables.PARTS[name].table.frame(rows[name]) for name in tables.PARTS}
    return Simulated(frames, truth)


def bad_regions(rows: pd.DataFrame, _stored: pd.DataFrame, size: tuple[int, int]) -> list[Finding]:
    """Polygons that cross themselves, are open, empty, not finite or outside of the image."""
    findings = []
    for where, image, text in zip(rows.index, rows["image_id"], rows["points"], strict=True):
        wrong = "" if pd.isna(text) else problem(str(text), size)
        if wrong:
            general, _, detail = wrong.partition(" near ")
            general = "it reaches beyond the image" if "beyond" in general else general
            general = general.partition(":")[0]
            fix = next((fix for start, fix in _FIXES.items() if wrong.startswith(start)), _FIX)
            shown = f"{quoted(str(text))} on {image}" + (f", near {detail}" if detail else "")
            problem_of = f"a region cannot be used: {general}"
            findings.append(Finding(problem_of, fix, "regions", place(where), "points", shown))
    return findings


def bad_words(
    rows: pd.DataFrame, _stored: pd.DataFrame, lengths: Mapping[str, int] | None = None
) -> list[Finding]:
    """Words beyond the end of their text, and texts that are not known.

    ``lengths`` are the numbers of words of the texts; None takes those of the project.
    """
    if lengths is None:
        lengths = {name: len(one) for name, one in stored_texts(project_root()).items()}
    findings = []
    for where, text, words in zip(rows.index, rows["text_id"], rows["words"], strict=True):
        if str(text) not in lengths:
            fix = "correct the id; `dvc repro texts` makes the texts"
            findings.append(
                Finding(
                    "the text is not known", fix, "words", place(where), "text_id", quoted(text)
                )
            )
            continue
        length = lengths[str(text)]
        last = max(map(int, str(words).split()), default=0) if not pd.isna(words) else 0
        if last >= length:
            fix = "number the words from 0, split at white space, in the text as it is stored here"
            found = f"{last} in {quoted(text)} of {length} words"
            findings.append(
                Finding("a word lies beyond its text", fix, "words", place(where), "words", found)
            )
    return findings


def outcomes(frames: Frames, params: Params) -> Sequence[tuple[Table, pd.DataFrame]]:
    """How many people marked each image and how far they agree, without who fails a check."""
    here = [one for one in groups(params) if (one.images / "images.parquet").is_file()]
    material = read_material(here, params.attention)
    checks = {one.image_id: one.object for one in material.checks}
    failed = failed_checks(frames["regions"], checks, params.attention.passing)
    found = image_attention(frames["regions"], material.objects, list(failed))
    simulated = frames["regions"].groupby("image_id")["simulated"].any()
    rows = [
        {"image_id": image, **one.row(), "simulated": bool(simulated[image])}
        for image, one in found.items()
    ]
    return [(tables.MASKED, tables.MASKED.frame(rows))]


def summarise(frames: Frames, made: Frames) -> dict[str, Any]:
    """How much there is, for the metrics file."""
    masks = made["attention_masks"]
    return {
        "people": len(frames["people"]),
        "regions": len(frames["regions"]),
        "words": len(frames["words"]),
        "ratings": len(frames["goodness"]),
        "images": len(masks),
        "iou": round(float(masks["iou"].mean()), 4) if masks["iou"].notna().any() else None,
    }
