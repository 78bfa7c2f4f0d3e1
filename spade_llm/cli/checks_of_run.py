"""What `doctor` asks of others: the running `up`, its agents, the model's server."""

from __future__ import annotations

import asyncio
import urllib.error
import urllib.request
from typing import TYPE_CHECKING

from spade_llm.cli.checks import Check, State
from spade_llm.cli.model_choice import choose_fallback, choose_model
from spade_llm.cli.person import logged_in
from spade_llm.cli.place import Place
from spade_llm.deployment.run_record import read_record
from spade_llm.errors import ConfigurationError, RequestError

if TYPE_CHECKING:
    from pathlib import Path

    from spade_llm.agent import ChatAgent
    from spade_llm.cli.definition import Definition
    from spade_llm.cli.model_choice import ModelChoice
    from spade_llm.deployment.run_record import RunRecord

STATUS_TIMEOUT_S = 3.0
MODEL_TIMEOUT_S = 5.0


async def check_run(data: Path) -> list[Check]:
    record = read_record(data)
    if record is None:
        return [Check("up", State.MISSING, "not running on this data", "spade-llm up")]
    return [Check("up", State.OK, f"pid {record.pid}, {record.host}:{record.port}")]


async def check_agents(data: Path) -> list[Check]:
    """Each agent of the running `up`, asked for its status."""
    record = read_record(data)
    if record is None:
        return []
    try:
        async with logged_in(record.person, _place(record, data)) as person:
            return list(await asyncio.gather(*(_agent(person, jid) for jid in record.agents)))
    except ConfigurationError as error:
        return [Check(record.person, State.FAILED, str(error), "stop `up` and start it again")]


async def check_models(definition: Definition) -> list[Check]:
    """An assistant's, and the one that answers while it is away."""
    try:
        first, second = await choose_model(definition), await choose_fallback(definition)
    except ConfigurationError as error:
        return [Check("model", State.FAILED, str(error))]
    return [await _model("model", first), *([await _model("fallback", second)] if second else [])]


async def _model(name: str, choice: ModelChoice) -> Check:
    if choice.kind == "offline" and name == "fallback":
        return Check(name, State.OK, "rules instead of a model")
    if choice.kind == "offline":
        return Check(name, State.MISSING, choice.description)
    problem = await asyncio.to_thread(_reach, choice)
    if problem:
        mend = "start the model's server, or check base_url and the key"
        return Check(name, State.FAILED, f"{choice.description}: {problem}", mend)
    return Check(name, State.OK, choice.description)


async def _agent(person: ChatAgent, jid: str) -> Check:
    try:
        status = await person.status(jid, timeout_s=STATUS_TIMEOUT_S)
    except RequestError as error:
        return Check(jid, State.FAILED, str(error), "see the files in log/ of the data directory")
    return Check(jid, State.OK, f"{status.kind}: {status.summary}")


def _reach(choice: ModelChoice) -> str | None:
    """Why the model's server cannot be used; None if it can. Asks for its list of models."""
    request = urllib.request.Request(f"{choice.base_url.rstrip('/')}/models")
    if choice.api_key:
        request.add_header("Authorization", f"Bearer {choice.api_key}")
    try:
        with urllib.request.urlopen(request, timeout=MODEL_TIMEOUT_S):
            return None
    except urllib.error.HTTPError as error:
        return f"it refuses with {error.code}"
    except (OSError, ValueError) as error:
        return f"not reachable ({getattr(error, 'reason', None) or type(error).__name__})"


def _place(record: RunRecord, data: Path) -> Place:
    return Place(data=data, host=record.host, port=record.port, domain=record.domain, ca=record.ca)
