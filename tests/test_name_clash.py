"""google-pasta beside or over this package: `import pasta` and `pasta` say so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def install_other(site: Path) -> None:
    """A distribution google-pasta, as pip leaves it behind."""
    (site / "pasta").mkdir(parents=True)
    (site / "pasta" / "__init__.py").write_text("def parse(src): ...\n")
    about = site / "google_pasta-0.2.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: google-pasta\nVersion: 0.2.0\n")


def run(code: str, *path: Path) -> subprocess.CompletedProcess[str]:
    """Python with some folders in front of all others."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, path))}
    return subprocess.run(
        [sys.executable, "-P", "-c", code],
        env=environment,
        cwd=ROOT,
        text=True,
        capture_output=True,
        check=False,
    )


def test_the_import_warns_where_google_pasta_is_installed(tmp_path: Path) -> None:
    install_other(tmp_path)
    done = run("import pasta; print(pasta.__version__)", ROOT, tmp_path)
    assert done.returncode == 0 and done.stdout.strip() == "0.1.0"
    assert f"google-pasta 0.2.0 has its own module `pasta` in {tmp_path}" in done.stderr
    assert "pip uninstall google-pasta" in done.stderr


def test_doctor_names_the_clash_and_fails(tmp_path: Path) -> None:
    install_other(tmp_path)
    done = run(
        "import sys; sys.argv[1:] = ['doctor']; from reports.command import main; main()", ROOT
    )
    assert "no other package of this name" in done.stdout
    done = run(
        "import sys; sys.argv[1:] = ['doctor']; from reports.command import main; main()",
        ROOT,
        tmp_path,
    )
    assert done.returncode == 1 and "google-pasta 0.2.0" in " ".join(done.stdout.split())


def test_the_command_says_when_the_other_package_is_found_first(tmp_path: Path) -> None:
    install_other(tmp_path)
    done = run("from reports.command import main; main()", tmp_path, ROOT)
    assert done.returncode == 1
    assert str(tmp_path / "pasta" / "__init__.py") in done.stderr
    assert "pip uninstall google-pasta" in done.stderr


def test_without_google_pasta_nothing_is_said() -> None:
    done = run("import pasta", ROOT)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
