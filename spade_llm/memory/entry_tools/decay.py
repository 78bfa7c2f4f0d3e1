"""memory_decay_configure, memory_decay_run and memory_decay_status: letting go of what is not used.

They act on all that an owner has, so they are not for conversations about one person.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from spade_llm.errors import InvalidArguments
from spade_llm.memory.entry_tools.answers import optional_date, score
from spade_llm.memory.entry_tools.fields import TIER
from spade_llm.memory.entry_tools.kinds import FLAG, FRACTION, number, several
from spade_llm.memory.entry_tools.parameters import defaulted, optional
from spade_llm.memory.entry_tools.tool import EntryTool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from spade_llm.memory.entry_tools.parameters import Arguments
    from spade_llm.memory.entry_tools.tool import Answer
    from spade_llm.memory.store import DecayPolicy, DecayStatus, DecayStore

DAY_S = 86_400.0
MAX_LISTED = 1000
"""Ids in one answer; the count is of all."""

ENABLED = optional("enabled", FLAG, "Whether memories decay by themselves")
DAYS = optional(
    "older_than_days", number(0, 36_500), "Neither made nor used for more than so many days …"
)
IMPORTANCE = optional("below_importance", FRACTION, "… and less important than this …")
TIERS = optional("memory_tiers", several(TIER), "… and in one of these tiers: is deleted")
POLICY = (ENABLED, DAYS, IMPORTANCE, TIERS)
DRY_RUN = defaulted("dry_run", FLAG, "true only says what would be deleted", True)


class DecayTools:
    def __init__(self, decay: DecayStore) -> None:
        self._decay = decay

    def __iter__(self) -> Iterator[EntryTool]:
        yield EntryTool(
            name="memory_decay_configure",
            description="Say which unused memories are deleted by themselves. What is not given"
            " stays as it is.",
            parameters=POLICY,
            run=self.configure,
        )
        yield EntryTool(
            name="memory_decay_run",
            description="Delete unused memories now, as configured; by default only list them.",
            parameters=(DRY_RUN,),
            run=self.run,
        )
        yield EntryTool(
            name="memory_decay_status",
            description="Show how memories decay, what the last run did and how many are due.",
            parameters=(),
            run=self.status,
        )

    async def configure(self, arguments: Arguments) -> Answer:
        if not any(map(arguments.has, POLICY)):
            names = ", ".join(one.name for one in POLICY)
            raise InvalidArguments(f"give something to configure: {names}")
        change = _change(arguments)
        policy = change((await self._decay.decay_status()).policy)
        return _shown(await self._decay.configure_decay(policy))

    async def run(self, arguments: Arguments) -> Answer:
        dry_run = arguments[DRY_RUN]
        ids = await self._decay.run_decay(dry_run=dry_run)
        listed = list(ids[:MAX_LISTED])
        return {"dry_run": dry_run, "deleted_count": len(ids), "deleted_ids": listed}

    async def status(self, arguments: Arguments) -> Answer:
        return _shown(await self._decay.decay_status())


def _change(arguments: Arguments) -> Callable[[DecayPolicy], DecayPolicy]:
    """Reads all arguments before the memory is asked. Raises InvalidArguments."""
    enabled, days = arguments[ENABLED], arguments[DAYS]
    importance, tiers = arguments[IMPORTANCE], arguments[TIERS]

    def changed(policy: DecayPolicy) -> DecayPolicy:
        return replace(
            policy,
            is_enabled=policy.is_enabled if enabled is None else enabled,
            older_than_s=policy.older_than_s if days is None else days * DAY_S,
            below_importance=policy.below_importance if importance is None else importance,
            tiers=policy.tiers if tiers is None else tiers,
        )

    return changed


def _shown(status: DecayStatus) -> dict[str, object]:
    policy = status.policy
    return {
        "enabled": policy.is_enabled,
        "older_than_days": round(policy.older_than_s / DAY_S, 6),
        "below_importance": score(policy.below_importance),
        "memory_tiers": [tier.value for tier in policy.tiers],
        "last_run_at": optional_date(status.last_run_at),
        "last_deleted": status.last_deleted,
        "due": status.due,
    }
