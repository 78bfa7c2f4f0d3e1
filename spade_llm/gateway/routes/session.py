"""specs/4 §7. Both delete: the one a principal's messages, the other everything of everybody."""

from __future__ import annotations

from fastapi import APIRouter

from spade_llm.gateway.asking import Asked, AskedByAdmin  # FastAPI reads them
from spade_llm.gateway.bodies.session import Deleted, EverythingReset, ResetAll, SessionReset
from spade_llm.gateway.configuration import NOTHING_SAID
from spade_llm.gateway.errors import HttpError
from spade_llm.gateway.failures import FAILURES
from spade_llm.gateway.resetting import Wiped, clear_messages, wipe
from spade_llm.text.counted import counted

router = APIRouter(prefix="/session", tags=["session"], responses=FAILURES)

CONFIRMATION = "DELETE"


@router.post("/reset")
async def reset(asked: Asked) -> SessionReset:
    """Delete the messages of all your sessions, and begin a new one with the defaults. What is
    remembered, documents and how other sessions are set stay. Takes any body, or none."""
    count = await clear_messages(asked.gateway, asked.principal.jid, asked.clients)
    session = asked.new_session()
    await asked.gateway.state.configure(asked.principal.jid, NOTHING_SAID, session)
    return SessionReset(
        new_session_id=session,
        message=f"Session reset successfully. Chat history cleared ({counted(count, 'message')}).",
    )


@router.post("/reset-all")
async def reset_all(body: ResetAll, asked: AskedByAdmin) -> EverythingReset:
    """Delete everything of everybody: messages, memories, documents, how sessions are set."""
    if body.confirmation != CONFIRMATION:
        raise HttpError(400, "Invalid confirmation. Must be exactly 'DELETE' to proceed.")
    asked.check_network()
    wiped = await wipe(asked.gateway)
    return EverythingReset(
        success=not wiped.failed,
        message=_message(wiped),
        deleted=Deleted(
            sessions=wiped.sessions,
            messages=wiped.messages,
            memory_entries=wiped.memory_entries,
            rag_documents=wiped.rag_documents,
            vector_count=wiped.vectors,
        ),
    )


def _message(wiped: Wiped) -> str:
    if not wiped.failed:
        return "System reset completed successfully"
    names = ", ".join(sorted(jid.partition("@")[0] for jid in wiped.failed))
    return f"System reset is not complete: {names} could not delete everything; ask again"
