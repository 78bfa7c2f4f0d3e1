"""What several conversations of a person have in common, by a language model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field

from spade_llm.memory.learning.form import Form
from spade_llm.memory.learning.pattern_prompt import (
    MAX_PATTERN_CHARS,
    MAX_PATTERNS,
    REPAIR,
    TOOL,
    build_question,
)
from spade_llm.memory.learning.pattern_rules import MIN_OCCASIONS, pattern_draft
from spade_llm.memory.one_line import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.memory.learning.occasions import Occasion
    from spade_llm.memory.store import MemoryDraft
    from spade_llm.providers.model import ChatModel

DEADLINE_S = 120.0
"""For both calls."""


class _Pattern(BaseModel):
    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True)

    content: str = Field(min_length=1, max_length=MAX_PATTERN_CHARS)
    conversations: Annotated[list[int], Field(max_length=1000)]


class _Patterns(BaseModel):
    model_config = ConfigDict(extra="ignore")

    patterns: list[_Pattern] = Field(max_length=MAX_PATTERNS)


FORM = Form(tool=TOOL, fields=_Patterns, repair=REPAIR, what="patterns")


async def ask_for_patterns(
    model: ChatModel, occasions: Sequence[Occasion], *, deadline_s: float = DEADLINE_S
) -> dict[str, MemoryDraft]:
    """By name. One that names fewer than three of the conversations is left out.

    Raises ModelError; InvalidModelOutput when the second answer is no better than the first.
    """
    if len(occasions) < MIN_OCCASIONS:
        return {}
    found = await FORM.filled(model, build_question(occasions), deadline_s=deadline_s)
    drafts: dict[str, MemoryDraft] = {}
    for one in found.patterns:
        episodes = _episodes(one, occasions)
        if len(episodes) >= MIN_OCCASIONS:
            content = one_line(one.content, MAX_PATTERN_CHARS)
            drafts[f"model\0{content.casefold()}"] = pattern_draft(
                content, episodes, occasions, kind="told by a model"
            )
    return drafts


def _episodes(pattern: _Pattern, occasions: Sequence[Occasion]) -> dict[int, str]:
    """One episode of each conversation; a number that was not given means nothing."""
    places = (number - 1 for number in pattern.conversations)
    return {at: occasions[at].told[0].episode.id for at in places if 0 <= at < len(occasions)}
