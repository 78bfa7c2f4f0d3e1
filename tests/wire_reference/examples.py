"""One example request for each operation of each ontology, in an order in which they succeed.

`$name` in a request stands for a value of an earlier answer that the example with `keeps` named.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from spade_llm.assistant.chat import messages
from spade_llm.assistant.history import remote_sessions
from spade_llm.assistant.history.remote_sessions import SessionsClient
from spade_llm.assistant.turn.turn_options import ContextOptions
from spade_llm.memory import remote_endpoint as memory_endpoint
from spade_llm.memory.contract import (
    DecayPolicy,
    MemoryAccess,
    MemoryChange,
    MemoryDraft,
    ObservedMessage,
)
from spade_llm.memory.remote import MemoryClient
from spade_llm.messaging import Body, Empty, agent_status
from spade_llm.providers.model import Sampling
from spade_llm.rag import remote_endpoint
from spade_llm.rag.contract import RetrievalOptions, SourceDocument
from spade_llm.rag.remote import RagClient
from spade_llm.search.memory_query import MemoryFilter, MemoryQuery, MemoryType, SearchMode
from spade_llm.tools import remote

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CHAT, MEMORY, RAG = messages.ONTOLOGY, memory_endpoint.ONTOLOGY, remote_endpoint.ONTOLOGY
TOOLS, SESSIONS, AGENT = remote.ONTOLOGY, remote_sessions.ONTOLOGY, agent_status.ONTOLOGY

ADA = "ada@localhost"
THREAD = "holiday"
"""Conversation of the example chat; the sessions ontology calls it a session."""
NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A request, the type of its answer, and what the page says about the operation."""

    request: Body
    answer: type[Body]
    about: str
    parts: tuple[type[Body], ...] = ()
    """Bodies that may come before the answer."""
    keeps: Mapping[str, str] = field(default_factory=dict)
    """Name → dotted path into the answer."""
    until: str = ""
    """The request is sent again until this path of the answer holds something: background work."""
    when_asked: Example | None = None
    """Sent as soon as a part of the answer asks for approval."""
    thread: str = ""
    """The conversation of the request; empty: none."""

    @property
    def op(self) -> str:
        return type(self.request).op


CHAT_EXAMPLES = (
    Example(
        request=messages.SayRequest(
            text="Send Ben a postcard from Valencia",
            can_approve=True,
            context=ContextOptions(use_documents=True, max_tokens=500, language="en"),
        ),
        answer=messages.ChatReply,
        about="Sends a message to the assistant. The answer is streamed as parts (`Delta`, and "
        "`Asked` where a tool call needs approval), then comes whole as `Reply`.",
        parts=(messages.AnswerDelta, messages.ApprovalPrompt),
        when_asked=Example(
            request=messages.ApproveRequest(id="$question", is_approved=True),
            answer=Empty,
            about="Answers a request for approval (`ApprovalPrompt`) of a running `say`.",
        ),
        thread=THREAD,
    ),
    Example(
        request=messages.CompletionRequest(
            prompt="Write a title for a diary", sampling=Sampling(max_tokens=20)
        ),
        answer=messages.ChatReply,
        parts=(messages.AnswerDelta,),
        about="Sends one prompt to the model, without conversation, memory, documents or tools.",
    ),
    Example(
        request=messages.UsageRequest(days=7),
        answer=messages.UsageReport,
        about="Returns the tokens that the caller has used per day, and the caller's limits.",
    ),
    Example(
        request=messages.ExplanationRequest(),
        answer=messages.ExplanationReport,
        about="Explains the last answer of the request's conversation: model calls, tools, "
        "memories and passages.",
        thread=THREAD,
    ),
    Example(
        request=messages.ReplyPageRequest(id="00000000000000000000000000000000", page=0),
        answer=messages.ReplyPage,
        about="Fetches a page of what did not fit into a `Reply`: where `rest` is not empty, pages "
        "0 to `rest_pages` - 1, joined, are the JSON text of a `Rest`. An unknown or expired id is "
        "refused, as here.",
    ),
)

