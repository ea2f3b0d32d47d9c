"""DVC stage `headlines`: the numbers of the reports that others look up, as DVC metrics."""

from __future__ import annotations

from pasta import store
from pasta.paths import HEADLINES, project_root
from pasta.stage import run_stage
from reports.found import Found
from reports.pages.headlines import READS, headline_numbers


def main() -> None:
    """Write reports/headlines.json."""
    root = project_root()
    store.write_json(headline_numbers(Found(root, READS).parts), root / HEADLINES)


if __name__ == "__main__":
    run_stage(main)
