"""Offline provider: rule-based answers (English, Spanish) through the usual tool loop.

The answers say so. It has no tools of its own: it calls those that it is offered, and quotes their
results.
"""

from __future__ import annotations

import asyncio
import json
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING
from zlib import crc32

from spade_llm.core.text import load_texts
from spade_llm.providers.model import (
    OFFLINE,
    Completion,
    NonStreamingModel,
    Sampling,
    ToolCall,
    ToolSpec,
)
from spade_llm.providers.offline.intents import (
    CalculateIntent,
    RecallIntent,
    SmallTalk,
    SmallTalkIntent,
    TimeIntent,
    excerpt,
    read_turn,
    recognise_intent,
    relevant_passages,
    time_zone_of,
)
from spade_llm.providers.quoted_context import MESSAGE
from spade_llm.search.language import key_words
from spade_llm.understanding.answers import (
    about_theme,
    find_about,
    find_answers,
    find_nearest,
    find_possible,
    group_statements,
    is_repeated,
    tells_value_of,
    theme_of,
    with_closed,
)
from spade_llm.understanding.clause_kinds import ClauseKind
from spade_llm.understanding.features import is_taste, related_words
from spade_llm.understanding.forgetting import read_forget_request
from spade_llm.understanding.pronouns import with_asked
from spade_llm.understanding.questions import (
    Candidate,
    asks_for_list,
    asks_for_tasks,
    asks_whether_before,
    is_about_speaker,
    is_personal,
)
from spade_llm.understanding.statements import (
    choose_successor,
    read_history,
    read_message,
    statements_of,
)
from spade_llm.understanding.wording import in_second_person, speaks_of_us

if TYPE_CHECKING:
    from spade_llm.providers.model import ContextMessage
    from spade_llm.providers.offline.intents import Intent, OfflineTurn
    from spade_llm.providers.quoted_context import QuotedMemory
    from spade_llm.understanding.features import Statement
    from spade_llm.understanding.statements import Reading, StatementHistory


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrases:
    """Phrases of the offline provider in one language; `{}` is filled in."""

    no_model: str
    """The first words of the first answer of every conversation."""
    model_away: str
    """The first words of every answer where the rules stand in for a model."""
    greeting: str
    abilities: str
    identity: str
    well: str
    here: str
    sure: str
    sorry: str
    glad: str
    farewell: str
    stored: str
    changed: str
    not_stored: str
    noted: str
    """Reply if there is no memory tool; the note remains in the conversation only."""
    taken_back: str
    understood: str
    """Reply to what is neither a fact nor a question."""
    not_understood: str
    hints: tuple[str, ...]
    """Suggestions of what to write, for words that are not understood; each is made once in a
    conversation."""
    not_kept: str
    """Reply to what may be a fact, but was not understood."""
    cannot: str
    """Reply to a request that no rule can carry out."""
    welcome: str
    dated: str
    """An answer, and the date on which it was told."""
    former: str
    """An answer that does not hold any more."""
    earlier: str
    """Told before the answer above it, which may have replaced it."""
    was_so: str
    """Answers to whether something was so once."""
    perhaps: str
    """An answer that only means something similar."""
    remembered: str
    groups: dict[str, str]
    """Headings of the list of everything that is known."""
    nothing_remembered: str
    nothing_to_forget: str
    nothing_to_do: str
    unanswered: str
    """Reply to a question that stands beside a statement."""
    passage: str
    nothing_found: str
    weekdays: tuple[str, ...]
    unknown_place: str
    missing_tool: str
    unavailable: str
    service_names: dict[str, str]


PHRASES = load_texts(Phrases, __file__, "phrases.toml")


