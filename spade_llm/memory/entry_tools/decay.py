"""memory_decay_configure, memory_decay_run and memory_decay_status: letting go of what is not used.

They act on all that an owner has, so they are not for conversations about one person.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, Field, StrictBool, StrictFloat

from spade_llm.errors import InvalidArguments
from spade_llm.memory.entry_tools.answers import optional_date, score
from spade_llm.memory.entry_tools.arguments import Fraction, ToolArguments, each_once
from spade_llm.memory.entry_tools.tool import EntryTool
from spade_llm.memory.store import Tier

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spade_llm.memory.entry_tools.tool import Answer
    from spade_llm.memory.store import DecayPolicy, DecayStatus, DecayStore

DAY_S = 86_400.0
MAX_LISTED = 1000
"""Ids in one answer; the count is of all."""


class Configure(ToolArguments):
    enabled: StrictBool | None = Field(
        default=None, description="Whether memories decay by themselves"
    )
    older_than_days: Annotated[StrictFloat, Field(ge=0, le=36_500)] | None = Field(
        default=None, description="Neither made nor used for more than so many days …"
    )
    below_importance: Fraction | None = Field(
        default=None, description="… and less important than this …"
    )
    memory_tiers: Annotated[tuple[Tier, ...], AfterValidator(each_once)] | None = Field(
        default=None, description="… and in one of these tiers: is deleted"
    )

    def changed(self, policy: DecayPolicy) -> DecayPolicy:
        days, importance = self.older_than_days, self.below_importance
        return replace(
            policy,
            is_enabled=policy.is_enabled if self.enabled is None else self.enabled,
            older_than_s=policy.older_than_s if days is None else days * DAY_S,
            below_importance=policy.below_importance if importance is None else importance,
            tiers=policy.tiers if self.memory_tiers is None else self.memory_tiers,
        )


class Run(ToolArguments):
    dry_run: StrictBool = Field(default=True, description="true only says what would be deleted")


class DecayTools:
    def __init__(self, decay: DecayStore) -> None:
        self._decay = decay

    def __iter__(self) -> Iterator[EntryTool]:
        yield EntryTool(
            name="memory_decay_configure",
            description="Say which unused memories are deleted by themselves. What is not given"
            " stays as it is.",
            arguments=Configure,
            run=self.configure,
        )
        yield EntryTool(
            name="memory_decay_run",
            description="Delete unused memories now, as configured; by default only list them.",
            arguments=Run,
            run=self.run,
        )
        yield EntryTool(
            name="memory_decay_status",
            description="Show how memories decay, what the last run did and how many are due.",
            arguments=ToolArguments,
            run=self.status,
        )

    async def configure(self, arguments: Configure) -> Answer:
        if not arguments.model_fields_set:
            names = ", ".join(Configure.model_fields)
            raise InvalidArguments(f"give something to configure: {names}")
        policy = arguments.changed((await self._decay.decay_status()).policy)
        return _shown(await self._decay.configure_decay(policy))

    async def run(self, arguments: Run) -> Answer:
        dry_run = arguments.dry_run
        ids = await self._decay.run_decay(dry_run=dry_run)
        listed = list(ids[:MAX_LISTED])
        return {"dry_run": dry_run, "deleted_count": len(ids), "deleted_ids": listed}

    async def status(self, _arguments: ToolArguments) -> Answer:
        return _shown(await self._decay.decay_status())


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
