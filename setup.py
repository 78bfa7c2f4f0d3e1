"""Only what pyproject.toml cannot say: `agents/` is shipped inside the package, as its data.

A top-level package `agents` would shadow another well-known library.
"""

from pathlib import Path

from setuptools import find_packages, setup

SHIPPED = "spade_llm._agents"
WEB = ("html", "js", "css", "svg")
FOLDERS = sorted(path.parent.name for path in Path("agents").glob("*/agent.toml"))

setup(
    packages=[
        *find_packages(include=["spade_llm", "spade_llm.*"]),
        SHIPPED,
        *(f"{SHIPPED}.{name}" for name in FOLDERS),
    ],
    package_dir={SHIPPED: "agents"},
    package_data={
        "": ["py.typed", "agent.toml", "prompt.md"],
        "spade_llm.conversation": ["prompts/*.md"],
        "spade_llm.gateway": [f"console/{at}*.{kind}" for at in ("", "*/") for kind in WEB],
        "spade_llm.xmpp": ["prosody_modules/*.lua"],
    },
)
