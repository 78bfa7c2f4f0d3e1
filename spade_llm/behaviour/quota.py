"""Limits of a day, outermost around a turn: of each peer, of guests, of another domain together.
Who has spent their share is told until when.

Looked at when a turn begins: turns that run side by side may pass a limit by what they cost
themselves, and no more. Knows no model.
"""

from __future__ import annotations

import logging
from collections import Counter
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from spade_llm.conversation.circles import ALL_GUESTS
from spade_llm.conversation.peer_limits import NO_CROWD_LIMITS
from spade_llm.errors import QuotaReached
from spade_llm.providers.offline_words import language_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from spade_llm.behaviour.layers import Outcome, Proceed
    from spade_llm.conversation.history import Conversation
    from spade_llm.conversation.peer_limits import CrowdLimits, PeerLimits
    from spade_llm.conversation.usage_ledger import UsageLedger
    from spade_llm.services.chat import Utterance

logger = logging.getLogger(__name__)


class Quota:
    """A Layer. A program gets its refusal as `quota-reached`, a person as a sentence."""

    def __init__(
        self,
        ledger: UsageLedger,
        limits: PeerLimits,
        *,
        crowd: CrowdLimits = NO_CROWD_LIMITS,
    ) -> None:
        self._ledger = ledger
        self._limits = limits
        self._crowd = crowd
        self._running: Counter[str] = Counter()

    async def __call__(
        self, utterance: Utterance, conversation: Conversation, proceed: Proceed
    ) -> Outcome:
        """Raises QuotaReached; StorageFailed where nobody can tell what was spent."""
        with ExitStack() as places:
            for share in self._shares(utterance.peer, utterance.quota_groups):
                self._check_day(share, utterance.text)
                places.enter_context(self._counted(share, utterance.text))
            return await proceed(utterance)

    def _shares(self, peer: str, groups: Sequence[str]) -> Iterator[_Share]:
        """The limits that hold for this peer: its own, and those of its quota groups."""
        yield _Share(name=peer, limits=self._limits, texts=_OF_PEER)
        for group in groups:
            is_all = group == ALL_GUESTS
            limits = self._crowd.all_guests if is_all else self._crowd.domain
            yield _Share(name=group, limits=limits, texts=_OF_GROUP, is_group=True)
        if ALL_GUESTS in groups:
            yield _Share(name=f"{peer}/guest", limits=self._crowd.guest, texts=_OF_PEER)

    def _check_day(self, share: _Share, said: str) -> None:
        if share.limits.are_none:
            return
        ledger, peer = self._ledger, share.name.partition("/")[0]
        spent = ledger.of_today_together(peer) if share.is_group else ledger.of_today(peer)
        reached = share.limits.reached_by(spent)
        if reached is not None:
            logger.info("%s has reached its limit of %s", share.name, reached)
            language = language_of(said)
            free_at = ledger.next_day
            left = _in_words(free_at - datetime.now(UTC))
            what = _WHAT[language][reached]
            spent_text = share.texts.spent[language]
            raise QuotaReached(spent_text.format(what=what, at=free_at, left=left))

    @contextmanager
    def _counted(self, share: _Share, said: str) -> Iterator[None]:
        peer, limit = share.name, share.limits.concurrent_turns
        if limit is not None and self._running[peer] >= limit:
            raise QuotaReached(share.texts.busy[language_of(said)].format(limit=limit))
        self._running[peer] += 1
        try:
            yield
        finally:
            self._running[peer] -= 1
            if not self._running[peer]:
                del self._running[peer]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Texts:
    spent: Mapping[str, str]
    busy: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Share:
    name: str
    limits: PeerLimits
    texts: _Texts
    is_group: bool = False


_SPENT = {
    "en": "You have used your share of today's {what} with me. From {at:%Y-%m-%d %H:%M} UTC on"
    " (in {left}) I can answer you again; /usage shows what was used.",
    "es": "Has agotado tu parte de hoy ({what}) conmigo. A partir del {at:%Y-%m-%d %H:%M} UTC"
    " (en {left}) puedo responderte de nuevo; /usage muestra lo usado.",
}
_BUSY = {
    "en": "I am already working on {limit} of your messages. As soon as one of them is answered I"
    " can take the next: please send it again then.",
    "es": "Ya estoy trabajando en {limit} de tus mensajes. En cuanto responda a uno de ellos puedo"
    " atender el siguiente: envíalo otra vez entonces, por favor.",
}
_TOGETHER_SPENT = {
    "en": "Those who write to me from where you do have used their share of today's {what}"
    " together. From {at:%Y-%m-%d %H:%M} UTC on (in {left}) I can answer you again.",
    "es": "Quienes me escriben desde el mismo lugar que tú han agotado juntos su parte de hoy"
    " ({what}). A partir del {at:%Y-%m-%d %H:%M} UTC (en {left}) puedo responderte de nuevo.",
}
_TOGETHER_BUSY = {
    "en": "I am already working on {limit} messages of those who write to me from where you do."
    " Please send it again in a moment.",
    "es": "Ya estoy trabajando en {limit} mensajes de quienes me escriben desde el mismo lugar que"
    " tú. Envíalo otra vez dentro de un momento, por favor.",
}
_OF_PEER = _Texts(spent=_SPENT, busy=_BUSY)
_OF_GROUP = _Texts(spent=_TOGETHER_SPENT, busy=_TOGETHER_BUSY)
_WHAT = {
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


def _in_words(left: timedelta) -> str:
    minutes = max(round(left.total_seconds() / 60), 1)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"
