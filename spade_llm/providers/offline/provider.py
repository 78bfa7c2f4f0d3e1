"""Offline provider: rule-based answers (English, Spanish) through the usual tool loop.

The answers say so. It has no tools of its own: it calls those that it is offered, and quotes their
results.
"""

from __future__ import annotations

import asyncio
import json
import re
import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from spade_llm.providers.model import (
    Completion,
    NonStreamingModel,
    Sampling,
    ToolCall,
    ToolSpec,
)
from spade_llm.providers.offline.intents import (
    CalculateIntent,
    GreetingIntent,
    Intent,
    RecallIntent,
    RememberIntent,
    TimeIntent,
    UnmatchedIntent,
    excerpt,
    read_turn,
    recognise_intent,
    relevant_memories,
    relevant_passages,
)
from spade_llm.providers.offline.language import key_words, with_synonyms
from spade_llm.providers.offline.time_zones import time_zone_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spade_llm.providers.model import ContextMessage
    from spade_llm.providers.offline.intents import OfflineTurn


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrases:
    """Everything it can say in one language; `{}` is filled in."""

    no_model: str
    """The first words of the first answer of every conversation."""
    model_away: str
    """The first words of every answer where the rules stand in for a model."""
    greeting: str
    abilities: str
    stored: str
    not_stored: str
    noted: str
    """Reply if there is no memory tool; the note remains in the conversation only."""
    remembered: str
    perhaps: str
    nothing_remembered: str
    passage: str
    nothing_found: str
    weekdays: tuple[str, ...]
    unknown_place: str
    missing_tool: str
    unavailable: str
    service_names: dict[str, str]