SESSION_EXAMPLES = (
    Example(
        request=SessionsClient._history.body(session=THREAD, limit=10),
        answer=SessionsClient._history.response,
        about="Returns the latest messages of a session, oldest first.",
    ),
    Example(
        request=SessionsClient.stats.body(session=THREAD),
        answer=SessionsClient.stats.response,
        about="Counts the messages, tokens and memories of a session.",
    ),
    Example(
        request=SessionsClient.context.body(session=THREAD, max_tokens=500, language="en"),
        answer=SessionsClient.context.response,
        about="Renders the context of a session as text, within a token budget.",
    ),
    Example(
        request=SessionsClient._search.body(query="postcard", top_k=3),
        answer=SessionsClient._search.response,
        about="Searches what is remembered of the caller, messages included.",
    ),
    Example(
        request=SessionsClient._retrieve.body(query="postcard", limit=2),
        answer=SessionsClient._retrieve.response,
        about="Searches the caller's memories; the result is Markdown.",
    ),
    Example(
        request=SessionsClient._memories.body(limit=5),
        answer=SessionsClient._memories.response,
        about="Lists the caller's memories, newest first; with `text`, searches them.",
        keeps={"fact": "page.entries.0.id"},
        until="page.entries.0",
    ),
    Example(
        request=SessionsClient.correct.body(id="$fact", content="Ada's brother is called Ben"),
        answer=SessionsClient.correct.response,
        about="Replaces the text of one of the caller's memories.",
    ),
    Example(
        request=SessionsClient.forget.body(ids=("$fact",)),
        answer=SessionsClient.forget.response,
        about="Deletes some of the caller's memories.",
    ),
    Example(
        request=SessionsClient.clear.body(session=THREAD),
        answer=SessionsClient.clear.response,
        about="Deletes a session: its messages and its memories.",
    ),
    Example(
        request=SessionsClient._clear_messages.body(sessions=(THREAD,)),
        answer=SessionsClient._clear_messages.response,
        about="Deletes the messages of sessions and keeps what was learned from them.",
    ),
    Example(
        request=SessionsClient.forget_everything.body(),
        answer=SessionsClient.forget_everything.response,
        about="Deletes everything that is stored about the caller.",
    ),
)

