"""Texts in TOML files: every language has all of them."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

import spade_llm
from spade_llm.core.text import load_texts

FILES = [
    path
    for path in sorted(Path(spade_llm.__file__).parent.rglob("*.toml"))
    if {"en", "es"} <= tomllib.loads(path.read_text(encoding="utf-8")).keys()
]


@dataclass(frozen=True, kw_only=True)
class Greetings:
    hello: str
    plural: tuple[str, str]


def keys(table: dict[str, object], prefix: str = "") -> set[str]:
    found = set()
    for name, value in table.items():
        found.add(prefix + name)
        if isinstance(value, dict) and value:
            found |= keys(value, f"{prefix}{name}.")
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_all_languages_have_the_same_texts(path: Path) -> None:
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    # English names of services are those of the wire.
    english, spanish = (
        {key for key in keys(tables[one]) if not key.startswith("service_names.")}
        for one in ("en", "es")
    )

    assert english == spanish


def test_a_missing_or_unknown_text_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "greetings.toml"
    module = str(tmp_path / "greetings.py")

    file.write_text('[en]\nhello = "Hi"\nplural = ["one", "many"]\n')
    assert load_texts(Greetings, module, file.name) == {
        "en": Greetings(hello="Hi", plural=("one", "many"))
    }
    file.write_text('[en]\nhello = "Hi"\n')
    with pytest.raises(TypeError, match="plural"):
        load_texts(Greetings, module, file.name)
    file.write_text('[en]\nhello = "Hi"\nplural = ["one", "many"]\nbye = "Bye"\n')
    with pytest.raises(TypeError, match="bye"):
        load_texts(Greetings, module, file.name)
