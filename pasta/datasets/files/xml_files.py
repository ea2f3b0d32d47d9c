"""Annotations in XML files, with errors that name the file and the element."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from pasta.errors import InputError


def text_in(parent: Element, tag: str, file: Path) -> str:
    """Return the text of an element that must be there and say something."""
    text = (parent.findtext(tag) or "").strip()
    if not text:
        raise InputError(f"<{parent.tag}> has no <{tag}>", file=file, expected="an XML annotation")
    return text


def number_in(parent: Element, tag: str, file: Path) -> float:
    """Return the number in an element, which must be finite."""
    text = text_in(parent, tag, file)
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"<{tag}> is {text!r}", file=file, expected="a number")
    return value


def parse_xml(file: Path) -> Element:
    """Parse an XML file; a document type is refused, as it could expand entities."""
    builder = TreeBuilder()
    parser = expat.ParserCreate()

    def refuse(*_: Any) -> None:
        raise InputError("a document type is declared", file=file, expected="plain XML")

    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    try:
        parser.Parse(file.read_bytes(), True)
        return builder.close()
    except FileNotFoundError:
        raise InputError("there is no such file", file=file, expected="an XML annotation") from None
    except (expat.ExpatError, OSError, ValueError, LookupError) as error:
        raise InputError(f"not readable as XML: {error}", file=file) from None
