"""The last steps of making a study's folder."""

from __future__ import annotations

import os
from pathlib import Path

from pasta.studies.app.access import new_password, set_password
from pasta.studies.app.design import CONSENT, SETTINGS, load_design, secret_of

PASSWORD = "PASTA_STUDY_PASSWORD"  # noqa: S105 (the name of a variable)


def finish_new(folder: Path, number: int, things: str) -> list[str]:
    """Give a new study its key and a password; returns what to tell who made it."""
    design = load_design(folder)
    secret_of(folder)
    given = os.environ.get(PASSWORD)
    chosen = given or new_password()
    set_password(folder, chosen)
    told = [f"wrote {number:,} {things} for {len(design.seats)} people to {folder}"]
    if not given:
        told.append(f"password of the dashboard: {chosen}")
    return [
        *told,
        f"next: edit {folder / CONSENT} and {folder / SETTINGS}, then",
        f"  pasta study serve {folder}",
        f"  pasta study invite {folder} --count {len(design.seats)}",
    ]
