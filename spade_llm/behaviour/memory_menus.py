"""What is remembered about a person, as menus: see, correct, forget, export. The same as the text
commands, which do the work; here is only what they are asked with."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Protocol

from spade_llm.acl import bare
from spade_llm.behaviour.menu_texts import LABELS, MENU_TEXTS
from spade_llm.conversation.memory_numbers import (
    ENGLISH_ITEMS,
    MAX_LINE_CHARS,
    SPANISH_ITEMS,
    numbered_line,
    plain_item,
)
from spade_llm.xmpp.menu import Asked, Done, Entry, Field, FieldKind, Form, Option, Visit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.behaviour.menu_texts import MenuTexts
    from spade_llm.memory.store import MemoryEntry
    from spade_llm.xmpp.menu import Filled, Step

OFFERED = 50
"""A person's newest memories; older ones are found by words, or by text."""


class Shelf(Protocol):
    """Where memories about people are, and who obeys their text commands."""

    async def entries(self, peer: str, limit: int) -> Sequence[MemoryEntry]:
        """Newest first. Raises RequestError, ServiceError."""
        ...

    async def obey(self, verb: str, argument: str, visit: Visit) -> str:
        """As the command `/verb argument`, in the visitor's language."""
        ...

    @property
    def all(self) -> str:
        """The argument of `forget` that means everything, and asks no more."""
        ...


class MemoryMenus:
    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf

    @property
    def entries(self) -> list[Entry]:
        begin = {
            "memories": self._list,
            "correct": self._correct,
            "forget": self._forget,
            "export": self._export,
        }
        return [Entry(node=node, labels=LABELS[node], begin=one) for node, one in begin.items()]

    async def _list(self, visit: Visit) -> Step:
        say = MENU_TEXTS[visit.language]
        form = Form(title=say.about_you, fields=(Field(name="words", label=say.words),))
        return Asked(form=form, then=partial(self._listed, visit))

    async def _listed(self, visit: Visit, filled: Filled) -> Step:
        return Done(text=await self._shelf.obey("memories", "".join(filled["words"]), visit))

    async def _correct(self, visit: Visit) -> Step:
        say, entries = await self._of(visit)
        if not entries:
            return Done(text=say.nothing)
        which = _choice(entries, FieldKind.ONE, say.memory, visit, is_required=True)
        form = Form(title=say.about_you, fields=(which,))
        return Asked(form=form, then=partial(self._correct_this, visit, entries))

    async def _correct_this(
        self, visit: Visit, entries: Sequence[MemoryEntry], filled: Filled
    ) -> Step:
        say = MENU_TEXTS[visit.language]
        entry = _chosen(entries, filled["memory"])[0]
        text = Field(
            name="text",
            label=say.new_text,
            kind=FieldKind.LINES,
            value=entry.content,
            is_required=True,
        )
        form = Form(
            title=_label(entry, visit),
            instructions=(say.correct_how,),
            fields=(text,),
        )
        return Asked(form=form, then=partial(self._corrected, visit, entry.id))

    async def _corrected(self, visit: Visit, id: str, filled: Filled) -> Step:
        argument = f"{id} {''.join(filled['text'])}"
        return Done(text=await self._shelf.obey("correct", argument, visit))

    async def _forget(self, visit: Visit) -> Step:
        say, entries = await self._of(visit)
        everything = Field(name="all", label=say.everything, kind=FieldKind.YES_NO, value="0")
        some = [_choice(entries, FieldKind.SEVERAL, say.memories, visit)] if entries else []
        form = Form(title=say.about_you, instructions=(say.forget_how,), fields=(*some, everything))
        return Asked(form=form, then=partial(self._forget_these, visit, entries))

    async def _forget_these(
        self, visit: Visit, entries: Sequence[MemoryEntry], filled: Filled
    ) -> Step:
        say = MENU_TEXTS[visit.language]
        if filled["all"]:
            sure = Field(name="sure", label=say.sure, kind=FieldKind.YES_NO, value="0")
            form = Form(title=say.everything, instructions=(say.sure_how,), fields=(sure,))
            return Asked(form=form, then=partial(self._forget_all, visit))
        chosen = _chosen(entries, filled.get("memory", ()))
        said = [await self._shelf.obey("forget", one.id, visit) for one in chosen]
        return Done(text="\n".join(dict.fromkeys(said)) or say.not_done)

    async def _forget_all(self, visit: Visit, filled: Filled) -> Step:
        if not filled["sure"]:
            return Done(text=MENU_TEXTS[visit.language].not_done)
        return Done(text=await self._shelf.obey("forget", self._shelf.all, visit))

    async def _export(self, visit: Visit) -> Step:
        return Done(text=await self._shelf.obey("export", "", visit))

    async def _of(self, visit: Visit) -> tuple[MenuTexts, Sequence[MemoryEntry]]:
        entries = await self._shelf.entries(bare(visit.jid), OFFERED)
        return MENU_TEXTS[visit.language], entries


def _choice(
    entries: Sequence[MemoryEntry],
    kind: FieldKind,
    label: str,
    visit: Visit,
    *,
    is_required: bool = False,
) -> Field:
    """profanity 0.13 shows the values of choices and not their labels, and of one choice nothing
    unless something is chosen before."""
    options = tuple(Option(value=numbered_line(one), label=_label(one, visit)) for one in entries)
    return Field(
        name="memory",
        label=label,
        kind=kind,
        options=options,
        value=options[0].value if kind is FieldKind.ONE else "",
        is_required=is_required,
    )


def _label(entry: MemoryEntry, visit: Visit) -> str:
    say = SPANISH_ITEMS if visit.language == "es" else ENGLISH_ITEMS
    return plain_item(entry, say=say, max_chars=MAX_LINE_CHARS)


def _chosen(entries: Sequence[MemoryEntry], lines: Sequence[str]) -> list[MemoryEntry]:
    return [one for one in entries if numbered_line(one) in lines]


def ask_about_learning(shelf: Shelf, visit: Visit, *, choices: Sequence[str]) -> Step:
    """`choices`: arguments of `learn` that this agent obeys."""
    say = MENU_TEXTS[visit.language]
    labels = {"status": say.show, "on": say.on, "off": say.off}
    what = Field(
        name="what",
        label=say.learning,
        kind=FieldKind.ONE,
        options=tuple(Option(value=one, label=labels[one]) for one in choices),
        value=choices[0],
        is_required=True,
    )
    form = Form(title=say.learning, fields=(what,))
    return Asked(form=form, then=partial(_learned, shelf, visit))


async def _learned(shelf: Shelf, visit: Visit, filled: Filled) -> Step:
    return Done(text=await shelf.obey("learn", "".join(filled["what"]), visit))
