"""What the model reads when the memory itself fails: one form of error, and nothing internal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from spade_llm.core.errors import (
    Busy,
    InvalidArguments,
    NotFound,
    PeerUnavailable,
    RequestError,
    RequestFailed,
    RequestRefused,
    RequestTimeout,
    ServiceError,
    StorageFailed,
    Unauthorised,
)
from spade_llm.memory.tools.arguments import ToolArguments
from spade_llm.memory.tools.entry_tool import EntryTool, error_object
from tests.memory.places import file_only
from tests.memory.tools.calling import assert_error, calling, stored
from tests.memory.tools.fixtures import OWNER, tools_of

if TYPE_CHECKING:
    from pathlib import Path

    from spade_llm.memory.database.backend import DatabaseMemoryBackend
    from spade_llm.memory.tools.entry_tool import ToolAnswer

PEER = "memory@10.0.0.7/secret"


def refused(code: str, detail: str = f"no route to {PEER}") -> RequestRefused:
    return RequestRefused(detail, peer=PEER, wire_code=code)


@pytest.mark.parametrize(
    ("error", "error_type"),
    [
        (InvalidArguments("tags must have at most 32"), "ValidationError"),
        (refused("invalid-arguments", "tags must have at most 32"), "ValidationError"),
        (NotFound("there is no memory 1"), "NotFoundError"),
        (refused("not-found", "there is no memory 1"), "NotFoundError"),
        (Busy(f"the queue of {PEER} is full"), "BusyError"),
        (refused("busy"), "BusyError"),
        (StorageFailed(f"disk I/O error in {PEER}"), "StorageError"),
        (RequestFailed(f"at {PEER}", peer=PEER, wire_code="storage-failed"), "StorageError"),
        (Unauthorised(f"not for {PEER}"), "PermissionError"),
        (RequestTimeout(f"{PEER} did not answer", peer=PEER), "UnavailableError"),
        (PeerUnavailable(f"{PEER} is away", peer=PEER), "UnavailableError"),
        (RequestFailed(f"Traceback {PEER}", peer=PEER, wire_code="internal"), "UnavailableError"),
        (refused("something-new"), "UnavailableError"),
    ],
)
async def test_every_failure_has_a_type_and_tells_nothing_internal(
    error: ServiceError | RequestError, error_type: str
) -> None:
    async def run(arguments: ToolArguments) -> ToolAnswer:
        raise error

    tools = calling([EntryTool(name="x", description="", arguments=ToolArguments, run=run)])

    answer = await tools("x")

    assert_error(answer, error_type)
    assert PEER not in answer["message"]
    assert answer == error_object(error)


@file_only
async def test_a_file_that_went_away_is_a_storage_error(
    backend: DatabaseMemoryBackend, tmp_path: Path
) -> None:
    tools = tools_of(backend.for_owner(OWNER), OWNER)
    await stored(tools, "x")
    await backend.close()

    for name, fields in (("memory_store", {"content": "y"}), ("memory_list", {})):
        answer = await tools(name, **fields)
        assert_error(answer, "StorageError")
        assert str(tmp_path) not in answer["message"]
