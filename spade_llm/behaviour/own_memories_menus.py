"""The memory agent's menu: a person sees, corrects and removes what all agents remember of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from spade_llm.acl import bare
from spade_llm.behaviour.memory_menus import MemoryMenus, ask_about_learning
from spade_llm.behaviour.menu_texts import LABELS
from spade_llm.xmpp.menu import Done, Entry, Visit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.conversation.own_memories import Subjects
    from spade_llm.memory.store import MemoryEntry
    from spade_llm.xmpp.menu import Step

Answer = Callable[[str, str], Awaitable[str]]
"""To what a bare JID (second) writes (first)."""
_IN_SPANISH = {
    "memories": "recuerdos",
    "correct": "corregir",
    "forget": "olvidar",
    "export": "exportar",
    "learn": "aprender",
    "help": "ayuda",
}
"""A command's language is its answer's."""
_WORDS = {"all yes": "todo sí", "off": "no"}


class OwnMemoriesMenus:
    """Satisfies Shelf."""

    all = "all yes"

    def __init__(self, subjects: Subjects, answer: Answer) -> None:
        self._subjects = subjects
        self._answer = answer

    @property
    def lines(self) -> list[Entry]:
        return [
            *MemoryMenus(self).entries,
            Entry(node="learn", labels=LABELS["learn"], begin=self._learn),
            Entry(node="help", labels=LABELS["help"], begin=self._help),
        ]

    async def entries(self, peer: str, limit: int) -> Sequence[MemoryEntry]:
        return (await self._subjects.about(peer).list(limit=limit)).entries

    async def obey(self, verb: str, argument: str, visit: Visit) -> str:
        if verb == "learn":
            argument = argument if argument == "off" else ""
        if visit.language == "es":
            verb, argument = _IN_SPANISH[verb], _WORDS.get(argument, argument)
        return await self._answer(f"/{verb} {argument}", bare(visit.jid))

    async def _learn(self, visit: Visit) -> Step:
        return ask_about_learning(self, visit, choices=("status", "off"))

    async def _help(self, visit: Visit) -> Step:
        return Done(text=await self.obey("help", "", visit))
