"""What `host prepare` makes, before anything runs."""

from __future__ import annotations

import asyncio
import os
import pwd
import subprocess
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from spade_llm.cli import main
from spade_llm.core.errors import ConfigurationError
from spade_llm.xmpp.servers.certificates import (
    import_certificates,
    local_certificates,
    name_matches,
)
from tests.cli.deployment.hosted import DOMAIN, attempt, new_deployment, write_agents

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.deployment.hosted import Hosted


def pages(folder: Path) -> Path:
    folder.mkdir()
    (folder / "index.html").write_text("<title>Chat</title>", encoding="utf-8")
    return folder


def given(folder: Path, domain: str, *names: str) -> Path:
    """As certbot leaves it, from an authority that the system does not know."""
    made = local_certificates(folder / "made", domain, names=names)
    (folder / "fullchain.pem").write_bytes(made.cert_path.read_bytes())
    (folder / "privkey.pem").write_bytes(made.key_path.read_bytes())
    (folder / "ca.pem").write_bytes(made.ca_path.read_bytes())
    return folder


def secrets(hosted: Hosted) -> dict[str, bytes]:
    files = [*hosted.root.glob("*/accounts/*"), *hosted.root.glob("authority/*")]
    return {str(path.relative_to(hosted.root)): path.read_bytes() for path in files}


def test_preparing_again_keeps_passwords_and_the_ca_and_adds_what_is_new(tmp_path: Path) -> None:
    hosted = new_deployment(tmp_path)
    hosted.prepare("--people", "you")
    before = secrets(hosted)

    hosted.prepare("--people", "you,ada")

    after = secrets(hosted)
    assert {name: after[name] for name in before} == before
    assert set(after) - set(before) == {f"people/accounts/ada@{DOMAIN}"}


def test_each_password_is_in_its_agents_folder_only_and_for_its_owner_only(tmp_path: Path) -> None:
    hosted = new_deployment(tmp_path)

    hosted.prepare()

    found = sorted(hosted.root.glob("*/accounts/*"))
    assert [str(path.relative_to(hosted.root)) for path in found] == [
        f"assistant/accounts/assistant@{DOMAIN}",
        f"memory/accounts/memory@{DOMAIN}",
        f"people/accounts/you@{DOMAIN}",
    ]
    assert {path.stat().st_mode & 0o077 for path in found} == {0}
    passwords = [path.read_text(encoding="utf-8").strip() for path in found]
    texts = [path.read_bytes() for path in hosted.root.rglob("*") if path.is_file()]
    assert all(sum(word.encode() in text for text in texts) == 1 for word in passwords)
    assert not (hosted.root / "server" / "certificates" / "ca.key").exists()


def test_the_next_command_is_said_with_the_user_to_run_it_as(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hosted = new_deployment(tmp_path)

    hosted.prepare()

    user = pwd.getpwuid(os.getuid()).pw_name
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == f"next        as {user}: sh docker/accounts.sh {hosted.root}"


@pytest.mark.server
@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        ("rm -r server", "run 'spade-llm host prepare --to"),
        ("rm -r */accounts", "there is no password in"),
        (
            "echo 'x = {' >>server/prosody.cfg.lua",
            f"memory@{DOMAIN} was not made; prosodyctl said:",
        ),
        ("chown 65534 server/prosody.cfg.lua", "belongs to nobody: run this as that user"),
    ],
)
async def test_accounts_that_cannot_be_made_are_named_with_the_reason(
    tmp_path: Path, damage: str, complaint: str
) -> None:
    if damage.startswith("chown") and os.getuid() != 0:
        pytest.skip("only root can give a file away")
    hosted = new_deployment(tmp_path, "memory")
    hosted.prepare()
    damaging = await asyncio.create_subprocess_shell(damage, cwd=hosted.root)
    assert await damaging.wait() == 0

    output, status = await attempt("sh", "accounts.sh", str(hosted.root))

    assert (status, complaint in output) == (1, True), output
    assert "account     " not in output


@pytest.mark.server
def test_prosody_finds_nothing_wrong_with_what_it_is_told(tmp_path: Path) -> None:
    hosted = new_deployment(tmp_path)
    web = ("--web-chat", str(pages(tmp_path / "pages")))

    hosted.prepare("--federation", "on", "--admins", "you", *web)

    check = ["prosodyctl", "--config", str(hosted.config), "check", "config"]
    done = subprocess.run(check, capture_output=True, text=True, check=False, timeout=30)
    assert "All checks passed" in done.stdout, done.stdout
    assert done.returncode == 0


def test_registration_and_federation_are_off_by_default(tmp_path: Path) -> None:
    hosted = new_deployment(tmp_path)

    hosted.prepare()
    alone = hosted.config.read_text(encoding="utf-8")
    hosted.prepare("--federation", "on")
    federated = hosted.config.read_text(encoding="utf-8")

    assert "register_ibr" not in alone + federated
    assert 'modules_disabled = { "s2s", "s2s_auth_certs" }' in alone
    assert "s2s_ports = { }" in alone
    assert "s2s_secure_auth = true" in federated
    assert "modules_disabled" not in federated


