"""`/documents`: which documents answers are built from, for this person; nobody else's files. And
away with one of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from spade_llm.conversation.persons_documents import Listing, PersonsListing
from spade_llm.errors import NotFound, RequestError
from spade_llm.memory.one_line import one_line
from spade_llm.rag.names import MAX_SOURCE_CHARS, is_personal, personal_namespace
from spade_llm.text.counted import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.behaviour.commands import Commands
    from spade_llm.rag.documents import DocumentPage, NamespaceSummary
    from spade_llm.services.chat import Utterance

LISTED_NAMESPACES = 20
LISTED_DOCUMENTS = 20
"""Of one collection."""
MAX_NAME_CHARS = 120
NONE = "I have no documents agent."
AWAY = "The documents cannot be reached right now. Please try again in a moment."


class OwnedDocuments(Listing, Protocol):
    """The part of a Catalogue (rag/documents.py) that lists and deletes."""

    async def delete(self, *, namespace: str, source: str | None = None) -> int: ...


class DocumentsCommand:
    def __init__(self, documents: OwnedDocuments | None, shared: Sequence[str] = ()) -> None:
        """`shared`: what others let the assistant read, as it is configured."""
        self._documents = documents
        self._shared = shared

    def add_to(self, commands: Commands) -> None:
        commands.add(
            "documents",
            self._list,
            "/documents [collection] – which documents I answer from, your own files among them",
            "/documents delete NAME – delete one of the files that you shared with me",
        )

    async def _list(self, argument: str, utterance: Utterance) -> str:
        if self._documents is None:
            return NONE
        verb, _, name = argument.partition(" ")
        if verb.lower() == "delete" and name.strip():
            return await self._delete(self._documents, name.strip(), utterance)
        listing = PersonsListing(self._documents, person=utterance.peer, shared=self._shared)
        try:
            names = [one for one in await listing.namespaces() if argument in ("", _name(one))]
            pages = [
                await listing.documents(namespace=one.name, limit=LISTED_DOCUMENTS)
                for one in names[:LISTED_NAMESPACES]
            ]
        except RequestError:
            return AWAY
        return self._shown(argument, names, pages)

    async def _delete(self, documents: OwnedDocuments, name: str, utterance: Utterance) -> str:
        """Only of the person's own namespace, whatever the name."""
        try:
            count = await documents.delete(
                namespace=personal_namespace(utterance.peer), source=name[:MAX_SOURCE_CHARS]
            )
        except RequestError as error:
            if error.wire_code != NotFound.code:
                return AWAY
            count = 0
        shown = _short(name)
        return f"Deleted: {shown}." if count else f"You have shared no file {shown!r} with me."

    def _shown(
        self, argument: str, names: Sequence[NamespaceSummary], pages: Sequence[DocumentPage]
    ) -> str:
        lines = [
            line for one, page in zip(names, pages, strict=False) for line in _lines(one, page)
        ]
        if more := len(names) - len(pages):
            lines.append(f"… and {more} more collections: /documents NAME shows one.")
        if self._shared and not argument:
            lines.append(f"Shared with me by others: {', '.join(map(_short, self._shared))}.")
        if not lines:
            return f"I have no collection {_short(argument)!r}." if argument else "No documents."
        return "\n".join(lines)


def _lines(namespace: NamespaceSummary, page: DocumentPage) -> list[str]:
    lines = [f"{_name(namespace)}, {counted(namespace.documents, 'document')}:"]
    lines += [f"- {_short(one.source)} ({one.updated_at:%Y-%m-%d})" for one in page.documents]
    if more := max(page.total - len(page.documents), 0):
        lines.append(f"- … and {more} more")
    return lines


def _name(namespace: NamespaceSummary) -> str:
    return "your files" if is_personal(namespace.name) else _short(namespace.name)


def _short(text: str) -> str:
    return one_line(text, MAX_NAME_CHARS)
