"""The command `pasta`, started from a package that google-pasta does not have.

google-pasta installs a module ``pasta``, too. If Python finds that one first, this says so, where
``from pasta.cli import main`` would only say that there is no such module.
"""

from __future__ import annotations

import sys

import pasta

OTHER = (
    "error: Python finds another package in the place of PASTA, {file}, most likely google-pasta, "
    "which TensorFlow installs. `pip uninstall google-pasta` and then `pip install "
    "--force-reinstall --no-deps pasta-xai`, or use an environment without TensorFlow."
)


def main() -> None:
    """Run `pasta`, or say that another package has its name."""
    if "explain" not in getattr(pasta, "__all__", ()):
        sys.exit(OTHER.format(file=pasta.__file__))
    from pasta.cli import main as run

    run()
