"""Routes of sessions, with their schemas: list, reset, answer explanation, tool approval."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Path
from pydantic import Field

from spade_llm.assistant.commands.reports import explanation_text
from spade_llm.assistant.history.remote_sessions import MAX_SESSIONS, CallerSessions
from spade_llm.core.errors import RequestError
from spade_llm.core.text import pluralize
from spade_llm.gateway.agent_clients import AgentClients, jids_by_model
from spade_llm.gateway.dependencies import CurrentAdminRequest, CurrentRequest
from spade_llm.gateway.errors import ERROR_RESPONSES, HttpError
from spade_llm.gateway.routes.memory import SessionCleared
from spade_llm.gateway.schemas.common import HttpAnswer, HttpBody, SessionId, Timestamp
from spade_llm.gateway.schemas.configuration import EMPTY_LAYER

if TYPE_CHECKING:
    from spade_llm.gateway.gateway import Gateway
    from spade_llm.rag.remote import RagClient


logger = logging.getLogger(__name__)

router = APIRouter(prefix="/session", tags=["session"], responses=ERROR_RESPONSES)
console_router = APIRouter(prefix="/api/v0", tags=["console"], responses=ERROR_RESPONSES)

CONFIRMATION = "DELETE"

SessionOfPath = Annotated[SessionId, Path()]


class SessionReset(HttpBody):
    success: bool = True
    new_session_id: str
    message: str


class ResetAll(HttpBody):
    confirmation: str


class DeletedCounts(HttpAnswer):
    sessions: int
    messages: int
    memory_entries: int
    rag_documents: int
    vector_count: int = Field(validation_alias="vectors")


class EverythingReset(HttpBody):
    success: bool
    """False: the message names what could not be deleted."""
    message: str
    deleted: DeletedCounts


class CurrentPrincipal(HttpBody):
    principal: str = Field(description="Bare JID that owns sessions, memories and documents.")
    is_admin: bool
    token: str = Field(description="Name of the token; empty for a local request.")
    models: list[str] = Field(description="Models of /v1; the first one answers /llm/chat.")
    language: str = Field(description="Language of the headings in `context_text`.")
    has_documents: bool
    has_tools: bool


class SessionLine(HttpAnswer):
    session_id: str
    title: str = Field(description="Beginning of the first question.")
    created: Timestamp
    updated: Timestamp


class SessionList(HttpBody):
    sessions: list[SessionLine] = Field(description="Latest first.")
    total_count: int


class AnswerExplanation(HttpBody):
    session_id: str
    text: str = Field(description="What the last answer was built from, one line per source.")


class Approval(HttpBody):
    id: Annotated[str, Field(min_length=1, max_length=64)] = Field(
        description="`question` of the event `asked`."
    )
    is_approved: bool


class ActionDone(HttpBody):
    success: bool = True


@dataclass(slots=True, kw_only=True)
class ResetReport:
    """Counts of what a reset deleted, and the agents that failed to delete everything."""

    sessions: int = 0
    messages: int = 0
    memory_entries: int = 0
    rag_documents: int = 0
    vectors: int = 0
    failed: set[str] = field(default_factory=set)
    """Bare JIDs of agents."""


async def clear_messages(gateway: Gateway, principal: str, clients: AgentClients) -> int:
    """Delete the messages of all sessions of one principal, at every assistant, and return their
    number. Memories and session configurations stay. Raises RequestError, StorageFailed."""
    names = [row.session_id for row in await gateway.sessions.sessions(principal)]
    batches = [names[i : i + MAX_SESSIONS] for i in range(0, len(names), MAX_SESSIONS)]

    async def clear(sessions: CallerSessions) -> int:
        return sum([await sessions.clear_messages(batch) for batch in batches])

    count = sum(await asyncio.gather(*map(clear, clients.sessions_of.values())))
    # The list goes last: when an agent fails, the next attempt still knows the sessions.
    for name in names:
        await gateway.sessions.delete_session(principal, name)
    await gateway.answers.delete(principal)
    return count


async def reset_everything(gateway: Gateway) -> ResetReport:
    """Delete all data of every principal that has used this gateway. Agents that fail are named,
    and the others go on; the list of principals is then kept for the next attempt. Raises
    StorageFailed: the gateway's own data cannot be deleted."""
    report = ResetReport()
    # Known before the work: an unavailable agent would cost a deadline for each principal.
    statuses, addresses = await gateway.availability.statuses(), gateway.addresses
    stores = [*addresses.assistants, *([addresses.rag] if addresses.rag else [])]
    report.failed.update(jid for jid in stores if statuses.get(jid) is None)
    for principal in await gateway.sessions.principals():
        clients = gateway.network.clients_for(principal)
        for jid, sessions in clients.sessions_of.items():
            await _unless_failed(jid, _delete_sessions(sessions, report), report)
        if (rag := clients.rag) is not None:
            await _unless_failed(rag.jid, _delete_documents(rag, report), report)
    report.sessions = await gateway.sessions.delete_all(with_principals=not report.failed)
    await gateway.answers.delete_all()
    return report


