"""Names for people are those of the registries."""

from __future__ import annotations

from reports.source.names import METHODS, MODELS, model_name, scorer_name, technique_name


def test_names_are_the_titles_of_the_registries() -> None:
    import pasta.models.catalog  # noqa: F401  fills the registry
    from pasta.explanations import catalog
    from pasta.models import base

    assert {one.key: one.metadata["title"] for one in catalog.METHODS.entries()} == METHODS
    assert {one.key: one.metadata["title"] for one in base.MODELS.entries()} == MODELS


def test_unknown_names_are_shown_as_they_are() -> None:
    assert technique_name("own method") == "own method"
    assert technique_name("own/vit_b_16") == "own on ViT-B"
    assert technique_name("dff/concept_bottleneck", short=True) == "DFF · CBM"
    assert model_name("other") == "other" and scorer_name("other") == "other"