def test_a_given_certificate_is_taken_and_its_ca_told_to_the_agents(tmp_path: Path) -> None:
    hosted = new_deployment(tmp_path)
    source = given(tmp_path, DOMAIN)

    hosted.prepare("--certificates", str(source))

    server = hosted.root / "server" / "certificates"
    assert (server / "fullchain.pem").read_bytes() == (source / "fullchain.pem").read_bytes()
    assert (server / "privkey.pem").stat().st_mode & 0o777 == 0o600
    agents_ca = hosted.root / "memory" / "ca.pem"
    assert agents_ca.read_bytes() == (source / "ca.pem").read_bytes()
    assert str(server / "privkey.pem") in hosted.config.read_text(encoding="utf-8")


def test_agents_trust_the_system_where_a_given_certificate_brings_no_ca(tmp_path: Path) -> None:
    hosted = new_deployment(tmp_path)
    hosted.prepare()
    source = given(tmp_path, DOMAIN)
    (source / "ca.pem").unlink()

    hosted.prepare("--certificates", str(source))

    assert not list(hosted.root.glob("*/ca.pem")) or [*hosted.root.glob("*/ca.pem")] == [
        hosted.root / "authority" / "ca.pem"
    ]


def test_a_certificate_for_other_names_is_refused_with_the_names_it_needs(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=f"is not for {DOMAIN}"):
        import_certificates(given(tmp_path, "elsewhere.example"), tmp_path / "to", [DOMAIN])


def test_an_expired_certificate_is_refused(tmp_path: Path) -> None:
    later = datetime.now(UTC) + timedelta(days=400)

    with pytest.raises(ConfigurationError, match="renew it"):
        import_certificates(given(tmp_path, DOMAIN), tmp_path / "to", [DOMAIN], now=later)


def test_a_key_of_another_certificate_is_refused(tmp_path: Path) -> None:
    source = given(tmp_path, DOMAIN)
    other = local_certificates(tmp_path / "other", DOMAIN)
    (source / "privkey.pem").write_bytes(other.key_path.read_bytes())

    with pytest.raises(ConfigurationError, match="the key of another certificate"):
        import_certificates(source, tmp_path / "to", [DOMAIN])


def test_a_folder_without_certificates_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"fullchain\.pem"):
        import_certificates(tmp_path, tmp_path / "to", [DOMAIN])


@pytest.mark.parametrize(
    ("name", "is_covered"),
    [
        ("chat.example.org", True),
        ("CHAT.example.org", True),
        ("conference.example.org", True),
        ("a.conference.example.org", False),
        ("example.org", False),
        ("localhost", False),
    ],
)
def test_a_wildcard_stands_for_one_label(name: str, is_covered: bool) -> None:
    assert name_matches(name, ["chat.example.org", "*.example.org"]) == is_covered


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--web-url", "http://chat.example.org"], "is not https://HOST"),
        (["--web-url", "https://chat.example.org/chat"], "is not https://HOST"),
        (["--web-chat", "nowhere"], "docker/web/build.sh"),
    ],
)
def test_invalid_setups_are_reported_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], complaint: str
) -> None:
    agents = new_deployment(tmp_path).agents
    place = ["--to", str(tmp_path / "root"), "--domain", DOMAIN, "--agents", str(agents)]

    status = main(["host", "prepare", *place, *options])

    assert status == 1
    assert complaint in capsys.readouterr().err


@pytest.mark.parametrize("names", ["you,Memory", f"memory@{DOMAIN.upper()}"])
def test_a_person_is_not_given_the_account_of_an_agent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], names: str
) -> None:
    hosted = new_deployment(tmp_path)
    place = ["--to", str(hosted.root), "--domain", DOMAIN, "--agents", str(hosted.agents)]

    assert main(["host", "prepare", *place, "--people", names]) == 1
    assert f"memory@{DOMAIN} is the agent of agents/memory" in capsys.readouterr().err


def test_an_agent_is_not_given_the_account_of_a_person(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hosted = new_deployment(tmp_path)
    hosted.prepare("--people", "you,tools")
    write_agents(hosted.agents, "tools")
    place = ["--to", str(hosted.root), "--domain", DOMAIN, "--agents", str(hosted.agents)]

    assert main(["host", "prepare", *place, "--people", "you"]) == 1
    assert f"tools@{DOMAIN} already has its password in" in capsys.readouterr().err


def test_an_agent_of_another_domain_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hosted = new_deployment(tmp_path, "tools")
    file = hosted.agents / "tools" / "agent.toml"
    file.write_text('kind = "tools"\njid = "tools@elsewhere.example"', encoding="utf-8")
    place = ["--to", str(hosted.root), "--domain", DOMAIN, "--agents", str(hosted.agents)]

    assert main(["host", "prepare", *place]) == 1
    assert "write its name without @" in capsys.readouterr().err
