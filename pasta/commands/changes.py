"""`pasta changes`: what changed since another version, by topic, with intervals and in words."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    import pandas as pd

MOST = 5  # sentences of a topic, unless all are asked for


def changes(
    rev: Annotated[
        str,
        typer.Argument(
            metavar="[REV]", help="a commit, branch, tag or DVC experiment to compare with"
        ),
    ] = "HEAD",
    everything: Annotated[
        bool, typer.Option("--all", help="every number that moved, also within noise")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="machine-readable output")] = False,
    baseline: Annotated[
        bool, typer.Option("--baseline", help="let overview.pdf compare with REV from now on")
    ] = False,
) -> None:
    """Say what changed between REV and the files here.

    `dvc repro` leaves the numbers of all reports in `reports/numbers`, which git keeps; this
    command compares them. A number has changed if it moved by more than its two 95 % intervals
    allow, as if both versions had been measured on different data; what moved less may be chance.
    In each topic the largest change comes first. Nothing is printed of a topic without changes.
    """
    from pasta.paths import BEFORE, project_root
    from reports.source.changes import NOTHING, compare_versions, describe_changes

    root = project_root()
    before, after = read_version(root, rev), read_here(root)
    if baseline:
        _write_before(root, before)
        typer.echo(f"{BEFORE} has the numbers of {rev}; `dvc repro` brings overview.pdf up to date")
        return
    compared = compare_versions(before, after)
    if as_json:
        rows = compared if everything else compared[~compared["verdict"].isin(["same", "noise"])]
        typer.echo(rows.to_json(orient="records", indent=2, force_ascii=False, double_precision=4))
        return
    topics = describe_changes(compared, None if everything else MOST)
    if not topics:
        typer.echo(NOTHING)
    for topic in topics:
        typer.secho(topic["title"], bold=True, nl=False)
        typer.echo(f": {topic['summary']}")
        for sentence in topic["sentences"]:
            typer.echo(f"  - {sentence}")
        if topic["more"]:
            typer.echo(f"  and {topic['more']} more: `pasta changes {rev} --all`")


def keep_before(root: Path) -> None:
    """Let overview.pdf compare with the numbers that are here now, if there are any."""
    from pasta.paths import NUMBERS

    if (root / NUMBERS).is_dir():
        _write_before(root, read_here(root))


def _write_before(root: Path, numbers: dict[str, pd.DataFrame]) -> None:
    from pasta import store
    from pasta.paths import BEFORE
    from reports.source.numbers import join_topics

    with store.atomic(root / BEFORE) as temporary:
        join_topics(numbers).to_csv(temporary, index=False, lineterminator="\n")


def read_here(root: Path) -> dict[str, pd.DataFrame]:
    """The numbers of the files here."""
    from pasta import store
    from pasta.errors import PastaError
    from pasta.paths import NUMBERS

    if not (root / NUMBERS).is_dir():
        raise PastaError(f"{root / NUMBERS}: there are no numbers yet, `dvc repro` makes them")
    return store.read_csvs(root / NUMBERS)


def read_version(root: Path, rev: str) -> dict[str, pd.DataFrame]:
    """The numbers that git keeps of a version."""
    import pandas as pd
    from dvc.api import DVCFileSystem
    from dvc.exceptions import DvcException
    from dvc.scm import SCMError

    from pasta.errors import PastaError
    from pasta.paths import NUMBERS

    try:
        files = DVCFileSystem(str(root), rev=rev)
        found = [str(path) for path in files.glob(f"{NUMBERS.as_posix()}/*.csv")]
        numbers = {}
        for path in found:
            with files.open(path) as file:
                numbers[Path(path).stem] = pd.read_csv(file)
    except (DvcException, SCMError) as error:
        raise PastaError(f"the version {rev!r} cannot be read: {error}") from error
    if not numbers:
        raise PastaError(
            f"the version {rev!r} has no {NUMBERS}: it is older than that folder, or its results "
            "were not committed. After `dvc repro`, `git add dvc.lock reports` and `git commit`."
        )
    return numbers
