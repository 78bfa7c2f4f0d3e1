"""What `doctor --host` learns by logging in: accounts, limits of size and rate, the server's clock.

Sends no presence and no message: whoever is at home at these accounts notices nothing.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from spade_llm.cli.checks import Check, State
from spade_llm.deployment.accounts import Accounts
from spade_llm.deployment.hosted import PEOPLE
from spade_llm.errors import AuthenticationRejected, ConfigurationError
from spade_llm.xmpp.visit import visiting

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from spade_llm.cli.place import Place
    from spade_llm.xmpp.visit import Visit

AT_ONCE = 4
NEEDED_BYTES = 200_000
"""A request may have 128 KB, and grows when it is written as XML."""
SLOW_S = 2.0
"""For that much on a machine of one's own; at Debian's 10 kB/s it takes 20 s."""
PATIENCE_S = 30.0
MAX_SKEW_S = 10.0
"""Behind it the ages of memories, `delay` stamps and tokens begin to be wrong."""


async def check_accounts(place: Place) -> list[Check]:
    """Each account whose password is kept below the data directory."""
    kept = dict(_kept(place.data))
    if not kept:
        mend = "name the deployment's folder, or an agent's, with --data"
        return [Check("accounts", State.FAILED, f"no password below {str(place.data)!r}", mend)]
    gate = asyncio.Semaphore(AT_ONCE)
    found = await asyncio.gather(*(_checked(jid, kept[jid], place, gate) for jid in sorted(kept)))
    return [check for checks in found for check in checks]


def _kept(data: Path) -> Iterator[tuple[str, Path]]:
    """JID → the data directory that has its password: this one, or those of a deployment in it."""
    for folder in (data, *sorted(path for path in data.glob("*") if path.is_dir())):
        for file in sorted((folder / "accounts").glob("*@*")):
            yield file.name, folder


async def _checked(jid: str, data: Path, place: Place, gate: asyncio.Semaphore) -> list[Check]:
    password = Accounts(data).get(jid)
    is_person = data.name == PEOPLE
    async with gate:
        try:
            async with visiting(jid, password, place.connection()) as visit:
                return await _visited(jid, visit, is_person=is_person)
        except AuthenticationRejected:
            return [_refused(jid, Accounts(data).path(jid), is_person=is_person)]
        except ConfigurationError as error:
            return [Check(jid, State.FAILED, str(error))]


def _refused(jid: str, file: Path, *, is_person: bool) -> Check:
    """A person may have changed the first password in a client; an agent's must be the kept one."""
    mend = f"docker/accounts.sh ROOT, or the right password into {file}"
    if is_person:
        told = "the first password is not valid: changed by its owner, or the account is missing"
        return Check(jid, State.MISSING, told, f"if the account is missing: {mend}")
    return Check(jid, State.FAILED, "the server refuses its password", mend)


async def _visited(jid: str, visit: Visit, *, is_person: bool) -> list[Check]:
    clock = check_clock(await visit.server_time(), datetime.now(UTC))
    if is_person:
        return [Check(jid, State.OK, "logs in"), clock]
    return [await _limits(jid, visit), clock]


async def _limits(jid: str, visit: Visit) -> Check:
    took_s = await visit.carries(NEEDED_BYTES, within_s=PATIENCE_S)
    size = f"{NEEDED_BYTES // 1000} kB"
    if took_s is None:
        mend = "c2s_stanza_size_limit = 524288, and the account into unlimited_jids (Prosody)"
        return Check(jid, State.FAILED, f"logs in, but a stanza of {size} is not answered", mend)
    if took_s > SLOW_S:
        mend = "put the account into unlimited_jids (Prosody), or raise limits.c2s.rate"
        return Check(jid, State.FAILED, f"logs in, but {size} take {took_s:.1f} s", mend)
    return Check(jid, State.OK, f"logs in; {size} take {took_s * 1000:.0f} ms")


def check_clock(server: datetime | None, ours: datetime) -> Check:
    if server is None:
        return Check("clock", State.MISSING, "the server does not tell its time", "module time")
    skew_s = (server - ours).total_seconds()
    if abs(skew_s) > MAX_SKEW_S:
        told = f"the server's is {abs(skew_s):.0f} s {'ahead' if skew_s > 0 else 'behind'}"
        mend = "set both by NTP (Debian: timedatectl set-ntp true)"
        return Check("clock", State.FAILED, told, mend)
    return Check("clock", State.OK, f"{abs(skew_s):.1f} s from the server's")
