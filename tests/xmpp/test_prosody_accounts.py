"""Accounts that are made in bulk are those that Prosody makes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from spade_llm.core.errors import ConfigurationError
from spade_llm.xmpp.servers.prosody import ProsodyServer
from tests.xmpp.client import Client

if TYPE_CHECKING:
    from tests.conftest import Provisioner

pytestmark = pytest.mark.server


async def outcome_of(prosody: Provisioner, jid: str, password: str) -> str:
    client = Client(jid, password)
    outcome = await client.attempt(prosody.endpoint)
    await client.close()
    return outcome


def bulk_maker(prosody: Provisioner) -> ProsodyServer:
    assert isinstance(prosody.server, ProsodyServer)
    return prosody.server


async def test_many_accounts_are_made_while_the_server_runs(prosody: Provisioner) -> None:
    passwords = {f"bulk{n}@localhost": f"secret {n}" for n in range(20)}
    passwords["bulk.ñ-_x@localhost"] = "another"

    await bulk_maker(prosody).create_accounts(passwords)

    for jid in ("bulk0@localhost", "bulk19@localhost", "bulk.ñ-_x@localhost"):
        assert await outcome_of(prosody, jid, passwords[jid]) == "session"
    assert await outcome_of(prosody, "bulk1@localhost", "secret 2") == "failed_auth"


async def test_an_account_that_exists_gets_the_password_of_the_bulk(prosody: Provisioner) -> None:
    jid, _ = await prosody.account("alice")

    await bulk_maker(prosody).create_accounts({jid: "changed"})

    assert await outcome_of(prosody, jid, "changed") == "session"


@pytest.mark.parametrize(
    ("jid", "password"),
    [("x@elsewhere.example", "x"), ("a b@localhost", "x"), ("c@localhost", "ñ")],
)
async def test_no_account_is_created_where_it_is_impossible(
    prosody: Provisioner, jid: str, password: str
) -> None:
    with pytest.raises(ConfigurationError):
        await bulk_maker(prosody).create_accounts({"before@localhost": "x", jid: password})

    assert await outcome_of(prosody, "before@localhost", "x") == "failed_auth"
