"""Quota middleware: daily limits and concurrent turns per peer and quota group."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from spade_llm.core.errors import QuotaExceeded
from spade_llm.memory.validation import JID_PATTERN, ROOM_SEPARATOR
from spade_llm.search.language import language_of

if TYPE_CHECKING:
    from spade_llm.assistant.chat.service import ChatTurnInput
    from spade_llm.assistant.history.conversation_cache import Conversation
    from spade_llm.assistant.middleware.usage_ledger import UsageLedger
    from spade_llm.assistant.turn.turn import CallNext, TurnOutcome
    from spade_llm.assistant.turn.turn_recorder import UsageTotals

logger = logging.getLogger(__name__)


QuotaGroupsOf = Callable[[str], tuple[str, ...]]
"""The quota groups of a peer (bare JID, or its seat in a room), decided anew at each call."""


ALL_GUESTS = "*"
"""Quota group of all guests."""
_GROUP_MARKS = ("@", ALL_GUESTS)
"""First characters of quota groups; no bare JID has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaGroups:
    """Quota groups of a peer: its domain, and all guests."""

    own_domain: str
    """Peers of this domain belong to no group of a domain."""
    is_guest: Callable[[str], bool]
    """True if a bare JID is let in as a guest only."""

    def of(self, peer: str) -> tuple[str, ...]:
        """Quota groups of a peer: its domain if that is foreign, all guests if it is a guest."""
        jid = subject_jid(peer)
        domain = jid.rpartition("@")[2]
        together = (f"@{domain}",) if self.own_domain and domain != self.own_domain else ()
        return (*together, ALL_GUESTS) if self.is_guest(jid) else together


def subject_jid(subject: str) -> str:
    """JID that stands for a subject: the person's own, or the room's if that is unknown."""
    person, _, room = subject.partition(ROOM_SEPARATOR)
    return person if JID_PATTERN.fullmatch(person) else room or person


def no_quota_groups(_peer: str) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerQuota:
    """Quota of a peer: daily limits, and concurrent turns. None: no limit."""

    turns: int | None = None
    model_calls: int | None = None
    tool_calls: int | None = None
    tokens: int | None = None
    """Tokens of prompts and answers together."""
    seconds: float | None = None
    """Model time in seconds."""
    concurrent_turns: int | None = None

    @property
    def are_none(self) -> bool:
        """True if no limit is set."""
        return all(getattr(self, field.name) is None for field in fields(self))

    @property
    def in_words(self) -> str:
        """Limits as text; empty if there are none."""
        texts = {
            "turns": "answers a day",
            "model_calls": "model calls a day",
            "tool_calls": "tool calls a day",
            "tokens": "tokens a day",
            "seconds": "seconds of the model a day",
            "concurrent_turns": "at the same time",
        }
        limits = ((getattr(self, name), text) for name, text in texts.items())
        return ", ".join(f"{limit:g} {text}" for limit, text in limits if limit is not None)

    def reached_by(self, spent: UsageTotals) -> str | None:
        """Name of a daily limit that is used up; None if none is."""
        amounts = {
            "turns": spent.turns,
            "model_calls": spent.model_calls,
            "tool_calls": spent.tool_calls,
            "tokens": spent.tokens,
            "seconds": spent.model_seconds,
        }
        limits = {name: getattr(self, name) for name in amounts}
        return next(
            (
                name
                for name, limit in limits.items()
                if limit is not None and amounts[name] >= limit
            ),
            None,
        )


NO_QUOTA = PeerQuota()


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupQuotas:
    """Quotas of groups, in addition to each peer's own; they limit a person with many accounts."""

    guest: PeerQuota = NO_QUOTA
    """Each guest."""
    domain: PeerQuota = NO_QUOTA
    """All of one other domain together."""
    all_guests: PeerQuota = NO_QUOTA
    """All guests together."""

    @property
    def are_none(self) -> bool:
        return self.guest.are_none and self.domain.are_none and self.all_guests.are_none


NO_GROUP_QUOTAS = GroupQuotas()


