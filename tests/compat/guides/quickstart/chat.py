"""The quick start's other half: somebody at a terminal who talks with the assistant."""

import spade

from spade_llm import ChatAgent


def show(message: str, sender: str) -> None:
    print(f"{sender.split('@')[0]} says: {message}", flush=True)


def note(message: str, recipient: str) -> None:
    print(f"sent to {recipient}: {message}", flush=True)


async def main() -> None:
    chat = ChatAgent(
        jid="human@localhost",
        password="human-password",
        target_agent_jid="assistant@localhost",
        display_callback=show,
        on_message_sent=note,
    )
    await chat.start()
    print("chat is ready", flush=True)
    await chat.run_interactive(input_prompt="", exit_command="quit", response_timeout=30.0)
    await chat.stop()
    print("goodbye", flush=True)


if __name__ == "__main__":
    spade.run(main())
