"""Profiles: small files in ``pipelines/profiles`` that say what differs from ``params.yaml``.

The demo is ``params.yaml`` itself. A profile is laid over it key by key: a mapping is merged, a
list or a value replaced, and a key whose value is ``~drop`` is taken out.
"""

from __future__ import annotations

import copy
import io
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from pasta.errors import PastaError
from pasta.git import committed
from pasta.params import parse_yaml
from pasta.paths import PARAMS, PROFILES
from pasta.registry import did_you_mean

DEMO = "demo"
DROP = "~drop"


def profile_names(root: Path) -> list[str]:
    """All profiles, the demo first."""
    return [DEMO, *sorted(path.stem for path in (root / PROFILES).glob("*.yaml"))]


def profile_text(name: str, root: Path) -> str:
    """The whole ``params.yaml`` of a profile, as text."""
    known = profile_names(root)
    if name not in known:
        raise PastaError(f"there is no profile called {name!r}. {did_you_mean(name, known)}")
    base = demo_text(root)
    if name == DEMO:
        return base
    file = root / PROFILES / f"{name}.yaml"
    changes = parse_yaml(file, file.read_text())
    merged = overlay(parse_yaml(root / PARAMS, base), changes)
    return _header(name) + _dump(merged)


def demo_text(root: Path) -> str:
    """The demo's ``params.yaml``: the file itself, or the last committed one that was its."""
    now = (root / PARAMS).read_text()
    for text in chain([now], committed(root, PARAMS, most=200)):
        if parse_yaml(root / PARAMS, text).get("profile") == DEMO:
            return text
    raise PastaError(
        f"{root / PARAMS}: is not the demo's, and no commit has it; profiles are laid over it"
    )


def overlay(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The base with the changes laid over it; neither is touched.

    >>> overlay({"a": {"b": 1, "c": 2}}, {"a": {"b": 3, "c": "~drop"}})
    {'a': {'b': 3}}
    """
    merged = copy.deepcopy({**base})
    for key, value in changes.items():
        if value == DROP:
            merged.pop(key, None)
        elif isinstance(value, Mapping) and isinstance(merged.get(key), Mapping):
            merged[key] = overlay(merged[key], value)
        elif isinstance(value, Mapping):
            merged[key] = overlay({}, value)
        else:
            merged[key] = copy.deepcopy(value)
    return merged


def _header(name: str) -> str:
    return (
        f"# The profile {name!r}: {PROFILES / name}.yaml laid over the demo's {PARAMS}, whose\n"
        f"# comments say what the keys mean. `pasta profile use {DEMO}` brings that file back.\n"
    )


def _dump(value: Mapping[str, Any]) -> str:
    """Block style, but short lists in one line."""
    from ruamel.yaml import YAML

    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = None
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    yaml.width = 100
    out = io.StringIO()
    yaml.dump(dict(value), out)
    return out.getvalue()
