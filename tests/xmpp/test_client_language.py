"""In which language somebody is answered who has said no word."""

from __future__ import annotations

from xml.etree.ElementTree import fromstring

import pytest

from spade_llm.xmpp.stanzas.namespaces import client_language


@pytest.mark.parametrize(
    ("lang", "language"), [("es", "es"), ("ES-mx", "es"), ("en", "en"), ("de", "en"), ("", "en")]
)
def test_a_client_s_language_is_ours_if_we_speak_it(lang: str, language: str) -> None:
    assert client_language(fromstring(f"<message xml:lang='{lang}'/>")) == language


def test_messages_without_a_language_are_answered_in_english() -> None:
    assert client_language(fromstring("<message/>")) == "en"