MEMORY_EXAMPLES = (
    Example(
        request=MemoryClient.add.body(
            draft=MemoryDraft(
                content="Ada prefers green tea", subject=ADA, session=THREAD, tags=("drink",)
            )
        ),
        answer=MemoryClient.add.response,
        about="Stores a memory. The request id is the idempotency key.",
        keeps={"first": "entry.id"},
    ),
    Example(
        request=MemoryClient._add_many.body(
            drafts=(
                MemoryDraft(content="The kettle is in the office", tags=("office",)),
                MemoryDraft(content="The office is in Valencia", tags=("office",)),
            )
        ),
        answer=MemoryClient._add_many.response,
        about="Stores several memories in one transaction.",
        keeps={"second": "result.ids.0", "third": "result.ids.1"},
    ),
    Example(
        request=MemoryClient.get.body(id="$first"),
        answer=MemoryClient.get.response,
        about="Reads a memory and counts the access.",
    ),
    Example(
        request=MemoryClient._peek.body(ids=("$second", "$third")),
        answer=MemoryClient._peek.response,
        about="Reads several memories without counting the access.",
    ),
    Example(
        request=MemoryClient.update.body(
            change=MemoryChange(id="$first", content="Ada prefers black tea")
        ),
        answer=MemoryClient.update.response,
        about="Changes fields of a memory.",
    ),
    Example(
        request=MemoryClient._update_many.body(
            changes=(MemoryChange(id="$second", metadata={"floor": 3}),)
        ),
        answer=MemoryClient._update_many.response,
        about="Changes several memories in one transaction.",
    ),
    Example(
        request=MemoryClient.set_importance.body(id="$first", score=0.9, reason="asked for daily"),
        answer=MemoryClient.set_importance.response,
        about="Sets the importance of a memory by hand.",
    ),
    Example(
        request=MemoryClient.link.body(source="$second", target="$third", relation="located_in"),
        answer=MemoryClient.link.response,
        about="Links two memories.",
    ),
    Example(
        request=MemoryClient.links.body(id="$second"),
        answer=MemoryClient.links.response,
        about="Lists the links of a memory, in both directions.",
    ),
    Example(
        request=MemoryClient.unlink.body(source="$second", target="$third"),
        answer=MemoryClient.unlink.response,
        about="Removes the links between two memories.",
    ),
    Example(
        request=MemoryClient._search.body(
            query=MemoryQuery(text="tea", mode=SearchMode.HYBRID, limit=3, explain=True)
        ),
        answer=MemoryClient._search.response,
        about="Searches by words, by meaning, or by both.",
    ),
    Example(
        request=MemoryClient._similar.body(id="$second", limit=3),
        answer=MemoryClient._similar.response,
        about="Finds memories that resemble one memory.",
    ),
    Example(
        request=MemoryClient._list.body(which=MemoryFilter(tags=("office",)), limit=1),
        answer=MemoryClient._list.response,
        about="Lists the memories that match a filter, newest first.",
    ),
    Example(
        request=MemoryClient.stats.body(),
        answer=MemoryClient.stats.response,
        about="Counts the memories and messages of the caller, or of one session.",
    ),
    Example(
        request=MemoryClient.retrieve.body(query="tea", limit=1),
        answer=MemoryClient.retrieve.response,
        about="Searches; the result is the Markdown that a model reads.",
    ),
    Example(
        request=MemoryClient.observe.body(
            conversation=THREAD,
            subject=ADA,
            messages=(
                ObservedMessage(
                    id="m1", role="user", content="We fly to Valencia on Friday", at=NOON
                ),
                ObservedMessage(id="m2", role="assistant", content="Enjoy the trip!", at=NOON),
                ObservedMessage(id="m3", role="user", content="Wrong window, sorry", at=NOON),
            ),
        ),
        answer=MemoryClient.observe.response,
        about="Stores messages of a conversation verbatim. An id that is known changes nothing.",
    ),
    Example(
        request=MemoryClient.retract.body(conversation=THREAD, ids=("m3",)),
        answer=MemoryClient.retract.response,
        about="Removes messages that were corrected or taken back.",
    ),
    Example(
        request=MemoryClient._history.body(conversation=THREAD, limit=10),
        answer=MemoryClient._history.response,
        about="Returns the latest messages of a conversation, oldest first.",
    ),
    Example(
        request=MemoryClient.close_conversation.body(conversation=THREAD),
        answer=Empty,
        about="Ends a conversation, so that it is learned from now.",
    ),
    Example(
        request=MemoryClient._list.body(which=MemoryFilter(types=(MemoryType.EPISODIC,))),
        answer=MemoryClient._list.response,
        about="",
        keeps={"episode": "page.entries.0.id"},
        until="page.entries.0",
    ),
    Example(
        request=MemoryClient._episode_messages.body(id="$episode"),
        answer=MemoryClient._episode_messages.response,
        about="Returns the messages that an episode was made from.",
    ),
    Example(
        request=MemoryClient.session_context.body(session=THREAD, max_tokens=300, language="en"),
        answer=MemoryClient.session_context.response,
        about="Renders the context of a session as text, within a token budget.",
    ),
    Example(
        request=MemoryClient._clear_messages.body(conversations=(THREAD,)),
        answer=MemoryClient._clear_messages.response,
        about="Deletes the messages of conversations and keeps what was learned from them.",
    ),
    Example(
        request=MemoryClient.grant.body(to="ben@localhost", access=MemoryAccess.READ, tag="office"),
        answer=MemoryClient.grant.response,
        about="Lets another account read or write some of the caller's memories.",
        keeps={"grant": "grants.0.id"},
    ),
    Example(
        request=MemoryClient.grants.body(),
        answer=MemoryClient.grants.response,
        about="Lists the grants that the caller has given.",
    ),
    Example(
        request=MemoryClient._revoke.body(id="$grant"),
        answer=MemoryClient._revoke.response,
        about="Takes a grant back.",
    ),
    Example(
        request=MemoryClient.set_consent.body(subject=ADA, is_given=True),
        answer=MemoryClient.set_consent.response,
        about="Records whether a person allows learning across conversations.",
    ),
    Example(
        request=MemoryClient.consent.body(subject=ADA),
        answer=MemoryClient.consent.response,
        about="Reads a person's consent.",
    ),
    Example(
        request=MemoryClient.learned.body(subject=ADA),
        answer=MemoryClient.learned.response,
        about="Lists what reflections changed about a person.",
    ),
    Example(
        request=MemoryClient.undo_learned.body(
            subject=ADA, ids=["00000000-0000-0000-0000-000000000001"]
        ),
        answer=MemoryClient.undo_learned.response,
        about="Undoes such changes for good.",
    ),
    Example(
        request=MemoryClient.configure_decay.body(policy=DecayPolicy(is_enabled=True)),
        answer=MemoryClient.configure_decay.response,
        about="Sets the caller's retention policy.",
    ),
    Example(
        request=MemoryClient.decay_status.body(),
        answer=MemoryClient.decay_status.response,
        about="Reads the retention policy and the result of its last run.",
    ),
    Example(
        request=MemoryClient._run_decay.body(dry_run=True),
        answer=MemoryClient._run_decay.response,
        about="Applies the retention policy, or (dry run) tells what it would delete.",
    ),
    Example(
        request=MemoryClient.reviewed.body(ids=("$first",)),
        answer=Empty,
        about="Records that memories were used, which strengthens them.",
    ),
    Example(
        request=MemoryClient.replace.body(
            ids=("$second", "$third"),
            draft=MemoryDraft(content="The kettle is in the Valencia office"),
            keep=False,
        ),
        answer=MemoryClient.replace.response,
        about="Replaces several memories by a summary.",
        keeps={"summary": "entry.id"},
    ),
    Example(
        request=MemoryClient.merge.body(into="$first", others=("$summary",)),
        answer=MemoryClient.merge.response,
        about="Merges duplicates into one memory.",
    ),
    Example(
        request=MemoryClient._delete.body(which=MemoryFilter(tags=("office",)), limit=10),
        answer=MemoryClient._delete.response,
        about="Hides the memories that match a filter; the next purge removes them.",
    ),
    Example(
        request=MemoryClient.forget.body(ids=("$first",)),
        answer=MemoryClient.forget.response,
        about="Erases memories at once, from the disk too.",
    ),
    Example(
        request=MemoryClient.forget_session.body(session=THREAD),
        answer=MemoryClient.forget_session.response,
        about="Erases the messages and memories of a session.",
    ),
    Example(
        request=MemoryClient.forget_subject.body(subject=ADA),
        answer=MemoryClient.forget_subject.response,
        about="Erases all memories and messages about a person.",
    ),
    Example(
        request=MemoryClient.clear_subject.body(subject=ADA),
        answer=MemoryClient.clear_subject.response,
        about="As `forget_subject`; the answer counts by type.",
    ),
)

