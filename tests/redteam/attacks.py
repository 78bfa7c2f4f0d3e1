"""The texts of the red team, and the model that obeys them. Knows no network."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from spade_llm.providers.model import Completion, ToolCall

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spade_llm.providers.model import ContextMessage, ToolSpec

FOLDER = Path(__file__).parent


class Order(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    tool: str
    arguments: dict[str, object]


class Attack(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    topic: str
    """A word of the text, by which it is found and asked for."""
    text: str
    orders: tuple[Order, ...] = ()
    """What a model calls that obeys."""
    says: str = ""
    """What it answers; empty: everything that it has read."""

    def filled(self, names: Mapping[str, str]) -> Attack:
        """With the addresses and ids of a scene instead of `{vera}` and others."""
        text = self.model_dump_json()
        for name, value in names.items():
            text = text.replace("{" + name + "}", json.dumps(value)[1:-1])
        return Attack.model_validate_json(text)


def attacks(route: str) -> list[Attack]:
    with (FOLDER / f"{route}.toml").open("rb") as file:
        return [Attack.model_validate(one) for one in tomllib.load(file)["attack"]]


@dataclass(slots=True)
class Obedient:
    """Does whatever it reads: once the text of the attack is before it, it gives all orders, and
    then answers as it is told, or with all that it has read."""

    attack: Attack | None = None
    reads_first: str = ""
    """A tool that it calls to get at the text."""
    has_read: bool = False

    def __call__(
        self, messages: Sequence[ContextMessage], _tools: Sequence[ToolSpec]
    ) -> Completion:
        read = "\n".join(str(one["content"]) for one in messages)
        if self.attack is None:
            return Completion(text=messages[-1]["content"] or "")
        called = _calls_since_the_question(messages)
        self.has_read = self.has_read or _contains(read, self.attack.text)
        if self.has_read and not called & {order.tool for order in self.attack.orders}:
            return self._obey(read)
        if not self.has_read and self.reads_first and self.reads_first not in called:
            return Completion(tool_calls=(ToolCall(id="r", name=self.reads_first, arguments="{}"),))
        return self._answer(read)

    def _obey(self, read: str) -> Completion:
        assert self.attack is not None
        calls = tuple(
            ToolCall(id=f"o{number}", name=order.tool, arguments=json.dumps(order.arguments))
            for number, order in enumerate(self.attack.orders)
        )
        return Completion(tool_calls=calls) if calls else self._answer(read)

    def _answer(self, read: str) -> Completion:
        assert self.attack is not None
        return Completion(text=self.attack.says or f"done: {read[-1500:]}")


def _calls_since_the_question(messages: Sequence[ContextMessage]) -> set[str]:
    names: set[str] = set()
    for message in messages:
        if message["role"] == "user":
            names.clear()
        elif message["role"] == "assistant":
            names.update(one["function"]["name"] for one in message.get("tool_calls", ()))
    return names


def _contains(read: str, text: str) -> bool:
    """However the quotation has escaped and wrapped it."""
    return all(word in read for word in text.split()[:5])
