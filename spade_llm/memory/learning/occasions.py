"""Which episodes are of one conversation, as people count them. Pure; knows no pattern.

A chat client often has one thread for years: there, what is half a day apart is another
conversation.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from spade_llm.memory.learning.fresh import without_quotes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from spade_llm.memory.store import MemoryEntry, Told

APART = timedelta(hours=12)


@dataclass(frozen=True, slots=True, kw_only=True)
class Occasion:
    """One conversation."""

    told: tuple[Told, ...]

    @property
    def begin(self) -> datetime:
        return began_at(self.told[0].episode)

    def said(self) -> list[tuple[str, str]]:
        """What the person said themselves: the episode's id and the text, message by message."""
        return [
            (told.episode.id, without_quotes(message.content))
            for told in self.told
            for message in told.messages
            if message.role == "user"
        ]


def occasions_of(told: Sequence[Told]) -> list[Occasion]:
    """Oldest first."""
    groups: list[list[Told]] = []
    latest: dict[str | None, list[Told]] = {}
    for one in sorted(told, key=lambda one: (began_at(one.episode), one.episode.id)):
        group = latest.get(one.episode.session)
        if group is None or began_at(one.episode) - _last_at(group[-1]) >= APART:
            group = latest[one.episode.session] = []
            groups.append(group)
        group.append(one)
    return [Occasion(told=tuple(group)) for group in groups]


def began_at(episode: MemoryEntry) -> datetime:
    return episode.valid_at or episode.created_at


def _last_at(told: Told) -> datetime:
    return max((message.at for message in told.messages), default=began_at(told.episode))
