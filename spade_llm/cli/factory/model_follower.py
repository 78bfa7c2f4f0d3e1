"""Follower of a model's settings: a changed file replaces the model of a running agent.

The files are compared by their status every few seconds, which costs microseconds; no watcher of
the operating system is needed, and a file on a network share works, too.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from spade_llm.cli.factory.model_choice import ModelChoice, build_model, check_model
from spade_llm.cli.factory.model_record import RefusedModel
from spade_llm.core.concurrency import concurrent_task
from spade_llm.core.errors import ConfigurationError, ModelError
from spade_llm.core.settings import FallbackTable
from spade_llm.providers.fallback import FallbackModel
from spade_llm.providers.model import ModelLease, ReplaceableModel

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
    from pathlib import Path

    from spade_llm.providers import ChatModel, OfflineProvider
    from spade_llm.providers.openai.model import OpenAIModel

    Choices = tuple[ModelChoice, ...]
    """The preferred model, then its fallback, if there is one."""

logger = logging.getLogger(__name__)

POLL_INTERVAL_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChange:
    """Result of changed settings."""

    choice: ModelChoice
    """Model in use from now on."""
    is_replaced: bool = False
    refused: RefusedModel | None = None
    read_at: datetime
    """Time at which the settings were read."""


class OpenedModels:
    """Providers of a choice, combined to one model."""

    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        self._providers = [build_model(one) for one in choices]
        first, *others = self._providers
        self.model: ChatModel = first
        if others and isinstance(table := choices[1].table, FallbackTable):
            self.model = FallbackModel(first, *others, patience_s=table.after_s)

    @property
    def first(self) -> OpenAIModel | OfflineProvider:
        return self._providers[0]

    async def aclose(self) -> None:
        for one in self._providers:
            await one.aclose()


class ModelFollower:
    """Model of an agent, and the settings that it follows; made by `followed_model`."""

    def __init__(
        self,
        choices: Choices,
        choose: Callable[[], Awaitable[Choices]],
        files: Sequence[Path],
        status: object,
        rules_refused: str,
    ) -> None:
        self.opened = OpenedModels(choices)
        self.model = ReplaceableModel(self.opened.model)
        """Model that the agent calls; what it passes calls on to is replaced."""
        self.on_change: list[Callable[[ModelChange], Awaitable[None]]] = []
        """Called after each change of the files, also one that is refused."""
        self._choose = choose
        self._files = files
        self._status = status
        self._rules_refused = rules_refused
        self._replaced: list[tuple[ModelLease, OpenedModels]] = []

    def following(self) -> AbstractAsyncContextManager[object]:
        """Follow the settings for the block."""
        return concurrent_task(self._follow())

    async def aclose(self) -> None:
        """Close the model in use, and those that it has replaced."""
        for _, opened in self._replaced:
            await opened.aclose()
        await self.opened.aclose()

    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(POLL_INTERVAL_S)
            # Replaced models that no turn uses any more.
            unused = [opened for lease, opened in self._replaced if not lease.uses]
            self._replaced = [one for one in self._replaced if one[1] not in unused]
            for opened in unused:
                await opened.aclose()
            status = file_status(self._files)
            if status != self._status:
                self._status = status
                change = await self._read_again()
                for listener in self.on_change:
                    try:
                        await listener(change)
                    except ConfigurationError as error:
                        logger.error("the agent does not follow its model: %s", error)

    async def _read_again(self) -> ModelChange:
        """Replace the model if the settings name another one that answers."""
        read_at, description = datetime.now(UTC), ""
        try:
            choices = await self._choose()
            description = choices[0].description
            is_replaced = choices != self.opened.choices
            if is_replaced:
                await self._replace(choices)
        except (ConfigurationError, ModelError) as error:
            kept = self.opened.choices[0]
            logger.warning("kept %s, refused %s: %s", kept.description, description, error)
            cause = error.cause if isinstance(error, ModelError) else None
            refused = RefusedModel(description=description, text=str(error), cause=cause)
            return ModelChange(choice=kept, refused=refused, read_at=read_at)
        return ModelChange(choice=choices[0], is_replaced=is_replaced, read_at=read_at)

    async def _replace(self, choices: Choices) -> None:
        """Raises ModelError: the new model does not answer; ConfigurationError: it is rules, and a
        language model is needed."""
        if self._rules_refused and choices[0].kind == "offline":
            raise ConfigurationError(self._rules_refused)
        opened = OpenedModels(choices)
        try:
            await check_model(opened.first)
        except BaseException:
            await opened.aclose()
            raise
        former, self.opened = self.opened, opened
        self._replaced.append((self.model.replace(opened.model), former))
        logger.info("model %s replaces %s", opened.model.name, former.model.name)


@asynccontextmanager
async def followed_model(
    choose: Callable[[], Awaitable[Choices]], files: Sequence[Path], *, rules_refused: str = ""
) -> AsyncIterator[ModelFollower]:
    """Open the model that `choose` reads from `files`; `following()` follows them.

    `rules_refused`: reason that a change to rules is refused; empty: it is accepted.

    Raises:
        ConfigurationError: the settings are incomplete.
    """
    # Before they are read: a change between reading and comparing would be missed.
    status = file_status(files)
    follower = ModelFollower(await choose(), choose, files, status, rules_refused)
    try:
        yield follower
    finally:
        await follower.aclose()


def file_status(files: Sequence[Path]) -> object:
    """Status by which changed files are found; a file may be missing."""
    found = []
    for path in files:
        with suppress(OSError):
            status = path.stat()
            found.append((path, status.st_mtime_ns, status.st_ino, status.st_size))
    return found
