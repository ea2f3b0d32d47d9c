"""The rehearsal, stage by stage: seconds and memory of the papers' architectures without a GPU.

In a clone of its own, because it takes hours and leaves its own params.yaml and dvc.lock there::

    git clone . ../rehearsal && cd ../rehearsal && make setup
    pasta data rehearse && pasta profile use rehearsal_short
    PASTA_WORKERS=1 PASTA_PRECISION=bfloat16 python -m tests.benchmarks.rehearsal

The profile `rehearsal` has all 24 groups of classifiers. Processors that know bfloat16 encode about
three times as fast with it.

Every stage of dvc.yaml is one `dvc repro --single-item`, in the order of the pipeline; the rows are
added to build/rehearsal.md. A stage that is up to date takes a second, so it goes on where it
stopped.
"""

from __future__ import annotations

from graphlib import TopologicalSorter
from pathlib import Path

from dvc.repo import Repo

from tests.benchmarks.measuring import HEAD, measure


def stages_in_order() -> list[str]:
    """The names of all stages, each after those it depends on."""
    with Repo() as repo:
        graph = repo.index.graph  # an edge leads from a stage to what it depends on
        before = {stage: list(graph.successors(stage)) for stage in graph.nodes}
        found = TopologicalSorter(before).static_order()
        return [stage.addressing for stage in found if not stage.frozen]


def main() -> None:
    """Run all stages, and write the table while it grows."""
    table = Path("build") / "rehearsal.md"
    table.parent.mkdir(exist_ok=True)
    if not table.is_file():
        table.write_text(HEAD + "\n")
    for name in stages_in_order():
        command = ["dvc", "repro", "--single-item", name]
        row = measure(name, "", command, Path(), table.with_suffix(".log"))
        with table.open("a") as stream:
            stream.write(f"{row}\n")


if __name__ == "__main__":
    main()
