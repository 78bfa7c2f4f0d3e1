"""Per-peer limits, outermost around a turn: who has spent their day's share is told until when.

Looked at when a turn begins: turns that run side by side may pass a limit by what they cost
themselves, and no more. Knows no model.
"""

from __future__ import annotations

import logging
from collections import Counter
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from spade_llm.errors import QuotaReached
from spade_llm.providers.offline_words import language_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spade_llm.behaviour.layers import Outcome, Proceed
    from spade_llm.conversation.history import Conversation
    from spade_llm.conversation.peer_limits import PeerLimits
    from spade_llm.conversation.usage_ledger import UsageLedger
    from spade_llm.services.chat import Utterance

logger = logging.getLogger(__name__)


class Quota:
    """A Layer. A program gets its refusal as `quota-reached`, a person as a sentence."""

    def __init__(self, ledger: UsageLedger, limits: PeerLimits) -> None:
        self._ledger = ledger
        self._limits = limits
        self._running: Counter[str] = Counter()

    async def __call__(
        self, utterance: Utterance, conversation: Conversation, proceed: Proceed
    ) -> Outcome:
        """Raises QuotaReached; StorageFailed where nobody can tell what was spent."""
        language = language_of(utterance.text)
        self._check_day(utterance.peer, language)
        with self._counted(utterance.peer, language):
            return await proceed(utterance)

    def _check_day(self, peer: str, language: str) -> None:
        reached = self._limits.reached_by(self._ledger.of_today(peer))
        if reached is not None:
            logger.info("%s has reached its limit of %s", peer, reached)
            free_at = self._ledger.next_day
            left = _in_words(free_at - datetime.now(UTC))
            what = _WHAT[language][reached]
            raise QuotaReached(_SPENT[language].format(what=what, at=free_at, left=left))

    @contextmanager
    def _counted(self, peer: str, language: str) -> Iterator[None]:
        limit = self._limits.concurrent_turns
        if limit is not None and self._running[peer] >= limit:
            raise QuotaReached(_BUSY[language].format(limit=limit))
        self._running[peer] += 1
        try:
            yield
        finally:
            self._running[peer] -= 1
            if not self._running[peer]:
                del self._running[peer]


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
