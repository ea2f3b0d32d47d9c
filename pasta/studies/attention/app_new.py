"""`pasta study attention new`: images to mark, maps to rate and texts, for the browser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from pasta.config import load_params
from pasta.errors import PastaError
from pasta.explanations.rendering import overlay
from pasta.explanations.settings import Style
from pasta.layout import explained_groups
from pasta.paths import project_root
from pasta.registry import did_you_mean
from pasta.studies.attention.app_items import Heat, Image, Shown, Words, write_study
from pasta.studies.attention.material import Maps, Material, read_maps, read_material
from pasta.studies.attention.plan import marking_plan, mixed, rating_plan
from pasta.studies.attention.settings import FIRST, AttentionParams
from pasta.studies.attention.study import VERSION
from pasta.studies.attention.texts import stored_texts
from pasta.texts.documents import Document

IMAGES, MAPS, TEXTS = PARTS = ("images", "maps", "texts")
_MISSING = {
    IMAGES: "there are no images to mark yet: `dvc repro explain` makes images and explanations",
    MAPS: "there are no maps to rate yet: `dvc repro explain` makes them, of the methods and the "
    "backbone in the section attention",
    TEXTS: "there are no texts yet: `dvc repro texts` makes them",
}


def prepare(folder: Path, only: str | None) -> tuple[int, str]:
    """Write the folder of a study with all that there is, or with one part: ``only``.

    Returns
    -------
    How many things are shown, and what they are called.
    """
    if only is not None and only not in PARTS:
        raise PastaError(f"there is no part {only!r}. {did_you_mean(only, list(PARTS))}")
    params, root = load_params(), project_root()
    settings = params.attention
    here = explained_groups(root) if only != TEXTS else []
    material = read_material(here, settings)
    maps = read_maps(here, settings, list(material.objects), rated_only=True)
    texts = stored_texts(root)
    plan, shown = app_plan(
        material, maps, texts, settings, params.seeds.simulating, only, params.embedding.style
    )
    write_study(folder, plan, shown, VERSION, understood=True)
    return len(shown), ", ".join(dict.fromkeys(plan["part"]))


def app_plan(
    material: Material,
    maps: Sequence[Maps],
    texts: Mapping[str, Document],
    settings: AttentionParams,
    seed: int,
    only: str | None = None,
    style: Style = "pasta",
) -> tuple[pd.DataFrame, dict[str, Shown]]:
    """Who sees what, by the plans of the study, and what it is.

    Parameters
    ----------
    material, maps, texts
        What can be shown: maps of images of the material.
    settings, seed
        Of the study and of its plans.
    only
        One of ``images``, ``maps`` and ``texts``; None takes those that there are.
    style
        Of heat maps.

    Returns
    -------
    The plan (annotator_id, item, position, part), and by the name of an item what is shown.
    """
    plans: list[pd.DataFrame] = []
    shown: dict[str, Shown] = {}
    people, each = settings.people, settings.samples
    if material.images and only in (None, IMAGES):
        images, checks = (
            [one.image_id for one in own] for own in (material.images, material.checks)
        )
        plan = marking_plan(images, checks, people, each, seed)
        plans.append(plan.rename(columns={"sample": "item"}).assign(part=IMAGES))
        for check, own in ((True, material.checks), (False, material.images)):
            shown |= {one.image_id: Image(one.pixels, _said(one.label), check) for one in own}
    if maps and only in (None, MAPS):
        samples = mixed([one for own in maps for one in own.samples], seed)
        plan = rating_plan(samples, settings.raters, settings.ratings, FIRST, seed)
        plans.append(plan.rename(columns={"sample_id": "item"}).assign(part=MAPS))
        heats = _heats(material, maps, style)
        shown |= {one: heats[one] for one in dict.fromkeys(plan["sample_id"])}
    if texts and only in (None, TEXTS):
        chosen = dict(list(texts.items())[: settings.texts])
        plan = marking_plan(list(chosen), [], people, each, seed, "t")
        plans.append(plan.rename(columns={"sample": "item"}).assign(part=TEXTS))
        for name, document in chosen.items():
            words = [word.text for word in document.words]
            shown[name] = Words(words, _said(document.label))
    if not plans:
        raise PastaError(_MISSING[only or IMAGES])
    columns = ["annotator_id", "item", "position", "part"]
    return pd.concat([one[columns] for one in plans], ignore_index=True), shown


def _heats(material: Material, maps: Sequence[Maps], style: Style) -> dict[str, Heat]:
    pictures = {one.image_id: one for one in material.images}
    heats = {}
    for own in maps:
        for sample, image, values in zip(own.samples, own.images, own.values, strict=True):
            picture = pictures[image]
            drawn = overlay(picture.pixels, values, signed=False, style=style)
            heats[sample] = Heat(drawn, _said(picture.label))
    return heats


def _said(label: str) -> str:
    return label.replace("_", " ")
