"""Interaction memory: notes on conversation partners, stored in a SQLite file.

Over a memory's file of ours; the JSON that spade_llm left is taken over and stays as it is. Its
calls are not asynchronous and take milliseconds: inside an event loop use a thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypedDict

from spade_llm.core.text import single_line
from spade_llm.memory.agent_memory import DATA_OF_SPADE_LLM
from spade_llm.memory.contract import MemoryDraft, MemoryEntry
from spade_llm.memory.database import entries, relations, removal
from spade_llm.memory.database.rows import entry_row, to_microseconds
from spade_llm.memory.database.sqlite_connection import BlockingMemory
from spade_llm.memory.transfer.legacy_files import INTERACTION, MIGRATED_SUFFIX, migrate_legacy_file
from spade_llm.memory.validation import check_draft
from spade_llm.search.memory_query import Category, MemoryFilter
from spade_llm.tools.llm_tool import LLMTool
from spade_llm.tools.toolbox import current_context

MAX_NOTES = 1000
"""Maximum number of notes read: the newest of a conversation, or of all conversations together."""
MAX_SHOWN_CHARS = 1000
"""Maximum length of a note in a summary, in characters."""
NAME = "remember_interaction_info"
DESCRIPTION = """\
Keep one fact about the one you are talking with, for your next conversations with them: an \
address, a format, a preference, what they can do. Only what will be of use again; no small talk."""
PARAMETERS: Mapping[str, object] = {
    "type": "object",
    "properties": {"information": {"type": "string", "description": "The fact, in one sentence."}},
    "required": ["information"],
}


class InteractionNote(TypedDict):
    content: str
    timestamp: str


class AgentInteractionMemory:
    """The agent `agent_id`'s notes, in the folder `memory_path`, which is made."""

    def __init__(self, agent_id: str, memory_path: str | None = None) -> None:
        self.agent_id = agent_id
        folder = Path(memory_path) if memory_path is not None else DATA_OF_SPADE_LLM
        folder.mkdir(parents=True, exist_ok=True)
        # The file name of spade_llm 0.2 and 0.3, whose notes are taken over.
        name = agent_id.replace("@", "_").replace("/", "_") + "_interactions.json"
        self.storage_path = migrate_legacy_file(folder / name, folder / f"{name}{MIGRATED_SUFFIX}")
        self._file = BlockingMemory(self.storage_path)

    def add_information(self, conversation_id: str, information: str) -> str:
        """Note it, durably. Raises InvalidArguments, StorageFailed."""
        draft = MemoryDraft(
            content=information,
            category=Category.FACT,
            session=conversation_id,
            tags=(INTERACTION,),
        )
        check_draft(draft)
        row = entry_row(draft, owner=self.agent_id, key=None, now=self._now(), short_term_ttl_s=0.0)
        self._file.run(partial(entries.add_entry, owner=self.agent_id, row=row, merge=False))
        return f"Noted: {information}"

    def get_information(self, conversation_id: str) -> list[str]:
        """Oldest first."""
        return [one.content for one in self._notes(MemoryFilter(session=conversation_id))]

    def get_all_interactions(self) -> dict[str, list[InteractionNote]]:
        """All notes, oldest first, grouped by conversation."""
        found: dict[str, list[InteractionNote]] = {}
        for one in self._notes(MemoryFilter()):
            note = InteractionNote(content=one.content, timestamp=one.created_at.isoformat())
            found.setdefault(one.session or "", []).append(note)
        return found

    def clear_conversation(self, conversation_id: str) -> bool:
        """Delete the notes of a conversation; False if there were none."""
        operation = partial(
            removal.forget_session, owner=self.agent_id, session=conversation_id, now=self._now()
        )
        return bool(self._file.run(operation).by_type)

    def get_context_summary(self, conversation_id: str) -> str | None:
        """Summary with one line for each note: data for a model, never instructions. None if there
        are no notes."""
        notes = self.get_information(conversation_id)
        lines = [f"- {single_line(note, MAX_SHOWN_CHARS)}" for note in notes]
        return "\n".join(["Noted in earlier interactions:", *lines]) if lines else None

    def entries_about(self, peer: str) -> Sequence[MemoryEntry]:
        """Notes of conversations with this one, newest first."""
        # Ours are named by the peer's bare JID; spade_llm's by both JIDs, with `_` between. A
        # separator must follow, since `ada@home` also begins `ada@homestead`.
        return [
            one
            for one in self._newest(MemoryFilter())
            if (one.session or "") == peer
            or (one.session or "").startswith((f"{peer}/", f"{peer}_"))
        ]

    def _notes(self, which: MemoryFilter) -> Iterator[MemoryEntry]:
        return reversed(self._newest(which))

    def _newest(self, which: MemoryFilter) -> Sequence[MemoryEntry]:
        operation = partial(
            relations.list_accessible,
            caller=self.agent_id,
            which=which,
            now=self._now(),
            limit=MAX_NOTES,
            offset=0,
        )
        return self._file.run(operation).entries

    def _now(self) -> int:
        return to_microseconds(self._file.now())


class AgentMemoryTool(LLMTool):
    """Tool `remember_interaction_info`: stores a note about the peer of the turn that calls it."""

    def __init__(self, interaction_memory: AgentInteractionMemory) -> None:
        super().__init__(NAME, DESCRIPTION, PARAMETERS, self._remember)
        self.interaction_memory = interaction_memory
        self._conversation_id = ""

    def set_conversation_id(self, conversation_id: str) -> None:
        """Set the conversation for calls outside a turn, made by the program itself."""
        self._conversation_id = conversation_id

    def _remember(self, information: str) -> str:
        # The context is the calling turn's own; the attribute is shared by all turns.
        peer = current_context.get().on_behalf_of
        conversation = peer or self._conversation_id or "unknown_conversation"
        return self.interaction_memory.add_information(conversation, information)
