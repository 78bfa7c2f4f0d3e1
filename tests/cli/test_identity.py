"""Who an agent of a toml is to people."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from spade_llm.cli.factory.agent_options import build_identity
from spade_llm.cli.factory.deployment_spec import DeploymentSpec, read_spec
from spade_llm.core.errors import ConfigurationError
from spade_llm.xmpp.stanzas.vcard import default_avatar

if TYPE_CHECKING:
    from pathlib import Path


def definition(folder: Path, kind: str, identity: str = "") -> DeploymentSpec:
    path = folder / "agent.toml"
    path.write_text(f'kind = "{kind}"\njid = "robbie"\n[identity]\n{identity}', encoding="utf-8")
    return read_spec(path, domain="example.org")


@pytest.mark.parametrize("kind", ["assistant", "memory", "rag", "tools"])
def test_an_agent_without_an_identity_has_a_name_a_sentence_and_a_picture(
    tmp_path: Path, kind: str
) -> None:
    identity = build_identity(definition(tmp_path, kind))

    assert identity.name == "Robbie"
    assert identity.description
    assert identity.avatar is not None
    assert identity.avatar.content == default_avatar(kind, "robbie@example.org")


def test_identity_of_the_toml_is_shown(tmp_path: Path) -> None:
    (tmp_path / "me.png").write_bytes(default_avatar("rag", "somebody"))

    identity = build_identity(
        definition(
            tmp_path,
            "assistant",
            'name = "Ada\'s helper"\ndescription = "Helps."\nurl = "https://example.org"\n'
            'avatar = "me.png"\npublish = false\nstatus = false\nbusy_at = 4\nstatus_every_s = 60',
        )
    )

    assert (identity.name, identity.description) == ("Ada's helper", "Helps.")
    assert identity.avatar is not None
    assert identity.avatar.content == default_avatar("rag", "somebody")
    assert (identity.is_published, identity.shows_load) == (False, False)
    assert (identity.busy_at, identity.status_every_s) == (4, 60.0)


def test_a_text_that_would_end_the_stream_is_named_by_file_and_key(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"agent\.toml: identity\.name .*control"):
        build_identity(definition(tmp_path, "assistant", r'name = "Rob\u0001bie"'))


@pytest.mark.parametrize("content", [None, b"\xff\xd8\xff\xe0 a JPEG"])
def test_a_picture_that_cannot_be_used_is_named_by_file_and_key(
    tmp_path: Path, content: bytes | None
) -> None:
    if content is not None:
        (tmp_path / "me.png").write_bytes(content)

    with pytest.raises(ConfigurationError, match=r"agent\.toml: identity\.avatar 'me\.png': "):
        build_identity(definition(tmp_path, "assistant", 'avatar = "me.png"'))
