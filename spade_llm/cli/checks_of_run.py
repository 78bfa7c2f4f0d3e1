"""What `doctor` asks of others: the running `up`, its agents, the model's server."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING

from spade_llm.cli.agent_data import agent_homes
from spade_llm.cli.checks import Check, State
from spade_llm.cli.model_choice import build_model, choose_fallback, choose_model
from spade_llm.cli.model_record import read_model_record
from spade_llm.cli.person import logged_in
from spade_llm.cli.place import Place
from spade_llm.deployment.run_record import read_record
from spade_llm.errors import ConfigurationError, ModelError, RequestError
from spade_llm.providers import OfflineProvider

if TYPE_CHECKING:
    from pathlib import Path

    from spade_llm.agent import ChatAgent
    from spade_llm.cli.definition import Definition
    from spade_llm.cli.model_choice import ModelChoice
    from spade_llm.cli.model_record import ModelRecord
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


def check_running_models(data: Path) -> list[Check]:
    """What each running assistant on this data says of its model. Not this command's environment:
    the assistant may have been started with another."""
    homes = agent_homes(data)
    records = {home.name: record for home in homes if (record := read_model_record(home))}
    return [_running_model(jid, record) for jid, record in records.items()]


def _running_model(jid: str, record: ModelRecord) -> Check:
    what = f"{jid}: {record.description}"
    if record.fault is not None:
        mend = "correct it in the agent.toml or the environment of the assistant, and restart that"
        return Check("model", State.FAILED, f"{what}: {record.fault}", mend)
    return Check("model", State.MISSING if record.is_offline else State.OK, what)


async def check_models(definition: Definition) -> list[Check]:
    """What `up` would choose if it were started here, while no assistant runs."""
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
    try:
        model = build_model(choice)
        async with aclosing(model):
            if not isinstance(model, OfflineProvider):
                await model.check(within_s=MODEL_TIMEOUT_S)
    except (ConfigurationError, ModelError) as error:
        mend = "correct the agent.toml or the environment before `spade-llm up`"
        return Check(name, State.FAILED, f"{choice.description}: {error}", mend)
    return Check(name, State.OK, choice.description)


async def _agent(person: ChatAgent, jid: str) -> Check:
    try:
        status = await person.status(jid, timeout_s=STATUS_TIMEOUT_S)
    except RequestError as error:
        return Check(jid, State.FAILED, str(error), "see the files in log/ of the data directory")
    return Check(jid, State.OK, f"{status.kind}: {status.summary}")


def _place(record: RunRecord, data: Path) -> Place:
    return Place(data=data, host=record.host, port=record.port, domain=record.domain, ca=record.ca)
