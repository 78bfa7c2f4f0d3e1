"""Tools memory_get_score, memory_set_score and memory_decay_*: importance and decay."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, Field, StrictBool, StrictFloat

from spade_llm.core.errors import InvalidArguments
from spade_llm.memory.tools.arguments import Fraction, Text, ToolArguments, unique_values
from spade_llm.memory.tools.entries import MemoryIdArguments
from spade_llm.memory.tools.entry_tool import EntryTool, format_optional_date, format_score
from spade_llm.search.memory_query import Tier

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spade_llm.memory.contract import DecayPolicy, DecayStatus, DecayStore
    from spade_llm.memory.tools.entry_tool import SubjectScope, ToolAnswer

DAY_S = 86_400.0
MAX_LISTED = 1000
"""Ids in one answer; the count is of all."""


class SetScore(MemoryIdArguments):
    score: Fraction = Field(description="New importance, 0.0 (none) to 1.0 (highest)")
    reason: Text = Field(default="Manual override", description="Why it is set so; kept with it")


class ScoreTools:
    def __init__(self, scope: SubjectScope) -> None:
        self._scope = scope

    def __iter__(self) -> Iterator[EntryTool]:
        yield EntryTool(
            name="memory_get_score",
            description="Get how important a memory is: 0.0 to 1.0, from how often and how lately"
            " it was used, unless it was set.",
            arguments=MemoryIdArguments,
            run=self.get_score,
        )
        yield EntryTool(
            name="memory_set_score",
            description="Set how important a memory is. It stays so, however it is used.",
            arguments=SetScore,
            run=self.set_score,
        )

    async def get_score(self, arguments: MemoryIdArguments) -> ToolAnswer:
        (entry,) = await self._scope.all_of([arguments.id])
        return {
            "success": True,
            "memory_id": entry.id,
            "importance_score": format_score(entry.importance),
            "access_count": entry.access_count,
            "last_accessed_at": format_optional_date(entry.last_accessed_at),
        }

    async def set_score(self, arguments: SetScore) -> ToolAnswer:
        id, new = arguments.id, arguments.score
        await self._scope.check(id)
        before = await self._scope.store.set_importance(id, new, reason=arguments.reason)
        return {
            "success": True,
            "memory_id": id,
            "previous_score": format_score(before),
            "new_score": format_score(new),
        }


class ConfigureDecayArguments(ToolArguments):
    enabled: StrictBool | None = Field(
        default=None, description="Whether memories decay by themselves"
    )
    older_than_days: Annotated[StrictFloat, Field(ge=0, le=36_500)] | None = Field(
        default=None, description="Neither made nor used for more than so many days …"
    )
    below_importance: Fraction | None = Field(
        default=None, description="… and less important than this …"
    )
    memory_tiers: Annotated[tuple[Tier, ...], AfterValidator(unique_values)] | None = Field(
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


class RunDecayArguments(ToolArguments):
    dry_run: StrictBool = Field(default=True, description="true only says what would be deleted")


class DecayTools:
    def __init__(self, decay: DecayStore) -> None:
        self._decay = decay

    def __iter__(self) -> Iterator[EntryTool]:
        yield EntryTool(
            name="memory_decay_configure",
            description="Say which unused memories are deleted by themselves. What is not given"
            " stays as it is.",
            arguments=ConfigureDecayArguments,
            run=self.configure,
        )
        yield EntryTool(
            name="memory_decay_run",
            description="Delete unused memories now, as configured; by default only list them.",
            arguments=RunDecayArguments,
            run=self.run,
        )
        yield EntryTool(
            name="memory_decay_status",
            description="Show how memories decay, what the last run did and how many are due.",
            arguments=ToolArguments,
            run=self.status,
        )

    async def configure(self, arguments: ConfigureDecayArguments) -> ToolAnswer:
        if not arguments.model_fields_set:
            names = ", ".join(ConfigureDecayArguments.model_fields)
            raise InvalidArguments(f"give something to configure: {names}")
        policy = arguments.changed((await self._decay.decay_status()).policy)
        return _status_object(await self._decay.configure_decay(policy))

    async def run(self, arguments: RunDecayArguments) -> ToolAnswer:
        dry_run = arguments.dry_run
        ids = await self._decay.run_decay(dry_run=dry_run)
        listed = list(ids[:MAX_LISTED])
        return {"dry_run": dry_run, "deleted_count": len(ids), "deleted_ids": listed}

    async def status(self, _arguments: ToolArguments) -> ToolAnswer:
        return _status_object(await self._decay.decay_status())


def _status_object(status: DecayStatus) -> dict[str, object]:
    policy = status.policy
    return {
        "enabled": policy.is_enabled,
        "older_than_days": round(policy.older_than_s / DAY_S, 6),
        "below_importance": format_score(policy.below_importance),
        "memory_tiers": [tier.value for tier in policy.tiers],
        "last_run_at": format_optional_date(status.last_run_at),
        "last_deleted": status.last_deleted,
        "due": status.due,
    }
