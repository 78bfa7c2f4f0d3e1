"""The RAG guide's other half: an assistant whose model searches what the librarian has."""

import os

import spade

from spade_llm import LLMAgent, LLMProvider
from spade_llm.tools import RetrievalTool


async def main() -> None:
    search = RetrievalTool(
        retrieval_agent_jid="librarian@localhost",
        default_k=1,
        timeout=30,
        name="search_guide",
        description="Searches the guide of the town",
    )
    agent = LLMAgent(
        jid="reader@localhost",
        password="reader-password",
        provider=LLMProvider.create_openai(
            api_key="not-a-real-key", model="gpt-4o-mini", base_url=os.environ["MODEL_URL"]
        ),
        tools=[search],
    )
    await agent.start()
    print("reader is ready", flush=True)
    await spade.wait_until_finished(agent)


if __name__ == "__main__":
    spade.run(main())
