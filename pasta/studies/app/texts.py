"""What a new study's texts say until somebody edits them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pasta.studies.app.design import CONSENT, INSTRUCTIONS, THANKS

CONSENT_TEXT = """# Taking part

Please read this before you start.

- **What it is about.** You will look at pictures or texts, and at what a computer program makes of
  them, and answer questions. There is nothing to win or lose.
- **It is voluntary.** You can stop at any time, and come back by the same link. You can also
  withdraw: then none of your answers will be used.
- **What is kept.** Your answers, the time that each took, and, if you give them, your age, sex and
  country. Not your name, and not the address of your computer.
- **What it is used for.** Research. The answers may be published without anything that says who
  gave them.

*Whoever runs the study adds here: who is responsible, whom to ask, what is paid, how long the
answers are kept, and the approval of the ethics board.*
"""
THANKS_TEXT = """# Thank you

You have answered everything. You can close this page.
"""


def instructions_text(paragraphs: Sequence[str], lessons: Sequence[tuple[str, str]] = ()) -> str:
    """Instructions as Markdown: paragraphs, then lessons with a title each."""
    parts = ["# What to do", *paragraphs]
    for title, text in lessons:
        parts += [f"## {title}", text]
    return "\n\n".join(parts) + "\n"


def named_texts(consent: str, instructions: str, thanks: str) -> Mapping[str, str]:
    """The texts by the names of their files."""
    return {CONSENT: consent, INSTRUCTIONS: instructions, THANKS: thanks}