ENGLISH = Phrases(
    no_model="(No language model is configured; I follow simple rules.)",
    model_away="(My language model is away; I follow simple rules.)",
    greeting="Hello!",
    abilities=(
        "I can remember things (“remember that …”, “my name is …”), say what I know "
        "(“what do you know about …?”), tell the time (“what time is it in Tokyo?”), calculate "
        "(“what is 12*7+3?”) and quote from your documents."
    ),
    stored="I will remember: {}.",
    not_stored="I could not store that: {}",
    noted="Noted in this conversation: {}.",
    remembered="This is what I remember:",
    perhaps="I remember nothing with these words. Perhaps one of these means it:",
    nothing_remembered="I remember nothing about that.",
    passage="From {}:",
    nothing_found="I found nothing about that in memory or documents.",
    weekdays=("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    unknown_place="I know no time zone for {!r}; try a larger city near it.",
    missing_tool="That needs the tool {}, which I do not have here.",
    unavailable="(Not reachable right now: {}.)",
    service_names={},
)

SPANISH = Phrases(
    no_model="(No hay ningún modelo de lenguaje configurado; sigo reglas sencillas.)",
    model_away="(Mi modelo de lenguaje no está disponible; sigo reglas sencillas.)",
    greeting="¡Hola!",
    abilities=(
        "Puedo recordar cosas («recuerda que …», «me llamo …»), decir lo que sé "
        "(«¿qué sabes de …?»), dar la hora («¿qué hora es en Tokio?»), calcular "
        "(«¿cuánto es 12*7+3?») y citar tus documentos."
    ),
    stored="Lo recordaré: {}.",
    not_stored="No he podido guardarlo: {}",
    noted="Anotado en esta conversación: {}.",
    remembered="Esto es lo que recuerdo:",
    perhaps="No recuerdo nada con esas palabras. Quizá lo diga uno de estos:",
    nothing_remembered="No recuerdo nada sobre eso.",
    passage="De {}:",
    nothing_found="No he encontrado nada sobre eso en la memoria ni en los documentos.",
    weekdays=("lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo"),
    unknown_place="No conozco la zona horaria de {!r}; prueba con una ciudad mayor y cercana.",
    missing_tool="Para eso hace falta la herramienta {}, que aquí no tengo.",
    unavailable="(Ahora no se puede acceder a: {}.)",
    service_names={"memory": "memoria", "documents": "documentos", "tools": "herramientas"},
)

PHRASES = {"en": ENGLISH, "es": SPANISH}


_IS_EMPTY = re.compile(r"No .*memor|Found 0|My \w+ memories \(0 ")
"""Pattern of an empty result of the memory tools."""
NEAREST = 3
"""Found by meaning alone, and shown."""
CHARS_PER_TOKEN = 4
"""Estimated characters per token, as used elsewhere; rules have no tokens."""
LISTED_CATEGORIES = ("fact", "preference")
OfflineStep = str | list[ToolCall]
"""Next step of a turn: an answer, or tool calls."""


class OfflineProvider(NonStreamingModel):
    """A ChatModel of rules, English and Spanish. Never fails and never leaves the process."""

    def __init__(self, *, is_stand_in: bool = False) -> None:
        """`is_stand_in`: for a model that is away; then every answer says so."""
        self._is_stand_in = is_stand_in

    @property
    def name(self) -> str:
        return "offline"

    async def aclose(self) -> None:
        """Nothing to close: here so that every provider can be closed alike."""

    async def complete(
        self,
        messages: Sequence[ContextMessage],
        tools: Sequence[ToolSpec] = (),
        *,
        tool_choice: str = "auto",
        response_schema: Mapping[str, object] | None = None,
        sampling: Sampling | None = None,
    ) -> Completion:
        turn = read_turn(messages)
        rules = _Rules(turn, [] if tool_choice == "none" else tools)
        step = await rules.next_step(recognise_intent(turn.question))
        if isinstance(step, str):
            return _within_token_limit(
                _with_notices(turn, step, is_stand_in=self._is_stand_in), sampling
            )
        return Completion(tool_calls=tuple(step))


class _Rules:
    """The rules applied to one turn."""

    def __init__(self, turn: OfflineTurn, tools: Sequence[ToolSpec]) -> None:
        self._turn = turn
        self._tools = {tool.name: tool for tool in tools}
        self._say: Phrases = PHRASES[turn.language]

    async def next_step(self, wish: Intent) -> OfflineStep:
        if self._turn.results:
            return self._from_results(wish)
        match wish:
            case RememberIntent():
                return self._store(wish)
            case RecallIntent():
                return self._recall(wish)
            case TimeIntent():
                return await self._clock(wish)
            case CalculateIntent():
                return self._call("calculator", {"expression": wish.expression})
            case GreetingIntent():
                return f"{self._say.greeting} {self._say.abilities}"
            case UnmatchedIntent():
                return self._about(wish.question) or self._nothing()

    def _store(self, wish: RememberIntent) -> OfflineStep:
        if "store_memory" not in self._tools:
            return "\n".join(self._say.noted.format(note.content) for note in wish.notes)
        notes = [{"category": note.category, "content": note.content} for note in wish.notes]
        return self._calls("store_memory", notes)

    def _recall(self, wish: RecallIntent) -> OfflineStep:
        if found := self._memories(wish.topic):
            return found if wish.is_personal else self._about(wish.topic)
        if not wish.is_personal and (passages := self._passages(wish.topic)):
            return passages
        if not wish.topic and "list_memories" in self._tools:
            return self._calls("list_memories", [{"category": name} for name in LISTED_CATEGORIES])
        return self._search(wish.topic)

    def _search(self, topic: str) -> OfflineStep:
        if "search_memories" not in self._tools:
            return self._passages(topic) or self._from_conversation(topic)
        wanted = " ".join(sorted(with_synonyms(key_words(topic))))
        return self._call("search_memories", {"query": wanted or self._turn.question})

    def _from_conversation(self, topic: str) -> str:
        """Answer from notes of earlier messages of the conversation, as if they had been stored."""
        wishes = map(recognise_intent, self._turn.earlier)
        told = [
            note.content for one in wishes if isinstance(one, RememberIntent) for note in one.notes
        ]
        lines = [f"- {content}" for content in told]
        return self._listed(lines, topic) if lines else self._say.nothing_remembered

    async def _clock(self, wish: TimeIntent) -> OfflineStep:
        zone = await asyncio.to_thread(time_zone_of, wish.place) if wish.place else "UTC"
        if zone is None:
            return self._say.unknown_place.format(wish.place)
        return self._call("get_current_datetime", {"timezone": zone})

    def _call(self, tool: str, arguments: Mapping[str, object]) -> OfflineStep:
        return self._calls(tool, [arguments])

    def _calls(self, tool: str, every: Sequence[Mapping[str, object]]) -> OfflineStep:
        if tool not in self._tools:
            return self._say.missing_tool.format(tool)
        return [_tool_call(tool, arguments) for arguments in every]

    def _about(self, topic: str) -> str:
        """Memories and passages that speak of the topic; empty if none does."""
        if not key_words(topic):
            return ""
        return "\n\n".join(filter(None, [self._memories(topic), self._passages(topic)]))

    def _memories(self, topic: str) -> str:
        memories = relevant_memories(self._turn.context.memories, topic)
        listed = [f"- {memory.text} ({memory.date})".replace(" ()", "") for memory in memories]
        return "\n".join([self._say.remembered, *listed]) if listed else ""

    def _passages(self, topic: str) -> str:
        chosen = relevant_passages(self._turn.context.documents, topic)
        quotes = [(self._say.passage.format(p.source), excerpt(p.text, topic)) for p in chosen]
        return "\n\n".join(f"{source}\n{text}" for source, text in quotes)

    def _nothing(self) -> str:
        return f"{self._say.nothing_found} {self._say.abilities}"

    def _from_results(self, wish: Intent) -> str:
        """The tools' own words, with a few of ours around them."""
        results = self._turn.results
        match wish:
            case RememberIntent():
                return "\n".join(map(self._stored, results, (note.content for note in wish.notes)))
            case RecallIntent():
                return self._remembered(results, wish.topic)
            case TimeIntent():
                return self._time(wish.place, results[-1])
            case CalculateIntent():
                return _sum_sentence(wish.expression, results[-1])
        return "\n".join(results)

    def _stored(self, result: str, content: str) -> str:
        is_stored = result.startswith("Stored ")
        return (
            self._say.stored.format(content) if is_stored else self._say.not_stored.format(result)
        )

    def _remembered(self, results: Sequence[str], topic: str) -> str:
        lines = [line for result in results for line in result.splitlines()]
        listed = [line for line in lines if line.startswith(("- ", "  "))]
        if listed:
            return self._listed(listed, topic)
        if all(map(_IS_EMPTY.match, results)):
            return self._passages(topic) or self._say.nothing_remembered
        return "\n".join(results)

    def _listed(self, lines: Sequence[str], topic: str) -> str:
        """Those with words of the topic; else the nearest, which may mean it and may not."""
        wanted = with_synonyms(key_words(topic))
        entries = _list_entries(lines)
        found = [entry for entry in entries if not wanted or wanted & key_words(entry)]
        if not found:
            return "\n".join([self._say.perhaps, *entries[:NEAREST]])
        return "\n".join([self._say.remembered, *found])

    def _time(self, place: str, result: str) -> str:
        stamp = result.partition(" ")[0]
        try:
            at = datetime.fromisoformat(stamp)
        except ValueError:
            return result
        day = f"{self._say.weekdays[at.weekday()]} {at:%Y-%m-%d}"
        return f"{place or 'UTC'}: {at:%H:%M}, {day}."


def _with_notices(turn: OfflineTurn, text: str, *, is_stand_in: bool) -> str:
    """Add the notice that no model is used, if it is due, and the list of unavailable services."""
    say = PHRASES[turn.language]
    names = [say.service_names.get(name, name) for name in turn.context.unavailable]
    admission = say.model_away if is_stand_in else say.no_model
    before = f"{admission} " if turn.is_first or is_stand_in else ""
    behind = f"\n{say.unavailable.format(', '.join(names))}" if names else ""
    return f"{before}{text}{behind}"


def _within_token_limit(text: str, sampling: Sampling | None) -> Completion:
    """Rules have no temperature; an answer can be too long."""
    most = sampling.max_tokens if sampling else None
    if most is None or len(text) <= most * CHARS_PER_TOKEN:
        return Completion(text=text)
    return Completion(text=text[: most * CHARS_PER_TOKEN], is_cut_off=True)


def _list_entries(lines: Sequence[str]) -> list[str]:
    """Each with the lines that belong to it."""
    entries: list[str] = []
    for line in lines:
        if line.startswith("- ") or not entries:
            entries.append(line)
        else:
            entries[-1] += f"\n{line}"
    return entries


def _sum_sentence(expression: str, result: str) -> str:
    is_number = result.strip("-").replace(".", "", 1).isdigit()
    return f"{expression} = {result}" if is_number else result


def _tool_call(tool: str, arguments: Mapping[str, object]) -> ToolCall:
    return ToolCall(
        id=f"call_{uuid.uuid4().hex[:24]}",
        name=tool,
        arguments=json.dumps(arguments, ensure_ascii=False),
    )
