"""Further ways of embedding, each with one thing changed, so that studies can compare them."""

from __future__ import annotations

from typing import Any

from pasta.embedding.settings import EmbeddingParams

HANDCRAFTED = "handcrafted"


def variants(settings: EmbeddingParams) -> list[EmbeddingParams]:
    """All ways of embedding that the parameters ask for, the usual one first, none twice."""
    more = settings.variants
    changes: list[dict[str, Any]] = [
        {},
        *({"image": image} for image in more.images),
        *({"n_top": number} for number in more.n_top),
        {"text": "sentence", "template": ""},
        {"text": "sentence", "template": more.template},
        *([{"text": "weighted"}] if more.weighted else []),
        *({"encoder": name, "weights": weights} for name, weights in more.encoders.items()),
        {"encoder": HANDCRAFTED},
    ]
    found: list[EmbeddingParams] = []
    for change in changes:
        changed = settings.model_copy(update=change)
        if changed not in found:
            found.append(changed)
    return found
