"""Personal memory commands of the memory agent: list, correct, forget, export."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from spade_llm.assistant.commands.command_registry import is_confirmed, means_all
from spade_llm.assistant.commands.memory import (
    ENGLISH_ITEMS,
    MAX_ITEM_CHARS,
    MAX_LINE_CHARS,
    MIN_NUMBER_CHARS,
    SPANISH_ITEMS,
    ItemTexts,
    ListNumbers,
    export_json_lines,
    find_by_number,
    plain_item,
)
from spade_llm.core.text import load_texts, pluralize
from spade_llm.search.language import fold_accents, language_of

if TYPE_CHECKING:
    from spade_llm.memory.contract import MemoryEntry, SubjectStore


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonalMemoryTexts:
    """Everything it can say in one language; `{}` is filled in."""

    help: str
    memory: tuple[str, str]
    """Singular and plural."""
    listed: str
    kept_by: str
    more: str
    how: str
    how_to_correct: str
    nothing: str
    nothing_with_words: str
    no_single: str
    corrected: str
    forgotten: str
    confirm: str
    all_forgotten: str
    allowed: str
    not_allowed: str
    withdrawn: str
    left_out: str

    @property
    def items(self) -> ItemTexts:
        return SPANISH_ITEMS if self is SPANISH else ENGLISH_ITEMS


TEXTS = load_texts(PersonalMemoryTexts, __file__, "personal_memory.toml")
ENGLISH, SPANISH = TEXTS["en"], TEXTS["es"]

LISTED = 20
MAX_SCANNED = 2000
"""A person's newest memories: those that words and numbers can mean."""
PAGE = 200

# `passport` and `import` are answered by memory_passport.py.
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
    "passport": ("passport", ENGLISH),
    "pasaporte": ("passport", SPANISH),
    "import": ("import", ENGLISH),
    "importar": ("import", SPANISH),
    "learn": ("learn", ENGLISH),
    "aprender": ("learn", SPANISH),
    "help": ("help", ENGLISH),
    "ayuda": ("help", SPANISH),
}
OFF_WORDS = frozenset({"off", "no"})


class SubjectMemories(Protocol):
    """Access to the memories of all owners by subject (the person they are about)."""

    def about(self, subject: str) -> SubjectStore: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonalCommand:
    verb: str
    argument: str
    say: PersonalMemoryTexts

    @property
    def language(self) -> str:
        return "es" if self.say is SPANISH else "en"


def parse_personal_command(text: str) -> PersonalCommand:
    """Command of a message, also without its `/` or with two; anything else asks for help."""
    head, _, rest = text.strip().partition(" ")
    # Clients that keep `/help` for themselves need `//help`, which Converse.js sends as it is.
    head = head.removeprefix("/").removeprefix("/")
    if not rest:
        head = head.strip("¿?¡!.")
    unknown = ("help", SPANISH if language_of(text) == "es" else ENGLISH)
    verb, say = VERBS.get(fold_accents(head), unknown)
    return PersonalCommand(verb=verb, argument=rest.strip(), say=say)


class PersonalMemoryCommands:
    """Answers one person at a time, each about themselves. Raises ServiceError, as the store."""

    def __init__(self, subjects: SubjectMemories) -> None:
        self._subjects = subjects
        self._shown = ListNumbers()

    async def answer(self, text: str, *, subject: str) -> str:
        """`subject` is the bare JID that the server stamped."""
        wish = parse_personal_command(text)
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

    async def _list(self, store: SubjectStore, wish: PersonalCommand, subject: str) -> str:
        entries = await _entries(store)
        wanted = fold_accents(wish.argument).split()
        texts = (f"{one.content} {one.owner} {one.category or one.type}" for one in entries)
        found = [
            one
            for one, text in zip(entries, map(fold_accents, texts), strict=True)
            if all(word in text for word in wanted)
        ]
        if not found:
            return wish.say.nothing_with_words if wanted else wish.say.nothing
        shown, left = found[:LISTED], len(found) - LISTED
        self._shown.show(subject, shown)
        lines = [f"{number}. {_line(one, wish.say)}" for number, one in enumerate(shown, start=1)]
        more = [wish.say.more.format(left)] if left > 0 else []
        return "\n".join([wish.say.listed, *lines, *more, wish.say.how])

    async def _correct(self, store: SubjectStore, wish: PersonalCommand, subject: str) -> str:
        number, _, content = wish.argument.partition(" ")
        entry = await self._one(store, number, subject)
        if entry is None and number:
            return wish.say.no_single.format(number)
        if entry is None or not content.strip():
            return wish.say.how_to_correct
        corrected = await store.correct(entry.id, content.strip())
        return f"{wish.say.corrected} {_line(corrected, wish.say, max_chars=MAX_LINE_CHARS)}"

    async def _forget(self, store: SubjectStore, wish: PersonalCommand, subject: str) -> str:
        if means_all(wish.argument):
            return await _forget_all(store, wish)
        number = wish.argument.partition(" ")[0]
        entry = await self._one(store, number, subject)
        if entry is None:
            return wish.say.no_single.format(number) if number else wish.say.how
        await store.forget([entry.id])
        return wish.say.forgotten

    async def _one(self, store: SubjectStore, number: str, subject: str) -> MemoryEntry | None:
        """Find a memory by its position in the list shown last, or by the beginning of its id."""
        number = self._shown.full_number(subject, number)
        if len(number) < MIN_NUMBER_CHARS:
            # Too short for an id, and no place in the list: nothing has to be read for it.
            return None
        return find_by_number(await _entries(store), number)


async def _forget_all(store: SubjectStore, wish: PersonalCommand) -> str:
    if is_confirmed(wish.argument):
        return wish.say.all_forgotten.format(_memories(wish, await store.forget_all()))
    return wish.say.confirm.format(_memories(wish, (await store.list(limit=1)).total))


def _memories(wish: PersonalCommand, count: int) -> str:
    return pluralize(count, *wish.say.memory)


async def _learn(store: SubjectStore, wish: PersonalCommand) -> str:
    if fold_accents(wish.argument).strip() in OFF_WORDS:
        await store.withdraw_all()
        return wish.say.withdrawn
    owners = await store.consented_owners()
    return wish.say.allowed.format(", ".join(owners)) if owners else wish.say.not_allowed


async def _export(store: SubjectStore, wish: PersonalCommand) -> str:
    lines, left_out = export_json_lines(await _entries(store))
    note = [wish.say.left_out.format(left_out)] if left_out else []
    return "\n".join([*lines, *note]) or wish.say.nothing


async def _entries(store: SubjectStore) -> list[MemoryEntry]:
    """Newest first, at most MAX_SCANNED."""
    entries: list[MemoryEntry] = []
    while len(entries) < MAX_SCANNED:
        page = await store.list(limit=PAGE, offset=len(entries))
        entries.extend(page.entries)
        if len(page.entries) < PAGE:
            break
    return entries


def _line(entry: MemoryEntry, say: PersonalMemoryTexts, *, max_chars: int = MAX_ITEM_CHARS) -> str:
    since = entry.created_at.date().isoformat()
    item = plain_item(entry, say=say.items, max_chars=max_chars)
    return f"{item} {say.kept_by.format(entry.owner, since)}"
