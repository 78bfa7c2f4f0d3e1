"""What a person writes to the memory agent: what is remembered about them, by whom; to correct it
and to remove it. Text commands, English and Spanish. Knows no wire and no model.

The person is who the server says wrote; no command has a place for a name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from spade_llm.conversation.commands import is_confirmed, means_all
from spade_llm.conversation.memory_export import exported
from spade_llm.conversation.memory_numbers import (
    MAX_ITEM_CHARS,
    MAX_LINE_CHARS,
    MIN_NUMBER_CHARS,
    ShownLists,
    plain_item,
    with_number,
)
from spade_llm.conversation.own_memories_texts import ENGLISH, SPANISH
from spade_llm.providers.offline_words import language_of
from spade_llm.providers.zones import fold
from spade_llm.text.counted import counted

if TYPE_CHECKING:
    from spade_llm.conversation.own_memories_texts import Texts
    from spade_llm.memory.store import MemoryEntry, SubjectStore

LISTED = 20
MAX_LOOKED_AT = 2000
"""A person's newest memories: those that words and numbers can mean."""
PAGE = 200

VERBS = {
    "memories": ("list", ENGLISH),
    "recuerdos": ("list", SPANISH),
    "memorias": ("list", SPANISH),
    "correct": ("correct", ENGLISH),
    "corregir": ("correct", SPANISH),
    "corrige": ("correct", SPANISH),
    "forget": ("forget", ENGLISH),
    "olvidar": ("forget", SPANISH),
    "olvida": ("forget", SPANISH),
    "export": ("export", ENGLISH),
    "exportar": ("export", SPANISH),
    "learn": ("learn", ENGLISH),
    "aprender": ("learn", SPANISH),
    "help": ("help", ENGLISH),
    "ayuda": ("help", SPANISH),
}
OFF = frozenset({"off", "no"})


class Subjects(Protocol):
    """Where everybody's memories are found by whom they are about."""

    def about(self, subject: str) -> SubjectStore: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    verb: str
    argument: str
    say: Texts


def read_wish(text: str) -> Wish:
    """The command that a message is, also without its `/` or with two; anything else wishes for
    help."""
    head, _, rest = text.strip().partition(" ")
    head = head.removeprefix("/").removeprefix("/")
    if not rest:
        head = head.strip("¿?¡!.")
    unknown = ("help", SPANISH if language_of(text) == "es" else ENGLISH)
    verb, say = VERBS.get(fold(head), unknown)
    return Wish(verb=verb, argument=rest.strip(), say=say)


class OwnMemories:
    """Answers one person at a time, each about themselves. Raises ServiceError, as the store."""

    def __init__(self, subjects: Subjects) -> None:
        self._subjects = subjects
        self._shown = ShownLists()

    async def answer(self, text: str, *, subject: str) -> str:
        """`subject` is the bare JID that the server stamped."""
        wish = read_wish(text)
        store = self._subjects.about(subject)
        match wish.verb:
            case "list":
                return await self._list(store, wish, subject)
            case "correct":
                return await self._correct(store, wish, subject)
            case "forget":
                return await self._forget(store, wish, subject)
            case "learn":
                return await _learn(store, wish)
            case "export":
                return await _export(store, wish)
            case _:
                return wish.say.help.format(subject)

    async def _list(self, store: SubjectStore, wish: Wish, subject: str) -> str:
        entries = await _entries(store)
        wanted = fold(wish.argument).split()
        found = [one for one in entries if all(word in _searchable(one) for word in wanted)]
        if not found:
            return wish.say.nothing_with_words if wanted else wish.say.nothing
        shown, left = found[:LISTED], len(found) - LISTED
        self._shown.show(subject, shown)
        lines = [f"{number}. {_line(one, wish.say)}" for number, one in enumerate(shown, start=1)]
        more = [wish.say.more.format(left)] if left > 0 else []
        return "\n".join([wish.say.listed, *lines, *more, wish.say.how])

    async def _correct(self, store: SubjectStore, wish: Wish, subject: str) -> str:
        number, _, content = wish.argument.partition(" ")
        entry = await self._one(store, number, subject)
        if entry is None and number:
            return wish.say.no_single.format(number)
        if entry is None or not content.strip():
            return wish.say.how_to_correct
        corrected = await store.correct(entry.id, content.strip())
        return f"{wish.say.corrected} {_line(corrected, wish.say, max_chars=MAX_LINE_CHARS)}"

    async def _forget(self, store: SubjectStore, wish: Wish, subject: str) -> str:
        if means_all(wish.argument):
            return await _forget_all(store, wish)
        number = wish.argument.partition(" ")[0]
        entry = await self._one(store, number, subject)
        if entry is None:
            return wish.say.no_single.format(number) if number else wish.say.how
        await store.forget([entry.id])
        return wish.say.forgotten

    async def _one(self, store: SubjectStore, number: str, subject: str) -> MemoryEntry | None:
        """By its place in the list that was shown last, or by what its id begins with."""
        number = self._shown.full_number(subject, number)
        if len(number) < MIN_NUMBER_CHARS:
            # It costs no reading.
            return None
        return with_number(await _entries(store), number)


async def _forget_all(store: SubjectStore, wish: Wish) -> str:
    if is_confirmed(wish.argument):
        return wish.say.all_forgotten.format(_memories(wish, await store.forget_all()))
    return wish.say.confirm.format(_memories(wish, (await store.list(limit=1)).total))


def _memories(wish: Wish, count: int) -> str:
    return counted(count, *wish.say.memory)


async def _learn(store: SubjectStore, wish: Wish) -> str:
    if fold(wish.argument).strip() in OFF:
        await store.withdraw_all()
        return wish.say.withdrawn
    owners = await store.allowed()
    return wish.say.allowed.format(", ".join(owners)) if owners else wish.say.not_allowed


async def _export(store: SubjectStore, wish: Wish) -> str:
    lines, left_out = exported(await _entries(store))
    note = [wish.say.left_out.format(left_out)] if left_out else []
    return "\n".join([*lines, *note]) or wish.say.nothing


async def _entries(store: SubjectStore) -> list[MemoryEntry]:
    """Newest first, at most MAX_LOOKED_AT."""
    entries: list[MemoryEntry] = []
    while len(entries) < MAX_LOOKED_AT:
        page = await store.list(limit=PAGE, offset=len(entries))
        entries.extend(page.entries)
        if len(page.entries) < PAGE:
            break
    return entries


def _searchable(entry: MemoryEntry) -> str:
    return fold(f"{entry.content} {entry.owner} {entry.category or entry.type}")


def _line(entry: MemoryEntry, say: Texts, *, max_chars: int = MAX_ITEM_CHARS) -> str:
    since = entry.created_at.date().isoformat()
    item = plain_item(entry, say=say.items, max_chars=max_chars)
    return f"{item} {say.kept_by.format(entry.owner, since)}"
