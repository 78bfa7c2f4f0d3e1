"""What is particular to the embedded server: its streams, its bounds."""

from __future__ import annotations

import sqlite3
from contextlib import aclosing, closing
from typing import TYPE_CHECKING

import pytest

from spade_llm.xmpp.servers.embedded import account_store
from spade_llm.xmpp.servers.embedded.account_store import (
    OFFLINE_LIMIT,
    EmbeddedStore,
    RosterContact,
    set_password,
)
from tests.xmpp.raw_stream import HEADER, RawStream

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from tests.conftest import Provisioner
    from tests.xmpp.client import Client

    Login = Callable[..., Awaitable[Client]]

REGISTER = (
    "<iq type='set' id='r1'><query xmlns='jabber:iq:register'>"
    "<username>intruder</username><password>x</password></query></iq>"
)


async def test_an_unknown_element_is_ignored_and_the_stream_goes_on(
    embedded: Provisioner, login: Login
) -> None:
    client = await login(embedded, "alice")

    client.send_raw("<enable xmlns='urn:xmpp:sm:3'/><nonsense xmlns='urn:example'/>")

    await client.ping()


async def test_a_stream_may_begin_with_an_xml_declaration_each_time(embedded: Provisioner) -> None:
    jid, password = await embedded.account("alice")
    async with aclosing(await RawStream.open(embedded.endpoint)) as stream:
        await stream.start_tls(embedded.endpoint)
        stream.write("<?xml version='1.0'?>" + HEADER)
        await stream.read_until("features>")
        await stream.log_in(jid, password)

        stream.write("<?xml version='1.0'?>" + HEADER)

        assert "xmpp-bind" in await stream.read_until("features>")


async def test_data_sent_before_tls_is_discarded(embedded: Provisioner) -> None:
    async with aclosing(await RawStream.open(embedded.endpoint)) as stream:
        await stream.start_tls(embedded.endpoint, smuggled=HEADER + REGISTER)

        stream.write(HEADER)

        answer = await stream.read_until("features>")
        assert "r1" not in answer
        assert answer.count("features>") == 1


async def test_registration_before_login_is_refused(embedded: Provisioner) -> None:
    async with aclosing(await RawStream.open(embedded.endpoint)) as stream:
        await stream.start_tls(embedded.endpoint)
        stream.write(HEADER)
        features = await stream.read_until("features>")

        stream.write(REGISTER)

        assert "register" not in features
        assert "not-allowed" in await stream.read_until("</iq>")


async def test_a_document_type_ends_the_stream(embedded: Provisioner) -> None:
    async with aclosing(await RawStream.open(embedded.endpoint)) as stream:
        await stream.start_tls(embedded.endpoint)

        stream.write("<!DOCTYPE x [<!ENTITY a 'aaaa'>]>" + HEADER)

        assert "restricted-xml" in await stream.read_to_end()


async def test_a_nested_element_called_stream_is_just_an_element(
    embedded: Provisioner, login: Login
) -> None:
    alice, bob = await login(embedded, "alice"), await login(embedded, "bob")

    alice.send_raw(
        f"<message to='{bob.jid}'><body>hi</body><stream xmlns='urn:example'/></message>"
    )

    assert (await bob.received()).xml.find("{urn:example}stream") is not None


async def test_rosters_keep_names_and_groups(embedded: Provisioner, login: Login) -> None:
    alice = await login(embedded, "alice")
    await alice.xmpp.get_roster(timeout=5)

    await alice.xmpp.update_roster("bob@localhost", name="Bob", groups=["a", "b c"], timeout=5)

    await alice.xmpp.get_roster(timeout=5)
    item = alice.xmpp.client_roster["bob@localhost"]
    assert (item["name"], set(item["groups"])) == ("Bob", {"a", "b c"})
    await alice.xmpp.del_roster_item("bob@localhost")


@pytest.mark.thorough
def test_the_store_of_one_account_is_bounded(tmp_path: Path) -> None:
    with closing(EmbeddedStore(tmp_path)) as store:
        kept = [store.keep_message("bob", f"<message id='{n}'/>") for n in range(OFFLINE_LIMIT + 1)]

        assert kept == [True] * OFFLINE_LIMIT + [False]
        assert len(list(store.take_messages("bob"))) == OFFLINE_LIMIT
        assert list(store.take_messages("bob")) == []


def test_a_roster_entry_survives_the_store_unchanged(tmp_path: Path) -> None:
    contact = RosterContact(user="bob", name="Bob", groups=("a", "b c"), is_to=True, is_asked=True)

    with closing(EmbeddedStore(tmp_path)) as store:
        store.set_contact("alice", contact)

        assert store.contact("alice", "bob") == contact


def test_a_password_is_stored_as_a_salted_hash(tmp_path: Path) -> None:
    set_password(tmp_path, "alice", "secret")
    set_password(tmp_path, "bob", "secret")

    with closing(sqlite3.connect(tmp_path / account_store.DATABASE_NAME)) as database:
        hashes = [row[0] for row in database.execute("SELECT hash_pwd FROM credentials")]
    assert len(set(hashes)) == 2
    assert all(stored.startswith("sha256$100000$") for stored in hashes)