_IS_EMPTY = re.compile(r"No .*memor|Found 0|My \w+ memories \(0 ")
"""Pattern of an empty result of the memory tools."""
_ENTRY = re.compile(r"^- (?:\[[\w ]+\] )?+(?!\d{4}-\d\d-\d\d, \d\d:\d\d)(?P<text>.*)$")
"""An entry of a list of memories that is no episode: those begin with their time."""
_THANKS = re.compile(
    r"\b(?:thanks?|thank you|th?nx|thx|ty(?:sm)?|cheers|much appreciated|gracias|muy amable)\b",
    re.IGNORECASE,
)
_THANKS_FIRST = re.compile(rf"\W*(?:\w+[\s,!]+){{,2}}?{_THANKS.pattern}", re.IGNORECASE)
_MINE = re.compile(r"\b(?:my|our|mine|i|mis?|nuestr[oa]s?)\b|\?", re.IGNORECASE)
"""Words of requests for what is known about the person (`show me my codes`)."""
KNOWLEDGE_KINDS = ("fact", "preference", "semantic", "profile", "procedural")
"""Kinds of recalled memories that answer; episodes and patterns are about many things."""
CHARS_PER_TOKEN = 4
"""Estimated characters per token, as used elsewhere; rules have no tokens."""
MAX_TOLD_CHARS = 160
"""Length in characters up to which an acknowledgement repeats what was understood."""
MIN_SHARE_CHARS = 32
"""Characters that it repeats of each of many statements."""
MAX_KEY_WORDS = 2
"""A message of more words that nothing is known about rather tells something than asks for it."""
RECENT_STATEMENTS = 2
"""Latest statements of the conversation that a question may mean without a known link: vectors of
what has just been said are not there yet."""
LISTED_CATEGORIES = ("fact", "preference")
LISTED_MEMORIES = 50
"""Memories of each category in a list of everything: as many as the tool gives."""
OfflineStep = str | list[ToolCall]
"""Next step of a turn: an answer, or tool calls."""


class OfflineProvider(NonStreamingModel):
    """A ChatModel of rules, English and Spanish. Never fails and never leaves the process."""

    def __init__(self, *, is_stand_in: bool = False) -> None:
        """`is_stand_in`: for a model that is away; then every answer says so."""
        self._is_stand_in = is_stand_in

    @property
    def name(self) -> str:
        return OFFLINE

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
        # Reading and comparing up to a hundred messages takes seconds.
        step = await asyncio.to_thread(rules.next_step)
        if not isinstance(step, str):
            return Completion(tool_calls=tuple(step))
        text = _with_notices(turn, step, is_stand_in=self._is_stand_in)
        # Rules have no temperature, but an answer can be too long.
        most = sampling.max_tokens if sampling else None
        if most is None or len(text) <= most * CHARS_PER_TOKEN:
            return Completion(text=text)
        return Completion(text=text[: most * CHARS_PER_TOKEN], is_cut_off=True)


