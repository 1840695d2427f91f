"""Reads the `name = value` lines of a page of vectors; a value is hex, or text in quotes."""

import pathlib

DOCS = pathlib.Path(__file__).resolve().parents[3] / "docs" / "protocol"


def written(page):
    """{name: bytes} of all code blocks of a page, continued lines joined."""
    found, name, inside = {}, None, False
    for line in (DOCS / page).read_text().splitlines():
        if line.startswith("```"):
            inside, name = not inside, None
        elif not inside or line.startswith("#"):
            name = None
        elif line.startswith("  ") and name:
            found[name] += line[2:]
        elif " = " in line:
            name, _, text = line.partition(" = ")
            assert name not in found, f"{name} stands twice on {page}"
            found[name] = text
    return {name: _bytes(text) for name, text in found.items()}


def _bytes(text):
    return text[1:-1].encode() if text.startswith('"') else bytes.fromhex(text)
