"""Commands /documents and /tools: list and delete documents, list the model's tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from spade_llm.assistant.turn.documents import DocumentListing, PersonDocumentListing
from spade_llm.core.errors import NotFound, RequestError
from spade_llm.core.text import pluralize, single_line
from spade_llm.rag.names import MAX_SOURCE_CHARS, is_personal_namespace, personal_namespace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spade_llm.assistant.chat.service import ChatService, ChatTurnInput
    from spade_llm.assistant.commands.registry import CommandRegistry
    from spade_llm.assistant.turn.approval import ApprovalQuestion
    from spade_llm.assistant.turn.llm_behaviour import LLMBehaviour
    from spade_llm.providers.model import ToolSpec
    from spade_llm.rag.contract import DocumentPage, NamespaceSummary
    from spade_llm.tools.toolbox import Toolbox

LISTED_NAMESPACES = 20
LISTED_DOCUMENTS = 20
"""Maximum number of documents listed for each collection."""
MAX_NAME_CHARS = 120
NO_DOCUMENTS = "I have no documents agent."
DOCUMENTS_UNAVAILABLE = "The documents cannot be reached right now. Please try again in a moment."


class DeletableListing(DocumentListing, Protocol):
    """The part of a Catalogue (rag/contract.py) that lists and deletes."""

    async def delete(self, *, namespace: str, source: str | None = None) -> int: ...


class DocumentsCommand:
    def __init__(self, documents: DeletableListing | None, shared: Sequence[str] = ()) -> None:
        """`shared`: what others let the assistant read, as it is configured."""
        self._documents = documents
        self._shared = shared

    def add_to(self, commands: CommandRegistry) -> None:
        commands.add(
            "documents",
            self._list,
            "/documents [collection] – which documents I answer from, your own files among them",
            "/documents delete NAME – delete one of the files that you shared with me",
        )

    async def _list(self, argument: str, utterance: ChatTurnInput) -> str:
        if self._documents is None:
            return NO_DOCUMENTS
        verb, _, name = argument.partition(" ")
        if verb.lower() == "delete" and name.strip():
            return await self._delete(self._documents, name.strip(), utterance)
        listing = PersonDocumentListing(self._documents, person=utterance.peer, shared=self._shared)
        try:
            names = [one for one in await listing.namespaces() if argument in ("", _name(one))]
            pages = [
                await listing.documents(namespace=one.name, limit=LISTED_DOCUMENTS)
                for one in names[:LISTED_NAMESPACES]
            ]
        except RequestError:
            return DOCUMENTS_UNAVAILABLE
        return self._shown(argument, names, pages)

    async def _delete(
        self, documents: DeletableListing, name: str, utterance: ChatTurnInput
    ) -> str:
        """Delete a file of the person's own namespace, the only one that can be deleted from."""
        try:
            count = await documents.delete(
                namespace=personal_namespace(utterance.peer), source=name[:MAX_SOURCE_CHARS]
            )
        except RequestError as error:
            # Who has shared nothing has no namespace.
            if error.wire_code != NotFound.code:
                return DOCUMENTS_UNAVAILABLE
            count = 0
        shown = _short(name)
        return f"Deleted: {shown}." if count else f"You have shared no file {shown!r} with me."

    def _shown(
        self, argument: str, names: Sequence[NamespaceSummary], pages: Sequence[DocumentPage]
    ) -> str:
        lines: list[str] = []
        # Not strict: pages were fetched for the first LISTED_NAMESPACES names only.
        for namespace, page in zip(names, pages, strict=False):
            lines.append(f"{_name(namespace)}, {pluralize(namespace.documents, 'document')}:")
            lines += [
                f"- {_short(one.source)} ({one.updated_at:%Y-%m-%d})" for one in page.documents
            ]
            if page.total > len(page.documents):
                lines.append(f"- … and {page.total - len(page.documents)} more")
        if more := len(names) - len(pages):
            lines.append(f"… and {more} more collections: /documents NAME shows one.")
        if self._shared and not argument:
            lines.append(f"Shared with me by others: {', '.join(map(_short, self._shared))}.")
        if not lines:
            return f"I have no collection {_short(argument)!r}." if argument else "No documents."
        return "\n".join(lines)


def _name(namespace: NamespaceSummary) -> str:
    return "your files" if is_personal_namespace(namespace.name) else _short(namespace.name)


def _short(text: str) -> str:
    return single_line(text, MAX_NAME_CHARS)


MAX_TOOLS = 100
MAX_DESCRIPTION_CHARS = 160
"""Maximum length of a tool's description in the list, in characters."""


class ToolsCommand:
    def __init__(
        self,
        toolbox_for: Callable[[str], Toolbox],
        questions_of: Callable[[str], Sequence[ApprovalQuestion]],
    ) -> None:
        """Both take a bare JID: which tools its turns have, and what it is asked now."""
        self._toolbox_for = toolbox_for
        self._questions_of = questions_of

    def add_to(self, commands: CommandRegistry) -> None:
        commands.add("tools", self._list, "/tools – what I can do, and what I ask you about first")

    async def _list(self, _argument: str, utterance: ChatTurnInput) -> str:
        tools = await self._toolbox_for(utterance.peer).list()
        lines = [_tool_line(tool) for tool in tools[:MAX_TOOLS]]
        if more := len(tools) - len(lines):
            lines.append(f"… and {more} more.")
        head = "What my model can call:" if lines else "My model has no tools."
        questions = self._questions_of(utterance.peer)
        waiting = [f"Waiting for your yes or no: {one.tool}." for one in questions]
        return "\n".join([head, *lines, *waiting])


def _tool_line(tool: ToolSpec) -> str:
    about = single_line(tool.description.strip().partition("\n")[0], MAX_DESCRIPTION_CHARS)
    asks = " I ask you before each call." if tool.needs_approval else ""
    return f"- {tool.name}: {about}{asks}"


def add_resource_commands(
    behaviour: LLMBehaviour,
    chat: ChatService,
    documents: DeletableListing | None,
    *,
    shared: Sequence[str],
) -> None:
    DocumentsCommand(documents, shared).add_to(behaviour.commands)
    ToolsCommand(behaviour.toolbox_of, chat.questions_of).add_to(behaviour.commands)
