"""The language model of the session: it speaks OpenAI's protocol, and knows these few things only.

What it says of people and documents it has read in what it was given, or it does not say it.
"""

from __future__ import annotations

import asyncio
import json
import re

from tests.openai_server import Call, OpenAIServer, Say

PLAN = """\
**Saturday**
- figs and `olive oil` at the market
- the [gardens](https://example.org/gardens), if it is dry

**Sunday**
Rest, and write to your grandmother. She will be *very* happy about it."""

DEPOSIT = re.compile(r"The deposit is [^.]+\.")
TEA = re.compile(r"I drink (jasmine tea[^.\n\"]*)")


class SessionModel(OpenAIServer):
    def __init__(self) -> None:
        super().__init__()
        self.go_on = asyncio.Event()
        """Set by whoever has seen the first half of the plan."""

    def unscripted(self, body: dict[str, object]) -> Say:
        messages = body["messages"]
        assert isinstance(messages, list)
        asked = _last_asked(messages)
        if "plan" in asked:
            return Say(text=PLAN, gate=self.go_on)
        if messages[-1]["role"] == "user" and asked.startswith("I drink"):
            return Say(calls=(_store(asked),), finish_reason="tool_calls")
        return Say(text=_answer(asked, given="\n".join(str(one["content"]) for one in messages)))


def _store(fact: str) -> Call:
    arguments = {"content": fact, "category": "preference"}
    return Call(name="store_memory", arguments=json.dumps(arguments))


def _last_asked(messages: list[dict[str, object]]) -> str:
    return str([one["content"] for one in messages if one["role"] == "user"][-1])


def _answer(asked: str, given: str) -> str:
    if "about?" in asked:
        return "It is about the deposit of a rented flat, and about pets."
    if "deposit" in asked:
        found = DEPOSIT.search(given)
        return found[0] if found else "I have read nothing of a deposit."
    if "what do I drink" in asked:
        found = TEA.search(given)
        return f"You drink {found[1]}." if found else "I do not know."
    if "greet guide" in asked:
        return "@guide Hello! How are you?"
    if "Hello" in asked:
        return "Hello! How are you?"
    return "I will keep that in mind."