RAG_EXAMPLES = (
    Example(
        request=RagClient._ingest.body(
            document=SourceDocument(
                text="# Tower\nThe tower has 199 steps.", source="guide.md", namespace="city"
            )
        ),
        answer=remote_endpoint.IngestReport,
        about="Stores a document that fits into one message.",
    ),
    Example(
        request=RagClient._ingest_path.body(path="$folder", namespace="city"),
        answer=remote_endpoint.IngestReport,
        parts=(remote_endpoint.ProgressPart,),
        about="Stores a file or folder below a document root of the RAG agent's machine. Progress "
        "is reported in parts (`ProgressPart`).",
    ),
    Example(
        request=RagClient._ingest_url.body(url="$upload", source="opening.md", namespace="city"),
        answer=remote_endpoint.IngestReport,
        parts=(remote_endpoint.ProgressPart,),
        about="Stores a file that was uploaded to the RAG agent's XMPP server (XEP-0363).",
    ),
    Example(
        request=RagClient._namespaces.body(),
        answer=RagClient._namespaces.response,
        about="Lists the namespaces that the caller may see.",
    ),
    Example(
        request=RagClient._documents.body(namespace="city", limit=2),
        answer=RagClient._documents.response,
        about="Lists documents.",
    ),
    Example(
        request=RagClient.stats.body(namespace="city"),
        answer=RagClient.stats.response,
        about="Counts the documents, chunks and vectors of a namespace.",
    ),
    Example(
        request=RagClient._retrieve.body(
            query="How many steps?", k=1, options=RetrievalOptions(namespaces=("city",))
        ),
        answer=RagClient._retrieve.response,
        about="Finds passages.",
    ),
    Example(
        request=RagClient._answer.body(question="How many steps has the tower?", k=1),
        answer=RagClient._answer.response,
        about="Answers a question from the documents, with citations.",
    ),
    Example(
        request=RagClient.grant.body(namespace="city", to="ben@localhost"),
        answer=Empty,
        about="Lets another account or domain use a namespace.",
    ),
    Example(
        request=RagClient._grants.body(),
        answer=RagClient._grants.response,
        about="Lists the grants that the caller has given.",
    ),
    Example(
        request=RagClient._revoke.body(namespace="city", to="ben@localhost"),
        answer=RagClient._revoke.response,
        about="Takes a grant back.",
    ),
    Example(
        request=RagClient._reindex.body(namespace="city"),
        answer=remote_endpoint.DocumentCount,
        parts=(remote_endpoint.ProgressPart,),
        about="Computes the vectors again, with the current embedding model.",
    ),
    Example(
        request=RagClient.delete.body(namespace="city", source="guide.md"),
        answer=RagClient.delete.response,
        about="Deletes a document, or a namespace with all its documents.",
    ),
)

TOOL_EXAMPLES = (
    Example(
        request=remote.ToolsClient._list.body(),
        answer=remote.ToolsResponse,
        about="Lists the tools that the caller may call.",
    ),
    Example(
        request=remote.ToolsClient._call.body("calculator", {"expression": "6 * 7"}),
        answer=remote.ToolResultResponse,
        about="Calls a tool.",
    ),
)

AGENT_EXAMPLES = (
    Example(
        request=agent_status.StatusRequest(),
        answer=agent_status.AgentStatus,
        about="Returns what the agent is, what it serves and how busy it is.",
    ),
    Example(
        request=agent_status.RecentRequestsQuery(limit=1),
        answer=agent_status.RecentRequests,
        about="Returns the caller's latest requests to this agent.",
    ),
)

EXAMPLES: Mapping[str, Sequence[Example]] = {
    CHAT: CHAT_EXAMPLES,
    SESSIONS: SESSION_EXAMPLES,
    MEMORY: MEMORY_EXAMPLES,
    RAG: RAG_EXAMPLES,
    TOOLS: TOOL_EXAMPLES,
    AGENT: AGENT_EXAMPLES,
}
"""Per ontology."""