class QuotaMiddleware:
    """Turn middleware that enforces daily quotas. A program gets the refusal as
    `quota-reached`, a person as a sentence."""

    def __init__(
        self,
        ledger: UsageLedger,
        limits: PeerQuota,
        *,
        crowd: GroupQuotas = NO_GROUP_QUOTAS,
    ) -> None:
        self._ledger = ledger
        self._limits = limits
        self._crowd = crowd
        self._running: Counter[str] = Counter()
        self.turns_elsewhere: Callable[[str], int] = lambda _group: 0
        """Number of turns of a quota group that run in other replicas of the assistant; they answer
        its members, too."""

    def group_turns(self) -> dict[str, int]:
        """Number of running turns by quota group."""
        return {name: count for name, count in self._running.items() if name[0] in _GROUP_MARKS}

    async def __call__(
        self, turn_input: ChatTurnInput, conversation: Conversation, call_next: CallNext
    ) -> TurnOutcome:
        """Check the quotas and count the turn. Raises QuotaExceeded; StorageFailed if the ledger
        cannot be read."""
        # All or none: a refusal gives back the places that were taken before it.
        with ExitStack() as places:
            for share in self._shares(turn_input.peer, turn_input.quota_groups):
                await self._check_day(share, turn_input.text)
                places.enter_context(self._counted(share, turn_input.text))
            return await call_next(turn_input)

    def _shares(self, peer: str, groups: Sequence[str]) -> Iterator[_QuotaShare]:
        """Limits that hold for a peer: its own, and those of its quota groups."""
        yield _QuotaShare(name=peer, limits=self._limits, texts=_OF_PEER)
        for group in groups:
            is_all = group == ALL_GUESTS
            limits = self._crowd.all_guests if is_all else self._crowd.domain
            yield _QuotaShare(name=group, limits=limits, texts=_OF_GROUP, is_group=True)
        if ALL_GUESTS in groups:
            # Named apart for concurrent turns; _check_day looks up the peer's usage without the
            # suffix.
            yield _QuotaShare(name=f"{peer}/guest", limits=self._crowd.guest, texts=_OF_PEER)

    async def _check_day(self, share: _QuotaShare, said: str) -> None:
        if share.limits.are_none:
            return
        ledger, peer = self._ledger, share.name.partition("/")[0]
        of_today = ledger.of_today_together if share.is_group else ledger.of_today
        spent = await of_today(peer)
        reached = share.limits.reached_by(spent)
        if reached is not None:
            logger.info("%s has reached its limit of %s", share.name, reached)
            language = language_of(said)
            free_at = ledger.next_day
            minutes = max(round((free_at - datetime.now(UTC)).total_seconds() / 60), 1)
            left = f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"
            what = _LIMIT_NAMES[language][reached]
            spent_text = share.texts.spent[language]
            raise QuotaExceeded(spent_text.format(what=what, at=free_at, left=left))

    @contextmanager
    def _counted(self, share: _QuotaShare, said: str) -> Iterator[None]:
        peer, limit = share.name, share.limits.concurrent_turns
        if limit is not None and self._count(share) >= limit:
            raise QuotaExceeded(share.texts.busy[language_of(said)].format(limit=limit))
        self._running[peer] += 1
        try:
            yield
        finally:
            self._running[peer] -= 1
            # Else a counter would stay for every peer that ever wrote.
            if not self._running[peer]:
                del self._running[peer]

    def _count(self, share: _QuotaShare) -> int:
        """Number of running turns; of a quota group those in other replicas, too."""
        elsewhere = self.turns_elsewhere(share.name) if share.is_group else 0
        return self._running[share.name] + elsewhere


@dataclass(frozen=True, slots=True, kw_only=True)
class _QuotaTexts:
    spent: Mapping[str, str]
    busy: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _QuotaShare:
    name: str
    limits: PeerQuota
    texts: _QuotaTexts
    is_group: bool = False


_EXCEEDED_TEXTS = {
    "en": "You have used your share of today's {what} with me. From {at:%Y-%m-%d %H:%M} UTC on"
    " (in {left}) I can answer you again; /usage shows what was used.",
    "es": "Has agotado tu parte de hoy ({what}) conmigo. A partir del {at:%Y-%m-%d %H:%M} UTC"
    " (en {left}) puedo responderte de nuevo; /usage muestra lo usado.",
}
_BUSY_TEXTS = {
    "en": "I am already working on {limit} of your messages. As soon as one of them is answered I"
    " can take the next: please send it again then.",
    "es": "Ya estoy trabajando en {limit} de tus mensajes. En cuanto responda a uno de ellos puedo"
    " atender el siguiente: envíalo otra vez entonces, por favor.",
}
_GROUP_EXCEEDED_TEXTS = {
    "en": "Those who write to me from where you do have used their share of today's {what}"
    " together. From {at:%Y-%m-%d %H:%M} UTC on (in {left}) I can answer you again.",
    "es": "Quienes me escriben desde el mismo lugar que tú han agotado juntos su parte de hoy"
    " ({what}). A partir del {at:%Y-%m-%d %H:%M} UTC (en {left}) puedo responderte de nuevo.",
}
_GROUP_BUSY_TEXTS = {
    "en": "I am already working on {limit} messages of those who write to me from where you do."
    " Please send it again in a moment.",
    "es": "Ya estoy trabajando en {limit} mensajes de quienes me escriben desde el mismo lugar que"
    " tú. Envíalo otra vez dentro de un momento, por favor.",
}
_OF_PEER = _QuotaTexts(spent=_EXCEEDED_TEXTS, busy=_BUSY_TEXTS)
_OF_GROUP = _QuotaTexts(spent=_GROUP_EXCEEDED_TEXTS, busy=_GROUP_BUSY_TEXTS)
_LIMIT_NAMES = {
    "en": {
        "turns": "answers",
        "model_calls": "calls of my model",
        "tool_calls": "tool calls",
        "tokens": "tokens",
        "seconds": "time of my model",
    },
    "es": {
        "turns": "respuestas",
        "model_calls": "llamadas a mi modelo",
        "tool_calls": "llamadas a herramientas",
        "tokens": "tokens",
        "seconds": "tiempo de mi modelo",
    },
}