class _Rules:
    """The rules applied to one turn."""

    def __init__(self, turn: OfflineTurn, tools: Sequence[ToolSpec]) -> None:
        self._turn = turn
        self._tools = {tool.name: tool for tool in tools}
        self._say: Phrases = PHRASES[turn.language]
        # Oldest first; of one time, what still holds is the latest.
        self._quoted = sorted(
            turn.context.memories, key=lambda one: (one.date, one.time, one.until or "~")
        )
        self._recalled = [one for one in self._quoted if one.kind in KNOWLEDGE_KINDS]

    @cached_property
    def _told(self) -> StatementHistory:
        """The person's statements of this conversation."""
        return read_history(self._turn.earlier)

    @cached_property
    def _asks_to_forget(self) -> bool:
        request = read_forget_request(self._turn.question)
        return request is not None and request.is_explicit

    @cached_property
    def _reading(self) -> Reading:
        remembered = [one.text for one in self._recalled]
        reading = read_message(self._turn.question, self._told.spoken_of, remembered)
        if not self._asks_to_forget:
            return reading
        # "I'd rather that wasn't on your list" is no fact, also if nothing is found to forget.
        told = [one for one in reading.statements if read_forget_request(one.text) is None]
        return replace(reading, statements=tuple(told))

    def next_step(self) -> OfflineStep:
        """The next tool calls, or the answer. Takes long after many messages."""
        intent = recognise_intent(self._turn.question)
        # A question about the time may stand beside a statement; the others are the whole message.
        is_whole = intent is not None and not isinstance(intent, TimeIntent)
        if intent is not None and (is_whole or not self._reading.statements):
            return self._follow(intent)
        reading = self._reading
        has_store = "store_memory" in self._tools
        is_request = self._asks_to_forget and not reading.is_off_the_record
        if not reading.statements and is_request:
            # What is known is forgotten before a model is asked.
            return self._say.nothing_to_forget
        stored = len(reading.statements) if has_store else 0
        results = self._turn.results
        if stored and not results:
            return self._calls("store_memory", [_note(one) for one in reading.statements])
        replies = [self._acknowledge(results[:stored])] if reading.statements else []
        if reading.takes_back or reading.is_off_the_record:
            replies.append(self._say.taken_back)
        if asked := self._question():
            answer = self._answer(asked, results[stored:], may_search=is_personal(asked))
            if not isinstance(answer, str):
                return answer
            is_unknown = answer in self._unknowns()
            unknown = self._say.unanswered if replies else self._unknown(answer)
            replies.append(unknown if is_unknown else answer)
        return "\n".join(replies or results) or self._understood()

    def _question(self) -> str:
        """The question or order of the message; empty if it only tells something."""
        if self._reading.questions:
            # "I can't find my passport, where did I put it?"
            told = [one.text for one in self._reading.statements]
            return with_asked(" ".join(self._reading.questions), [*self._turn.earlier, *told])
        said = self._turn.question
        if self._reading.statements:
            return ""
        if self._reading.has(ClauseKind.REQUEST):
            return said
        if _THANKS_FIRST.match(said):
            return ""
        # Key words (`wifi password`) are a question, what is called out is none.
        is_open = self._reading.has(ClauseKind.OTHER) and not said.rstrip().endswith("!")
        return said if is_open else ""

    def _unknown(self, answer: str) -> str:
        """Reply to what nothing is known about: `answer`, unless it is no question."""
        if not re.search(r"\w", self._turn.question):
            # `👍` and `...` are no question, `?` is one.
            return self._not_understood() if self._reading.questions else self._say.understood
        if self._reading.questions or _MINE.search(self._turn.question):
            return answer
        if self._reading.has(ClauseKind.REQUEST):
            return self._say.cannot
        is_told = len(self._turn.question.split()) > MAX_KEY_WORDS
        return self._say.not_kept if is_told else self._not_understood()

    def _follow(self, intent: Intent) -> OfflineStep:
        results = self._turn.results
        match intent:
            case TimeIntent():
                return self._time(intent.place, results[-1]) if results else self._clock(intent)
            case CalculateIntent():
                if results:
                    is_number = results[-1].strip("-").replace(".", "", 1).isdigit()
                    return f"{intent.expression} = {results[-1]}" if is_number else results[-1]
                return self._calls("calculator", [{"expression": intent.expression}])
            case RecallIntent():
                return self._recall(intent, results)
            case SmallTalkIntent():
                return "\n".join(results) or self._small_talk(intent.kind)

    def _small_talk(self, kind: SmallTalk) -> str:
        replies = [getattr(self._say, kind)]
        # Once in a conversation, unless they are asked for.
        if kind in (SmallTalk.GREETING, SmallTalk.IDENTITY) and not self._has_told_abilities:
            replies.append(self._say.abilities)
        return " ".join(replies)

    @property
    def _has_told_abilities(self) -> bool:
        return any(self._say.abilities in one for one in self._turn.answered)

    def _understood(self) -> str:
        """Reply to what neither tells nor asks anything that the rules understand."""
        if _THANKS.search(self._turn.question):
            return self._say.welcome
        if not self._turn.question.strip():
            return self._nothing()
        if not self._reading.has(ClauseKind.OTHER) or not key_words(self._turn.question):
            return self._say.understood
        is_told = len(self._turn.question.split()) > 1
        return self._say.not_kept if is_told else self._not_understood()

    def _not_understood(self) -> str:
        """Reply to a word or two that mean nothing here, with a hint that has not been told yet."""
        told = "\n".join(self._turn.answered)
        hints = [one for one in self._say.hints if one not in told]
        # Not the same first hint in every conversation, and the same one to the same words.
        chosen = hints[crc32(self._turn.question.encode()) % len(hints)] if hints else ""
        return f"{self._say.not_understood} {chosen}".rstrip()

    def _acknowledge(self, results: Sequence[str]) -> str:
        """What was understood; or why it could not be stored."""
        statements = self._reading.statements
        for result in results:
            if not result.startswith("Stored "):
                return self._say.not_stored.format(result)
        share = max(MIN_SHARE_CHARS, MAX_TOLD_CHARS // len(statements))
        told = "; ".join(_shortened(self._reworded(one.text), share) for one in statements)
        if not results:
            return self._say.noted.format(told)
        is_changed = any(one.replaced for one in statements)
        return (self._say.changed if is_changed else self._say.stored).format(told)

    def _reworded(self, text: str) -> str:
        if self._turn.uses_ustedes and self._turn.language == "es" and speaks_of_us(text):
            # "Vosotros" would be odd.
            return f"«{text}»"
        return in_second_person(text, self._turn.language)

    def _answer(self, asked: str, results: Sequence[str], *, may_search: bool) -> OfflineStep:
        """The line that answers; else passages of documents; else tool calls that may find it."""
        if asks_for_list(asked):
            return self._list(asked, results)
        candidates = self._candidates(results)
        passages = self._passages(asked)
        is_own = is_about_speaker(asked)
        # What stands beside the question may answer it, too, unless it says what is meant there.
        beside = [one.text for one in self._reading.statements if one.text not in asked]
        told = [Candidate(text=text) for text in beside]
        is_certain = bool(passages) and not is_own
        found = find_answers(asked, [*candidates, *told], is_certain=is_certain)
        if found:
            answer = "\n".join(map(self._line, found))
            was_so = found[0].is_closed and asks_whether_before(asked)
            return self._say.was_so.format(answer) if was_so else answer
        if passages and not is_own:
            return passages
        if not results and may_search and "search_memories" in self._tools:
            words = " ".join(sorted(key_words(asked)))
            query = f"{words} {related_words(asked)}".strip() or asked
            return self._calls("search_memories", [{"query": query}])
        if passages:
            return passages
        near = self._possible_answer(asked, candidates, results)
        if near:
            return self._say.perhaps.format(self._line(near))
        # Neither a list of memories nor an empty one: the words of the tool.
        if results and not any(_IS_EMPTY.match(one) or _listed([one]) for one in results):
            return "\n".join(results)
        return self._say.nothing_remembered if may_search else self._nothing()

    def _possible_answer(
        self, asked: str, candidates: Sequence[Candidate], results: Sequence[str]
    ) -> Candidate | None:
        """The statement nearest in meaning, or with a value of the expected type."""
        by_text = {one.text: one for one in candidates}
        recalled = [m.text for m in self._turn.context.memories if m.kind in KNOWLEDGE_KINDS]
        nearest = [by_text[text] for text in (*recalled, *_listed(results)) if text in by_text]
        recent = self._told.current[-RECENT_STATEMENTS:]
        if not is_personal(asked):
            return find_possible(asked, candidates, ())
        return find_nearest(asked, nearest, recalled) or find_possible(asked, candidates, recent)

    def _list(self, asked: str, results: Sequence[str]) -> OfflineStep:
        """All tasks or tastes: more than what is recalled for the words of a question."""
        is_for_tasks = asks_for_tasks(asked)
        if not results and "list_memories" in self._tools:
            category = "fact" if is_for_tasks else "preference"
            return self._calls("list_memories", [{"category": category, "limit": LISTED_MEMORIES}])
        found = find_answers(asked, self._candidates(results))
        unknown = self._say.nothing_to_do if is_for_tasks else self._say.nothing_remembered
        return "\n".join(map(self._line, found)) or unknown

    def _candidates(self, results: Sequence[str]) -> list[Candidate]:
        """Statements that may answer, oldest first: of old conversations and stored ones, and those
        of this conversation."""
        told = {*self._told.current, *self._told.former}
        quoted = [one for one in self._quoted if one.kind in KNOWLEDGE_KINDS or one.kind == MESSAGE]
        known = {one.text for one in quoted if one.kind != MESSAGE} | told
        earlier = [
            candidate
            for one in quoted
            for candidate in _candidates_of(one, self._recalled)
            if candidate.text not in (known if one.kind == MESSAGE else told)
        ]
        searched = [Candidate(text=text) for text in _listed(results) if text not in known]
        former = [
            Candidate(text=text, is_closed=True, successor=successor)
            for text, successor in self._told.former.items()
            if text not in self._told.current
        ]
        facts = [one for one in earlier if not (one.is_closed or one.is_doubtful)]
        holding = [one.text for one in facts]
        earlier = [
            one
            for one in earlier
            if not (one.is_doubtful and any(_is_known(one, fact) for fact in facts))
        ]
        current = [
            Candidate(text=text, time=str(self._told.told_in[text]))
            for text in self._told.current
            # A change of what was told in another conversation: memory has the whole fact.
            if not any(is_repeated(text, fact) for fact in holding)
        ]
        return with_closed([*searched, *earlier, *former, *current])

    def _line(self, found: Candidate) -> str:
        text = self._reworded(found.text).rstrip(".")
        text = text[:1].upper() + text[1:]
        if found.is_closed:
            return self._say.former.format(text)
        told = self._say.dated.format(text, found.date) if found.date else f"{text}."
        return self._say.earlier.format(told) if found.is_earlier else told

    def _recall(self, intent: RecallIntent, results: Sequence[str]) -> OfflineStep:
        theme = theme_of(intent.topic)
        if intent.topic and not theme:
            found = find_about(intent.topic, self._candidates(results))
            if len(found) > 1:
                return "\n".join(map(self._line, found))
            answer = self._answer(intent.topic, results, may_search=True)
            # What others said is no answer, but it is about them.
            return self._line(found[0]) if found and answer in self._unknowns() else answer
        if not results and "list_memories" in self._tools:
            return self._calls(
                "list_memories",
                [{"category": name, "limit": LISTED_MEMORIES} for name in LISTED_CATEGORIES],
            )
        if results and all(map(_IS_EMPTY.match, results)):
            return self._say.nothing_remembered
        texts = _listed(results)
        if results and not texts:
            return "\n".join(results)
        texts = texts[::-1] or self._told.current
        if theme:
            listed = [f"- {self._reworded(one)}" for one in about_theme(theme, texts)]
            return "\n".join(
                [self._say.remembered, *listed] if listed else [self._say.nothing_remembered]
            )
        if not texts:
            return self._say.nothing_remembered
        groups = [
            "\n".join(
                [f"{self._say.groups[group]}:", *(f"- {self._reworded(one)}" for one in statements)]
            )
            for group, statements in group_statements(texts).items()
        ]
        # An empty line ends the list before it, in Markdown too.
        return f"{self._say.remembered}\n" + "\n\n".join(groups)

    def _clock(self, intent: TimeIntent) -> OfflineStep:
        zone = time_zone_of(intent.place) if intent.place else "UTC"
        if zone is None:
            return self._say.unknown_place.format(intent.place)
        return self._calls("get_current_datetime", [{"timezone": zone}])

    def _calls(self, tool: str, every: Sequence[Mapping[str, object]]) -> OfflineStep:
        if tool not in self._tools:
            return self._say.missing_tool.format(tool)
        return [_tool_call(tool, arguments) for arguments in every]

    def _passages(self, topic: str) -> str:
        chosen = relevant_passages(self._turn.context.documents, topic) if key_words(topic) else []
        quotes = [(self._say.passage.format(p.source), excerpt(p.text, topic)) for p in chosen]
        return "\n\n".join(f"{source}\n{text}" for source, text in quotes)

    def _unknowns(self) -> tuple[str, str]:
        return self._say.nothing_remembered, self._nothing()

    def _nothing(self) -> str:
        # Repeated behind each miss, they would hide the answer.
        if self._has_told_abilities:
            return self._say.nothing_found
        return f"{self._say.nothing_found} {self._say.abilities}"

    def _time(self, place: str, result: str) -> str:
        stamp = result.partition(" ")[0]
        try:
            at = datetime.fromisoformat(stamp)
        except ValueError:
            return result
        day = f"{self._say.weekdays[at.weekday()]} {at:%Y-%m-%d}"
        return f"{place or 'UTC'}: {at:%H:%M}, {day}."


def _candidates_of(quoted: QuotedMemory, recalled: Sequence[QuotedMemory]) -> list[Candidate]:
    """A stored statement, or those of a message of the person in an old conversation. `recalled`:
    all stored ones; what holds since the moment at which one ended is its successor."""
    if quoted.kind != MESSAGE:
        end = (quoted.until, quoted.until_time)
        later = [one.text for one in recalled if all(end) and (one.date, one.time) == end]
        return [
            Candidate(
                text=quoted.text,
                date=quoted.date,
                time=quoted.time,
                is_closed=bool(quoted.until),
                successor=choose_successor(later, quoted.text),
            )
        ]
    speaker, _, said = quoted.text.partition(": ")
    if speaker == "assistant":
        return []
    statements = statements_of([said])
    end = (quoted.until, quoted.until_time)
    # Of several statements, it is not known which one is over. A message that tells an end is
    # marked as over at its own time, and holds.
    is_over = any(end) and len(statements) == 1 and end != (quoted.date, quoted.time)
    return [
        Candidate(text=one, date=quoted.date, time=quoted.time, is_doubtful=True, is_closed=is_over)
        for one in statements
    ]


def _is_known(said: Candidate, fact: Candidate) -> bool:
    """Check whether a fact has what a statement of an old conversation tells."""
    return is_repeated(said.text, fact.text) or (
        said.is_of_same_message(fact) and tells_value_of(fact.text, said.text)
    )


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most].rsplit(maxsplit=1)[0]} …"


def _listed(results: Sequence[str]) -> list[str]:
    """The memories that tools' results list, without the lines that belong to them."""
    lines = (line for result in results for line in result.splitlines())
    return [found["text"] for found in map(_ENTRY.match, lines) if found]


def _note(statement: Statement) -> dict[str, str]:
    """Arguments of store_memory."""
    category = "preference" if is_taste(statement.text) else "fact"
    return {"category": category, "content": statement.text}


def _with_notices(turn: OfflineTurn, text: str, *, is_stand_in: bool) -> str:
    """Add the notice that no model is used, if it is due, and the list of unavailable services."""
    say = PHRASES[turn.language]
    names = [say.service_names.get(name, name) for name in turn.context.unavailable]
    admission = say.model_away if is_stand_in else say.no_model
    before = f"{admission} " if not turn.answered or is_stand_in else ""
    behind = f"\n{say.unavailable.format(', '.join(names))}" if names else ""
    return f"{before}{text}{behind}"


def _tool_call(tool: str, arguments: Mapping[str, object]) -> ToolCall:
    return ToolCall(
        id=f"call_{uuid.uuid4().hex[:24]}",
        name=tool,
        arguments=json.dumps(arguments, ensure_ascii=False),
    )
