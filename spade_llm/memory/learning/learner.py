"""Learner: background task that makes episodes, facts and patterns, with back-off."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from spade_llm.core.errors import (
    ContextTooLong,
    InvalidArguments,
    InvalidModelOutput,
    ModelError,
    NotFound,
    RateLimited,
    ServiceError,
)
from spade_llm.memory.learning.episodes import cut_episodes
from spade_llm.memory.learning.learning_contract import EpisodeReading
from spade_llm.memory.learning.model_extractor import ModelExtractor, find_patterns_with_model
from spade_llm.memory.learning.novelty import novel_messages, recalled_texts
from spade_llm.memory.learning.pattern_rules import TalkSession, find_patterns, group_talk_sessions
from spade_llm.memory.learning.repeated_facts import without_known
from spade_llm.memory.learning.rule_extractor import RuleExtractor
from spade_llm.providers.model import ChatModel, language_model

if TYPE_CHECKING:
    from spade_llm.memory.contract import MemoryBackend, MemoryDraft, MemoryEntry, OwnedMemory
    from spade_llm.memory.learning.learning_contract import (
        ConsentingPerson,
        EpisodeDraft,
        ExtractedFacts,
        Extractor,
        LearningStore,
        MessageRange,
    )

logger = logging.getLogger(__name__)

MAX_DOUBLINGS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningSchedule:
    """Intervals and batch sizes of the learner."""

    poll_interval_s: float = 30.0
    """Maximum interval between runs in seconds: conversations become idle without an event."""
    min_interval_s: float = 2.0
    """Minimum interval between runs in seconds, however many events arrive."""
    range_batch: int = 16
    episode_batch: int = 16
    people_batch: int = 4
    model_calls: int = 2
    """Side by side; those of one owner never are."""
    min_backoff_s: float = 5.0
    """Back-off in seconds after the first failure; doubles up to `max_backoff_s`."""
    max_backoff_s: float = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectionLimits:
    """Limits of reflection: it works in the background and is paid by the operator."""

    runs_per_day: int = 20
    """People on a day (UTC), each at most once: one call of the model each, two if its first answer
    does not fit the schema."""
    tokens: int = 6000
    """Maximum number of estimated tokens of a prompt; the oldest memories are left out first."""
    deadline_s: float = 120.0
    """Deadline for both calls, in seconds."""


class Learner:
    """Background task that learns memories from conversations; use it with `async with`.

    `model=None`, or one of rules: rules only. If the model is unavailable, the episode is retried
    later. If its answers cannot be used, the rules are applied instead, and this is logged.
    `reflection`: limits of the reflection with the model; None: there is none, and no query for it.
    """

    def __init__(
        self,
        store: LearningStore,
        backend: MemoryBackend,
        *,
        model: ChatModel | None = None,
        schedule: LearningSchedule | None = None,
        reflection: ReflectionLimits | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._store = store
        self._backend = backend
        self._model = model
        self._reflection = reflection
        self._rules = RuleExtractor()
        self._schedule = schedule or LearningSchedule()
        self._clock = clock
        self._woken = asyncio.Event()
        self._model_calls = asyncio.Semaphore(self._schedule.model_calls)
        self._failures = 0
        self._retry_at = datetime.min.replace(tzinfo=UTC)
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Learner:
        self._task = asyncio.create_task(self._run(), name="learner")
        self._task.add_done_callback(_log_failure)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None

    def wake(self) -> None:
        """Wake the learner after an observation. Cheap; never waits."""
        self._woken.set()

    async def learn(self) -> int:
        """Do all that is due now; returns how many episodes were cut or read.

        Raises ServiceError (the store).
        """
        count = 0
        while done := await self._step():
            count += done
        return count

    async def _run(self) -> None:
        while True:
            try:
                is_idle = not await self._step()
            except ServiceError as error:
                logger.warning(
                    "learning failed, retrying in %.0f s: %s", self._schedule.poll_interval_s, error
                )
                await asyncio.sleep(self._schedule.poll_interval_s)
                continue
            if is_idle:
                await asyncio.sleep(self._schedule.min_interval_s)
                await self._wait()

    async def _step(self) -> int:
        """Cut episodes; once only open ones are left, read some of them: cutting does not wait for
        all to be read."""
        # One read, since each change of threads costs as much as all that there is to do after most
        # messages.
        work = await self._store.due(
            ranges=self._schedule.range_batch,
            episodes=self._schedule.episode_batch,
            people=self._schedule.people_batch,
        )
        if cut := await self._cut(work.ranges):
            return cut
        return (
            await self._read_groups(_by_owner(work.episodes))
            + await self._find_all_patterns(work.people)
            + await self._reflect()
        )

    async def _wait(self) -> None:
        """Wait for an event, at most `poll_interval_s`."""
        try:
            async with asyncio.timeout(self._schedule.poll_interval_s):
                await self._woken.wait()
        except TimeoutError:
            return
        finally:
            self._woken.clear()

    def _back_off(self, error: ModelError) -> None:
        """Pause fact extraction after a model's failure (exponential back-off), not cutting."""
        doubled_s = self._schedule.min_backoff_s * 2.0**self._failures
        pause_s = min(doubled_s, self._schedule.max_backoff_s)
        if isinstance(error, RateLimited):
            pause_s = max(pause_s, error.retry_after or 0.0)
        # Bounded, because a power of two would overflow a float in a long outage.
        self._failures = min(self._failures + 1, MAX_DOUBLINGS)
        self._retry_at = self._clock() + timedelta(seconds=pause_s)
        logger.warning("fact extraction paused for %.0f s: %s", pause_s, error)

    async def _cut(self, ranges: Sequence[MessageRange]) -> int:
        """Cut off the episodes that are complete, and return their number."""
        if not ranges:
            return 0
        # In a thread: stems of 400 messages that were never seen before take 0.1 s.
        found = await asyncio.to_thread(_complete_episodes, ranges, now=self._clock())
        count = 0
        for message_range, episodes in found:
            try:
                count += len(await self._store.save_episodes(message_range, episodes))
            except InvalidArguments as error:
                # Ours to mend, and no reason to keep the other conversations waiting.
                logger.error(
                    "conversation %s cannot be divided into episodes: %s",
                    message_range.conversation,
                    error,
                )
        return count

    async def _find_all_patterns(self, people: Sequence[ConsentingPerson]) -> int:
        """Find patterns across the conversations of consenting people, person by person."""
        if self._clock() < self._retry_at:
            return 0
        try:
            for one in people:
                sessions = await asyncio.to_thread(group_talk_sessions, one.episodes)
                await self._store.save_patterns(one, await self._patterns(one, sessions))
        except ModelError as error:
            self._back_off(error)
            return 0
        return len(people)

    async def _reflect(self) -> int:
        """Reflect on the memories of one person; returns how many people that were."""
        limits, model = self._reflection, language_model(self._model)
        if model is None or limits is None or self._clock() < self._retry_at:
            return 0
        material = await self._store.next_reflection(runs_per_day=limits.runs_per_day)
        if material is None:
            return 0
        # Here, so that a memory without reflection does not load the rules.
        from spade_llm.memory.learning.reflection_model import reflect

        try:
            changes = await reflect(model, material, limits)
        except (InvalidModelOutput, ContextTooLong) as error:
            # Tomorrow again: the run is counted.
            logger.warning("unusable model answer, no reflection for %s: %s", material.owner, error)
            return 1
        except ModelError as error:
            self._back_off(error)
            return 0
        count = await self._store.save_reflection(material, changes)
        logger.info("reflection for %s: %d changes", material.owner, count)
        return 1

    async def _patterns(
        self, person: ConsentingPerson, sessions: Sequence[TalkSession]
    ) -> dict[str, MemoryDraft]:
        if (model := language_model(self._model)) is not None:
            try:
                return await find_patterns_with_model(model, sessions)
            except (InvalidModelOutput, ContextTooLong) as error:
                logger.warning(
                    "unusable model answer, finding patterns of %s by rules: %s",
                    person.owner,
                    error,
                )
        return await asyncio.to_thread(find_patterns, sessions)

    async def _read_groups(self, groups: Sequence[Sequence[MemoryEntry]]) -> int:
        """Read groups concurrently; a failure is raised after all have ended."""
        # Only reading pauses with the model; cutting needs none.
        if self._clock() < self._retry_at:
            return 0
        # Without return_exceptions the others would run on after the first failure.
        outcomes = await asyncio.gather(*map(self._read_group, groups), return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
        return sum(one for one in outcomes if isinstance(one, int))

    async def _read_group(self, episodes: Sequence[MemoryEntry]) -> int:
        """Read episodes in order: a later one may contradict an earlier one."""
        async with self._model_calls:
            count = 0
            try:
                for episode in episodes:
                    count += await self._read(episode)
                self._failures = 0
            except ModelError as error:
                self._back_off(error)
            return count

    async def _read(self, episode: MemoryEntry) -> int:
        """Raises ModelError if the model is away, ServiceError (the store)."""
        memory = self._backend.for_owner(episode.owner)
        try:
            reading = await self._reading(memory, episode)
            learned = await self._extract(reading, memory)
            learned = await without_known(learned, reading, memory)
        except NotFound:
            # Forgotten since it was listed.
            return 0
        await self._save(episode, learned)
        return 1

    async def _reading(self, memory: OwnedMemory, episode: MemoryEntry) -> EpisodeReading:
        messages = await self._store.messages_of(episode)
        resolve_recent = partial(self._store.recently_returned_messages, episode.owner)
        recalled = await recalled_texts(memory, messages, resolve_recent=resolve_recent)
        new_messages = await asyncio.to_thread(novel_messages, messages, recalled)
        return EpisodeReading(episode=episode, messages=new_messages)

    async def _extract(self, reading: EpisodeReading, memory: OwnedMemory) -> ExtractedFacts:
        model = language_model(self._model)
        extractor: Extractor = ModelExtractor(model) if model else self._rules
        try:
            return await extractor.extract(reading, memory)
        except (InvalidModelOutput, ContextTooLong) as error:
            logger.warning(
                "unusable model answer, extracting facts of episode %s by rules: %s",
                reading.episode.id,
                error,
            )
            return await self._rules.extract(reading, memory)

    async def _save(self, episode: MemoryEntry, learned: ExtractedFacts) -> None:
        try:
            await self._store.save_facts(
                episode, learned.drafts, invalid=learned.invalid, confirmed=learned.confirmed
            )
        except InvalidArguments as error:
            logger.error("facts of episode %s cannot be stored: %s", episode.id, error)
            # Read all the same: tried for ever, it would hold up all episodes behind it.
            await self._store.save_facts(episode, ())


def _complete_episodes(
    ranges: Sequence[MessageRange], *, now: datetime
) -> list[tuple[MessageRange, Sequence[EpisodeDraft]]]:
    """Ranges that have complete episodes, with these."""
    return [(one, found) for one in ranges if (found := cut_episodes(one, now=now))]


def _by_owner(episodes: Sequence[MemoryEntry]) -> list[list[MemoryEntry]]:
    groups: dict[str, list[MemoryEntry]] = {}
    for episode in episodes:
        groups.setdefault(episode.owner, []).append(episode)
    return list(groups.values())


def _log_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()):
        logger.error("the learner stopped because of an error", exc_info=error)
