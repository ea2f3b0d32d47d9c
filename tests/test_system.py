"""`make system`: what the tests need from the system, or how to get it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT

SCRIPT = ROOT / "tests" / "system.sh"
APT = '#!/bin/sh\necho "$@" >> "$LOG"\nexit "$RESULT"\n'


def run(folder: Path, user: int | None = 0, result: int = 0) -> tuple[str, list[str]]:
    """Run the script where Chromium is missing; returns what it said and what apt-get was asked."""
    script = folder / "system.sh"
    text = SCRIPT.read_text().replace("/usr/bin/chromium", str(folder / "no-chromium"))
    text = text.replace("/usr/lib/postgresql", str(folder / "no-postgresql"))
    script.write_text(text.replace("/etc/postgresql-common", str(folder / "etc")))
    tools = folder / "bin"
    tools.mkdir()
    for name in ("bash", "tr", "mktemp", "rm", "mkdir", "tail", "ls"):
        found = next(
            Path(one) / name for one in ("/usr/bin", "/bin") if (Path(one) / name).exists()
        )
        (tools / name).symlink_to(found)
    if user is not None:
        for name, content in (("apt-get", APT), ("id", f"#!/bin/sh\necho {user}\n")):
            (tools / name).write_text(content)
            (tools / name).chmod(0o755)
    log = folder / "log"
    log.touch()
    environment = {"PATH": str(tools), "LOG": str(log), "RESULT": str(result)}
    command = ["/bin/bash", str(script)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout + done.stderr, log.read_text().splitlines()


def test_root_updates_once_and_installs_what_is_missing(tmp_path: Path) -> None:
    said, asked = run(tmp_path)
    assert [("update" in line, "install" in line) for line in asked] == [
        (True, False),
        (False, True),
    ]
    assert asked[1].endswith("chromium postgresql")
    assert "installing chromium postgresql" in said
    assert list((tmp_path / "etc").rglob("*.conf")) == []


@pytest.mark.parametrize(("user", "result"), [(1000, 0), (None, 0), (0, 1)])
def test_without_root_or_apt_get_or_network_it_says_what_to_do(
    user: int | None, result: int, tmp_path: Path
) -> None:
    said, asked = run(tmp_path, user, result)
    assert "chromium postgresql" in said
    assert "skipped" in said
    assert len(asked) == (1 if result else 0)


@pytest.mark.skipif(not os.access("/usr/bin/chromium", os.X_OK), reason="Chromium is not there")
def test_with_both_there_it_does_nothing() -> None:
    if not list(Path("/usr/lib/postgresql").glob("*/bin/initdb")):
        pytest.skip("PostgreSQL is not there")
    done = subprocess.run(["/bin/bash", SCRIPT], capture_output=True, text=True, check=True)
    assert done.stdout + done.stderr == ""
