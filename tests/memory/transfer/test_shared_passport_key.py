"""One key signs the passports of all replicas, on whichever machine they run."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from spade_llm.core.database import DatabaseUrl
from spade_llm.core.postgres import PostgresServer
from spade_llm.memory.transfer.passport import KEY_FILE, PassportKey
from spade_llm.memory.transfer.passport_store import shared_passport_key

if TYPE_CHECKING:
    from pathlib import Path

    from tests.postgres_server import PostgresProcess


async def test_replicas_sign_with_the_key_that_the_agent_had_as_a_single_process(
    postgres: PostgresProcess, tmp_path: Path
) -> None:
    here, elsewhere, third = (tmp_path / name for name in ("here", "elsewhere", "third"))
    for folder in (here, elsewhere, third):
        folder.mkdir()
    old = PassportKey.load_or_create(here)
    address = DatabaseUrl(postgres.url())
    async with PostgresServer(address, agent="passports@example.org") as server:
        first = await shared_passport_key(server, here)
        others = await asyncio.gather(
            shared_passport_key(server, elsewhere), shared_passport_key(server, third)
        )

    assert first.public == old.public
    assert {one.public for one in others} == {old.public}
    # For the command line.
    assert PassportKey.load_or_create(elsewhere).public == old.public
    assert (elsewhere / KEY_FILE).stat().st_mode & 0o777 == 0o600
