"""What a person is told who stopped a turn. Stops nothing: the dispatcher does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.acl import CHAT_TEXT
from spade_llm.providers.offline_words import language_of

if TYPE_CHECKING:
    from spade_llm.runtime import Request, Stopped

STOP_S = 5.0
"""How long a turn that was stopped may take to end before the person is told that it takes long."""


NOTHING_TO_STOP = "There is nothing to stop."


async def report_stop(stopped: Stopped, _request: Request) -> str:
    """The one sentence for all that was stopped."""
    if not stopped.requests:
        return NOTHING_TO_STOP
    said = next((one.content for one in stopped.requests if one.ontology == CHAT_TEXT), "")
    texts = _STOPPED[language_of(said)]
    has_ended = await stopped.has_ended(timeout_s=STOP_S)
    more = len(stopped.requests) - 1
    parts = [texts.done if has_ended else texts.not_done]
    if more:
        parts.append(texts.one_more if more == 1 else texts.more.format(more))
    return " ".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class _StopTexts:
    done: str
    not_done: str
    one_more: str
    more: str


_STOPPED = {
    "en": _StopTexts(
        done="Stopped.",
        not_done="I am stopping; something that runs does not let itself be interrupted.",
        one_more="The message that waited behind it is not answered either.",
        more="The {} messages that waited behind it are not answered either.",
    ),
    "es": _StopTexts(
        done="Detenido.",
        not_done="Me detengo; algo que está en marcha no se deja interrumpir.",
        one_more="El mensaje que esperaba detrás tampoco se responde.",
        more="Los {} mensajes que esperaban detrás tampoco se responden.",
    ),
}
