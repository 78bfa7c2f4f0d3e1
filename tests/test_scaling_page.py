"""What docs/scaling.md names as seams is there."""

from __future__ import annotations

import re
from importlib import import_module

from tests.cli.program import ROOT

PAGE = (ROOT / "docs" / "scaling.md").read_text(encoding="utf-8")
SEAM = re.compile(r"`([A-Za-z_]\w+(?:\.\w+)?)` in\s+`spade_llm/([\w/]+)\.py`")


def test_the_seams_are_where_the_page_says() -> None:
    seams = SEAM.findall(PAGE)

    assert len(seams) > 25
    assert [seam for seam in seams if not _is_there(*seam)] == []


def test_every_module_that_is_named_is_named_with_what_is_in_it() -> None:
    assert len(re.findall(r"spade_llm/[\w/]+\.py", PAGE)) == len(SEAM.findall(PAGE))


def test_the_links_of_the_page_lead_somewhere() -> None:
    targets = re.findall(r"\]\(([^)#:]+)\)", PAGE)

    assert [target for target in targets if not (ROOT / "docs" / target).exists()] == []


def _is_there(name: str, module: str) -> bool:
    """Defined or imported there, as the README's test asks."""
    target: object = import_module(f"spade_llm.{module.replace('/', '.')}")
    for part in name.split("."):
        target = getattr(target, part, None)
    return target is not None
