"""The MCP guide: an assistant with the tools of a server that it starts itself."""

import os
import sys

import spade

from spade_llm import LLMAgent, LLMProvider
from spade_llm.mcp import StdioServerConfig


async def main() -> None:
    server = StdioServerConfig(
        name="Sums",
        command=sys.executable,
        args=[os.environ["MCP_SERVER"]],
        env={"PYTHONUNBUFFERED": "1"},
        cache_tools=True,
    )
    agent = LLMAgent(
        jid="clerk@localhost",
        password="clerk-password",
        provider=LLMProvider.create_openai(
            api_key="not-a-real-key", model="gpt-4o-mini", base_url=os.environ["MODEL_URL"]
        ),
        system_prompt="You add up bills.",
        mcp_servers=[server],
    )
    await agent.start()
    print("clerk is ready", flush=True)
    await spade.wait_until_finished(agent)


if __name__ == "__main__":
    spade.run(main())
