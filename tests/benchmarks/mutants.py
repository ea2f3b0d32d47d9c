"""Do the tests of a module notice a wrong formula? One small change at a time, by cosmic-ray.

In a clone of its own below ``build``, because the module's file is changed there::

    python -m tests.benchmarks.mutants analysis/utility.py tests/analysis/test_utility.py

A mutant that no test notices "survives" and is printed: write a test, or see that it changes
nothing (a bound of a loop, a name in a message).
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT

COSMIC_RAY = "cosmic-ray==8.7.0"
CONFIG = """[cosmic-ray]
module-path = "{module}"
timeout = {timeout}
excluded-modules = []
test-command = "{python} -m pytest -x -q -p no:xdist {tests}"

[cosmic-ray.distributor]
name = "local"
"""


def prepare_clone(work: Path) -> Path:
    """A clone of the last commit."""
    shutil.rmtree(work, ignore_errors=True)
    work.parent.mkdir(parents=True, exist_ok=True)
    command = ["git", "clone", "--quiet", "--local", str(ROOT), str(work)]
    subprocess.run(command, check=True)
    return work


def run_mutants(module: str, tests: list[str], timeout: float) -> str:
    """Try every mutant of a module and return cosmic-ray's report of those that survive.

    Parameters
    ----------
    module
        The file, from the project's root.
    tests
        Files of tests, which must pass as they are.
    timeout
        Seconds after which the tests of a mutant count as failed.
    """
    clone = prepare_clone(ROOT / "build" / "mutants")
    plain = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", *tests]
    subprocess.run(plain, cwd=clone, check=True)
    text = CONFIG.format(
        module=module, timeout=timeout, python=sys.executable, tests=" ".join(tests)
    )
    (clone / "mutants.toml").write_text(text)
    uv = ["uv", "tool", "run", "--quiet", "--from", COSMIC_RAY]
    for command in (
        ["cosmic-ray", "init", "mutants.toml", "mutants.sqlite"],
        ["cosmic-ray", "exec", "mutants.toml", "mutants.sqlite"],
    ):
        subprocess.run([*uv, *command], cwd=clone, check=True)
    report = [*uv, "cr-report", "--show-diff", "--surviving-only", "mutants.sqlite"]
    done = subprocess.run(report, cwd=clone, check=True, capture_output=True, text=True)
    return done.stdout


def main() -> None:
    """Print the mutants that survive, and how many there are."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("module", help="the file whose formulas are changed")
    parser.add_argument("tests", nargs="+", help="the tests that should notice")
    parser.add_argument("--timeout", type=float, default=120, help="seconds for one mutant")
    given = parser.parse_args()
    print(run_mutants(given.module, given.tests, given.timeout))


if __name__ == "__main__":
    main()
