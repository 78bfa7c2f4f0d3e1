"""One example request for each operation of each ontology, in an order in which they succeed.

`$name` in a request stands for a value of an earlier answer that the example with `keeps` named.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from spade_llm.acl import Body, Empty
from spade_llm.conversation.wishes import ContextWishes
from spade_llm.memory.store import (
    Access,
    DecayPolicy,
    MemoryChange,
    MemoryDraft,
    MemoryFilter,
    MemoryQuery,
    MemoryType,
    ObservedMessage,
    SearchMode,
)
from spade_llm.providers.model import Sampling
from spade_llm.rag.documents import Document
from spade_llm.rag.retriever import RetrievalOptions
from spade_llm.services import (
    chat_bodies,
    chat_reports,
    chat_rest,
    memory_body,
    memory_consent,
    memory_decay,
    memory_entries,
    memory_forgetting,
    memory_grants,
    memory_history,
    memory_links,
    memory_search,
    memory_texts,
    rag_answer,
    rag_body,
    rag_catalogue,
    rag_ingest,
    rag_long,
    rag_retrieval,
    rag_sharing,
    sessions,
    status,
    tools,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CHAT, MEMORY, RAG = chat_bodies.ONTOLOGY, memory_body.ONTOLOGY, rag_body.ONTOLOGY
TOOLS, SESSIONS, AGENT = tools.ONTOLOGY, sessions.ONTOLOGY, status.ONTOLOGY

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
        request=chat_bodies.Say(
            text="Send Ben a postcard from Valencia",
            can_approve=True,
            context=ContextWishes(use_documents=True, max_tokens=500, language="en"),
        ),
        answer=chat_bodies.Reply,
        about="Sends a message to the assistant. The answer is streamed as parts (`Delta`, and "
        "`Asked` where a tool call needs approval), then comes whole as `Reply`.",
        parts=(chat_bodies.Delta, chat_bodies.Asked),
        when_asked=Example(
            request=chat_bodies.Approve(id="$question", is_approved=True),
            answer=Empty,
            about="Answers a request for approval (`Asked`) of a running `say`.",
        ),
        thread=THREAD,
    ),
    Example(
        request=chat_bodies.Generate(
            prompt="Write a title for a diary", sampling=Sampling(max_tokens=20)
        ),
        answer=chat_bodies.Reply,
        parts=(chat_bodies.Delta,),
        about="Sends one prompt to the model, without conversation, memory, documents or tools.",
    ),
    Example(
        request=chat_reports.AskUsage(days=7),
        answer=chat_reports.UsageReport,
        about="Returns the tokens that the caller has used per day, and the caller's limits.",
    ),
    Example(
        request=chat_reports.AskWhy(),
        answer=chat_reports.Why,
        about="Explains the last answer of the request's conversation: model calls, tools, "
        "memories and passages.",
        thread=THREAD,
    ),
    Example(
        request=chat_rest.AskRest(id="00000000000000000000000000000000", page=0),
        answer=chat_rest.RestPage,
        about="Fetches a page of what did not fit into a `Reply`: where `rest` is not empty, pages "
        "0 to `rest_pages` - 1, joined, are the JSON text of a `Rest`. An unknown or expired id is "
        "refused, as here.",
    ),
)

SESSION_EXAMPLES = (
    Example(
        request=sessions.AskHistory(session=THREAD, limit=10),
        answer=sessions.HistoryOfSession,
        about="Returns the latest messages of a session, oldest first.",
    ),
    Example(
        request=sessions.AskStats(session=THREAD),
        answer=sessions.CountsOfSession,
        about="Counts the messages, tokens and memories of a session.",
    ),
    Example(
        request=sessions.AskContext(session=THREAD, max_tokens=500, language="en"),
        answer=sessions.ContextOfSession,
        about="Renders the context of a session as text, within a token budget.",
    ),
    Example(
        request=sessions.Search(query="postcard", top_k=3),
        answer=sessions.FoundInSessions,
        about="Searches what is remembered of the caller, messages included.",
    ),
    Example(
        request=sessions.Retrieve(query="postcard", limit=2),
        answer=sessions.Markdown,
        about="Searches the caller's memories; the result is Markdown.",
    ),
    Example(
        request=sessions.AskMemories(limit=5),
        answer=sessions.Memories,
        about="Lists the caller's memories, newest first; with `text`, searches them.",
        keeps={"fact": "page.entries.0.id"},
        until="page.entries.0",
    ),
    Example(
        request=sessions.Correct(id="$fact", content="Ada's brother is called Ben"),
        answer=sessions.Corrected,
        about="Replaces the text of one of the caller's memories.",
    ),
    Example(
        request=sessions.Forget(ids=("$fact",)),
        answer=sessions.Count,
        about="Deletes some of the caller's memories.",
    ),
    Example(
        request=sessions.ClearMessages(sessions=(THREAD,)),
        answer=sessions.Count,
        about="Deletes the messages of sessions and keeps what was learned from them.",
    ),
    Example(
        request=sessions.Clear(session=THREAD),
        answer=sessions.CountsOfSession,
        about="Deletes a session: its messages and its memories.",
    ),
    Example(
        request=sessions.ForgetEverything(),
        answer=sessions.Everything,
        about="Deletes everything that is stored about the caller.",
    ),
)

MEMORY_EXAMPLES = (
    Example(
        request=memory_entries.Add(
            draft=MemoryDraft(
                content="Ada prefers green tea", subject=ADA, session=THREAD, tags=("drink",)
            )
        ),
        answer=memory_entries.Entry,
        about="Stores a memory. The request id is the idempotency key.",
        keeps={"first": "entry.id"},
    ),
    Example(
        request=memory_entries.AddMany(
            drafts=(
                MemoryDraft(content="The kettle is in the office", tags=("office",)),
                MemoryDraft(content="The office is in Valencia", tags=("office",)),
            )
        ),
        answer=memory_entries.Batch,
        about="Stores several memories in one transaction.",
        keeps={"second": "result.ids.0", "third": "result.ids.1"},
    ),
    Example(
        request=memory_entries.Get(id="$first"),
        answer=memory_entries.Entry,
        about="Reads a memory and counts the access.",
    ),
    Example(
        request=memory_entries.Peek(ids=("$second", "$third")),
        answer=memory_entries.Entries,
        about="Reads several memories without counting the access.",
    ),
    Example(
        request=memory_entries.Update(
            change=MemoryChange(id="$first", content="Ada prefers black tea")
        ),
        answer=memory_entries.Entry,
        about="Changes fields of a memory.",
    ),
    Example(
        request=memory_entries.UpdateMany(
            changes=(MemoryChange(id="$second", metadata={"floor": 3}),)
        ),
        answer=memory_entries.Batch,
        about="Changes several memories in one transaction.",
    ),
    Example(
        request=memory_entries.SetImportance(id="$first", score=0.9, reason="asked for daily"),
        answer=memory_entries.Score,
        about="Sets the importance of a memory by hand.",
    ),
    Example(
        request=memory_links.AddLink(source="$second", target="$third", relation="located_in"),
        answer=memory_links.Links,
        about="Links two memories.",
    ),
    Example(
        request=memory_links.LinksOf(id="$second"),
        answer=memory_links.Links,
        about="Lists the links of a memory, in both directions.",
    ),
    Example(
        request=memory_links.Unlink(source="$second", target="$third"),
        answer=memory_body.Count,
        about="Removes the links between two memories.",
    ),
    Example(
        request=memory_search.Search(
            query=MemoryQuery(text="tea", mode=SearchMode.HYBRID, limit=3, explain=True)
        ),
        answer=memory_search.Found,
        about="Searches by words, by meaning, or by both.",
    ),
    Example(
        request=memory_search.Similar(id="$second", limit=3),
        answer=memory_search.Found,
        about="Finds memories that resemble one memory.",
    ),
    Example(
        request=memory_search.List(which=MemoryFilter(tags=("office",)), limit=1),
        answer=memory_search.Page,
        about="Lists the memories that match a filter, newest first.",
    ),
    Example(
        request=memory_search.AskStats(),
        answer=memory_search.Stats,
        about="Counts the memories and messages of the caller, or of one session.",
    ),
    Example(
        request=memory_texts.Retrieve(query="tea", limit=1),
        answer=memory_texts.Markdown,
        about="Searches; the result is the Markdown that a model reads.",
    ),
    Example(
        request=memory_history.Observe(
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
        answer=memory_body.Count,
        about="Stores messages of a conversation verbatim. An id that is known changes nothing.",
    ),
    Example(
        request=memory_history.Retract(conversation=THREAD, ids=("m3",)),
        answer=memory_body.Count,
        about="Removes messages that were corrected or taken back.",
    ),
    Example(
        request=memory_history.History(conversation=THREAD, limit=10),
        answer=memory_history.Messages,
        about="Returns the latest messages of a conversation, oldest first.",
    ),
    Example(
        request=memory_history.CloseConversation(conversation=THREAD),
        answer=Empty,
        about="Ends a conversation, so that it is learned from now.",
    ),
    Example(
        request=memory_search.List(which=MemoryFilter(types=(MemoryType.EPISODIC,))),
        answer=memory_search.Page,
        about="",
        keeps={"episode": "page.entries.0.id"},
        until="page.entries.0",
    ),
    Example(
        request=memory_history.EpisodeMessages(id="$episode"),
        answer=memory_history.Messages,
        about="Returns the messages that an episode was made from.",
    ),
    Example(
        request=memory_texts.AskSessionContext(session=THREAD, max_tokens=300, language="en"),
        answer=memory_texts.ContextOfSession,
        about="Renders the context of a session as text, within a token budget.",
    ),
    Example(
        request=memory_history.ClearMessages(conversations=(THREAD,)),
        answer=memory_body.Count,
        about="Deletes the messages of conversations and keeps what was learned from them.",
    ),
    Example(
        request=memory_grants.AddGrant(to="ben@localhost", access=Access.READ, tag="office"),
        answer=memory_grants.Grants,
        about="Lets another account read or write some of the caller's memories.",
        keeps={"grant": "grants.0.id"},
    ),
    Example(
        request=memory_grants.ListGrants(),
        answer=memory_grants.Grants,
        about="Lists the grants that the caller has given.",
    ),
    Example(
        request=memory_grants.Revoke(id="$grant"),
        answer=memory_body.Count,
        about="Takes a grant back.",
    ),
    Example(
        request=memory_consent.SetConsent(subject=ADA, is_given=True),
        answer=memory_consent.Consented,
        about="Records whether a person allows learning across conversations.",
    ),
    Example(
        request=memory_consent.AskConsent(subject=ADA),
        answer=memory_consent.Consented,
        about="Reads a person's consent.",
    ),
    Example(
        request=memory_decay.ConfigureDecay(policy=DecayPolicy(is_enabled=True)),
        answer=memory_decay.Decay,
        about="Sets the caller's retention policy.",
    ),
    Example(
        request=memory_decay.AskDecayStatus(),
        answer=memory_decay.Decay,
        about="Reads the retention policy and the result of its last run.",
    ),
    Example(
        request=memory_decay.RunDecay(dry_run=True),
        answer=memory_body.Ids,
        about="Applies the retention policy, or (dry run) tells what it would delete.",
    ),
    Example(
        request=memory_forgetting.Reviewed(ids=("$first",)),
        answer=Empty,
        about="Records that memories were used, which strengthens them.",
    ),
    Example(
        request=memory_entries.Replace(
            ids=("$second", "$third"),
            draft=MemoryDraft(content="The kettle is in the Valencia office"),
            keep=False,
        ),
        answer=memory_entries.Entry,
        about="Replaces several memories by a summary.",
        keeps={"summary": "entry.id"},
    ),
    Example(
        request=memory_entries.Merge(into="$first", others=("$summary",)),
        answer=memory_entries.Entry,
        about="Merges duplicates into one memory.",
    ),
    Example(
        request=memory_forgetting.Delete(which=MemoryFilter(tags=("office",)), limit=10),
        answer=memory_forgetting.Deleted,
        about="Hides the memories that match a filter; the next purge removes them.",
    ),
    Example(
        request=memory_forgetting.Forget(ids=("$first",)),
        answer=memory_body.Count,
        about="Erases memories at once, from the disk too.",
    ),
    Example(
        request=memory_forgetting.ForgetSession(session=THREAD),
        answer=memory_forgetting.WasCleared,
        about="Erases the messages and memories of a session.",
    ),
    Example(
        request=memory_forgetting.ForgetSubject(subject=ADA),
        answer=memory_body.Count,
        about="Erases all memories and messages about a person.",
    ),
    Example(
        request=memory_forgetting.ClearSubject(subject=ADA),
        answer=memory_forgetting.WasCleared,
        about="As `forget_subject`; the answer counts by type.",
    ),
)

RAG_EXAMPLES = (
    Example(
        request=rag_ingest.Ingest(
            document=Document(
                text="# Tower\nThe tower has 199 steps.", source="guide.md", namespace="city"
            )
        ),
        answer=rag_ingest.IngestReport,
        about="Stores a document that fits into one message.",
    ),
    Example(
        request=rag_ingest.IngestPath(path="$folder", namespace="city"),
        answer=rag_ingest.IngestReport,
        parts=(rag_long.ProgressPart,),
        about="Stores a file or folder below a document root of the RAG agent's machine. Progress "
        "is reported in parts (`ProgressPart`).",
    ),
    Example(
        request=rag_ingest.IngestUrl(url="$upload", source="opening.md", namespace="city"),
        answer=rag_ingest.IngestReport,
        parts=(rag_long.ProgressPart,),
        about="Stores a file that was uploaded to the RAG agent's XMPP server (XEP-0363).",
    ),
    Example(
        request=rag_catalogue.AskNamespaces(),
        answer=rag_catalogue.Namespaces,
        about="Lists the namespaces that the caller may see.",
    ),
    Example(
        request=rag_catalogue.AskDocuments(namespace="city", limit=2),
        answer=rag_catalogue.Page,
        about="Lists documents.",
    ),
    Example(
        request=rag_catalogue.AskStats(namespace="city"),
        answer=rag_catalogue.Stats,
        about="Counts the documents, chunks and vectors of a namespace.",
    ),
    Example(
        request=rag_retrieval.Retrieve(
            query="How many steps?", k=1, options=RetrievalOptions(namespaces=("city",))
        ),
        answer=rag_retrieval.Retrieved,
        about="Finds passages.",
    ),
    Example(
        request=rag_answer.AskAnswer(question="How many steps has the tower?", k=1),
        answer=rag_answer.Answered,
        about="Answers a question from the documents, with citations.",
    ),
    Example(
        request=rag_sharing.Grant(namespace="city", to="ben@localhost"),
        answer=Empty,
        about="Lets another account or domain use a namespace.",
    ),
    Example(
        request=rag_sharing.AskGrants(),
        answer=rag_sharing.Grants,
        about="Lists the grants that the caller has given.",
    ),
    Example(
        request=rag_sharing.Revoke(namespace="city", to="ben@localhost"),
        answer=rag_body.Count,
        about="Takes a grant back.",
    ),
    Example(
        request=rag_ingest.Reindex(namespace="city"),
        answer=rag_body.Count,
        parts=(rag_long.ProgressPart,),
        about="Computes the vectors again, with the current embedding model.",
    ),
    Example(
        request=rag_catalogue.Delete(namespace="city", source="guide.md"),
        answer=rag_body.Count,
        about="Deletes a document, or a namespace with all its documents.",
    ),
)

TOOL_EXAMPLES = (
    Example(
        request=tools.ListTools(),
        answer=tools.Tools,
        about="Lists the tools that the caller may call.",
    ),
    Example(
        request=tools.CallTool(name="calculator", arguments={"expression": "6 * 7"}),
        answer=tools.Called,
        about="Calls a tool.",
    ),
)

AGENT_EXAMPLES = (
    Example(
        request=status.AskStatus(),
        answer=status.AgentStatus,
        about="Returns what the agent is, what it serves and how busy it is.",
    ),
    Example(
        request=status.AskRecent(limit=1),
        answer=status.RecentRequests,
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
