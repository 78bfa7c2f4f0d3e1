"""Commands that wait to be filled in: whose they are, how many, and for how long."""

from __future__ import annotations

from spade_llm.xmpp.features.adhoc_commands import (
    EXPIRY_S,
    MAX_OF_PEER,
    MAX_SESSIONS,
    CommandSessions,
)
from spade_llm.xmpp.stanzas.forms import (
    CommandForm,
    CommandResult,
    CommandStep,
    DataForm,
    FormValues,
)

ADA = "ada@x/phone"


async def _then(_filled: FormValues) -> CommandStep:
    return CommandResult(text="done")


STEP = CommandForm(form=DataForm(title="A form"), then=_then)


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_a_form_is_filled_in_once_and_by_its_visitor_only() -> None:
    sessions = CommandSessions()
    id = sessions.open(ADA, "new", STEP)

    assert sessions.take(id, "eve@x/phone", "new") is None
    assert sessions.take(id, "ada@x/tablet", "new") is None
    assert sessions.take(id, ADA, "forget") is None
    assert sessions.take(id, ADA, "new") is not None
    assert sessions.take(id, ADA, "new") is None


def test_opening_many_sessions_evicts_ones_own_oldest() -> None:
    sessions = CommandSessions()
    bob = sessions.open("bob@x/phone", "new", STEP)

    ids = [sessions.open(f"ada@x/{n}", "new", STEP) for n in range(3 * MAX_OF_PEER)]

    kept = [n for n, id in enumerate(ids) if sessions.take(id, f"ada@x/{n}", "new")]
    assert kept == list(range(2 * MAX_OF_PEER, 3 * MAX_OF_PEER))
    assert sessions.take(bob, "bob@x/phone", "new") is not None


def test_all_together_are_bounded_and_expire() -> None:
    clock = Clock()
    sessions = CommandSessions(clock=clock)
    for n in range(MAX_SESSIONS + 10):
        last = sessions.open(f"p{n}@x/r", "new", STEP)
    assert len(sessions) == MAX_SESSIONS

    clock.now_s += EXPIRY_S

    assert sessions.take(last, f"p{MAX_SESSIONS + 9}@x/r", "new") is None
    assert len(sessions) == 0
