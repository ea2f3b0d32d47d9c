"""DVC stage `setting`: what the parameters say that every report repeats.

Reports depend on these few words and not on whole sections of the parameters: another learning
rate makes no report again.
"""

from __future__ import annotations

from pasta.config import load_params
from pasta.paths import project_root
from pasta.stage import run_stage
from reports.source.setting import describe_setting, write_setting


def main() -> None:
    """Write the profile, the drawn datasets and the networks with random weights."""
    write_setting(describe_setting(load_params()), project_root())


if __name__ == "__main__":
    run_stage(main)