@router.post("/reset")
async def reset(api_request: CurrentRequest) -> SessionReset:
    """Delete the messages of all own sessions, and begin a new session with the defaults. Memories,
    documents and session configurations stay. Any body is accepted, or none."""
    count = await clear_messages(
        api_request.gateway, api_request.principal.jid, api_request.clients
    )
    session = api_request.new_session()
    # Empty, and not the defaults: they would hide the principal's global configuration.
    await api_request.gateway.sessions.configure(api_request.principal.jid, EMPTY_LAYER, session)
    return SessionReset(
        new_session_id=session,
        message="Session reset successfully. Chat history cleared"
        f" ({pluralize(count, 'message')}).",
    )


@router.post("/reset-all")
async def reset_all(body: ResetAll, api_request: CurrentAdminRequest) -> EverythingReset:
    """Delete all data of all principals: messages, memories, documents, session configurations."""
    if body.confirmation != CONFIRMATION:
        raise HttpError(400, "Invalid confirmation. Must be exactly 'DELETE' to proceed.")
    api_request.check_network()
    report = await reset_everything(api_request.gateway)
    message = "System reset completed successfully"
    if report.failed:
        names = ", ".join(sorted(jid.partition("@")[0] for jid in report.failed))
        message = f"System reset is incomplete: {names} could not delete everything; try again"
    deleted = DeletedCounts.of(report)
    return EverythingReset(success=not report.failed, message=message, deleted=deleted)


@console_router.get("/me")
async def me(api_request: CurrentRequest) -> CurrentPrincipal:
    """Principal of the request, and what it can use."""
    principal, addresses = api_request.principal, api_request.gateway.addresses
    return CurrentPrincipal(
        principal=principal.jid,
        is_admin=principal.is_admin,
        token=principal.token,
        models=list(jids_by_model(addresses)),
        language=api_request.gateway.options.language,
        has_documents=addresses.rag is not None,
        has_tools=bool(addresses.tools),
    )


@console_router.get("/sessions")
async def list_sessions(api_request: CurrentRequest) -> SessionList:
    """List the caller's sessions that were begun over HTTP."""
    found = await api_request.gateway.sessions.sessions(api_request.principal.jid)
    return SessionList(sessions=[SessionLine.of(one) for one in found], total_count=len(found))


@console_router.delete("/sessions/{session_id}")
async def drop_session(api_request: CurrentRequest, session_id: SessionOfPath) -> SessionCleared:
    """Delete a session: its messages, memories, configuration and list entry."""
    cleared = await api_request.clients.sessions.clear(session_id)
    state, principal = api_request.gateway.sessions, api_request.principal.jid
    await state.delete_configuration(principal, session_id)
    await state.delete_session(principal, session_id)
    return SessionCleared.of(cleared)


@console_router.get("/why/{session_id}")
async def why(api_request: CurrentRequest, session_id: SessionOfPath) -> AnswerExplanation:
    """Explain what the last answer was built from; 404 if the assistant has not answered since it
    started."""
    explanation = await api_request.clients.chat.why(conversation_id=session_id)
    return AnswerExplanation(
        session_id=session_id, text=explanation_text(explanation.record, explanation.texts)
    )


@console_router.post("/approve")
async def approve(api_request: CurrentRequest, body: Approval) -> ActionDone:
    """Answer an event `asked`; 404 if no such question is pending."""
    await api_request.clients.chat.approve(body.id, is_approved=body.is_approved)
    return ActionDone()


async def _unless_failed(
    jid: str, work: Coroutine[object, object, None], report: ResetReport
) -> None:
    """Run `work` unless the agent has failed already: it would cost a deadline for each
    principal."""
    if jid in report.failed:
        # A coroutine that is never awaited is a warning otherwise.
        work.close()
        return
    try:
        await work
    except RequestError as error:
        logger.error("%s could not delete everything: %s", jid, error)
        report.failed.add(jid)


async def _delete_sessions(sessions: CallerSessions, report: ResetReport) -> None:
    cleared = await sessions.forget_everything()
    report.messages += cleared.messages
    report.memory_entries += sum(cleared.by_type.values())


async def _delete_documents(rag: RagClient, report: ResetReport) -> None:
    """Delete the principal's own documents."""
    for namespace in await rag.namespaces():
        # A slash marks a namespace of another owner.
        if "/" in namespace.name:
            continue
        stats = await rag.stats(namespace.name)
        report.rag_documents += await rag.delete(namespace=namespace.name)
        report.vectors += stats.vectors
