"""The code blocks of README.md: commands and Python, and which of them a test cannot run."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from tests.conftest import ROOT

PROGRAMS = ("curl", "dvc", "git", "make", "mlflow", "pasta")
_MARKER = re.compile(r"<!-- not run: (.+) -->")


@dataclass(frozen=True)
class Block:
    """Some lines of code."""

    line: int  # where it starts in the file
    language: str  # sh, python, or another word behind the fence
    text: str
    not_run: str | None  # why

    @property
    def commands(self) -> list[list[str]]:
        """The commands in their words, without comments."""
        return [
            shlex.split(part, comments=True)
            for line in self.text.splitlines()
            for part in line.split(" && ")
            if part.strip()
        ]


def readme_blocks() -> list[Block]:
    """All blocks, fenced or indented; a comment before a block says that it is not run."""
    found: list[Block] = []
    own: list[str] = []
    language, start, reason = "", 0, None
    lines = (ROOT / "README.md").read_text().splitlines()
    for number, line in enumerate([*lines, "end"], start=1):
        fence = line.startswith("```")
        if fence and not language:
            language, start, own = line.removeprefix("```") or "text", number, []
        elif language and language != "indented":
            if not fence:
                own.append(line)
                continue
            found.append(Block(start, language, "\n".join(own), reason))
            language, reason = "", None
        elif line.startswith("    ") and not fence:
            if not language:
                language, start, own = "indented", number, []
            own.append(line[4:])
        elif language == "indented" and line.strip():
            found.append(Block(start, _kind(own), "\n".join(own).strip("\n"), reason))
            language, reason = "", None
        elif language == "indented":
            own.append("")
        if not language and line.strip() and not fence:
            marked = _MARKER.fullmatch(line)
            reason = marked[1] if marked else None
    return found


def _kind(lines: list[str]) -> str:
    """Commands, if every line is one."""
    first = [line.split()[0] for line in lines if line.strip()]
    return "sh" if all(word in PROGRAMS for word in first) else "text"
