"""`doctor --host`: a deployment for people, from its disk to its names. Changes nothing."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from spade_llm.cli.checks import Check, State
from spade_llm.cli.checks_of_accounts import check_accounts
from spade_llm.cli.checks_of_gateway import check_doors
from spade_llm.cli.checks_of_server import check_names, check_server, check_web
from spade_llm.xmpp.srv_records import Names

if TYPE_CHECKING:
    from pathlib import Path

    from spade_llm.cli.place import Place

SCARCE_BYTES = 1_000_000_000
WANTED_BYTES = 5_000_000_000
"""The quota of uploads alone."""


async def check_host(place: Place, web_url: str | None) -> list[Check]:
    checks = [_disk(place.data), *await check_server(place)]
    async with Names() as names:
        checks += await check_names(place, names)
    checks += await check_web(place, web_url)
    checks += check_doors(place.data)
    if not _keeps_out(checks):
        checks += _once(await check_accounts(place))
    return checks


def _keeps_out(checks: list[Check]) -> bool:
    """Whether no account could log in for a reason that is said already."""
    failed = {check.what for check in checks if check.state is State.FAILED}
    return bool(failed & {"server", "certificate"})


def _disk(data: Path) -> Check:
    place = next(folder for folder in (data, *data.parents) if folder.exists())
    free = shutil.disk_usage(place).free
    told = f"{free / 1e9:.1f} GB free at {place}"
    mend = "make room, or move --data: a full disk stops memory, documents and the server"
    if free < SCARCE_BYTES:
        return Check("disk", State.FAILED, told, mend)
    if free < WANTED_BYTES:
        return Check("disk", State.MISSING, told, mend)
    return Check("disk", State.OK, told)


def _once(checks: list[Check]) -> list[Check]:
    """The clock is looked at by each account; it is said once, the worst of them."""
    clocks = [check for check in checks if check.what == "clock"]
    others = [check for check in checks if check.what != "clock"]
    worst = next(
        (one for one in clocks if one.state is not State.OK), clocks[0] if clocks else None
    )
    return [*others, *([worst] if worst else [])]
