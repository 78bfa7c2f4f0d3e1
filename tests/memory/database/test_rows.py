"""What a found message is called: a standard id, made by hand."""

from __future__ import annotations

from uuid import uuid5

from hypothesis import given
from hypothesis import strategies as st

from spade_llm.memory.database.rows import MESSAGE_NAMESPACE, message_id


@given(owner=st.text(), conversation=st.text(), id=st.text())
def test_a_message_is_called_by_the_uuid_of_its_names(
    owner: str, conversation: str, id: str
) -> None:
    name = f"{owner}\0{conversation}\0{id}"

    assert message_id(owner, conversation, id) == str(uuid5(MESSAGE_NAMESPACE, name))
