"""HTTP gateway: Agent Lab API, OpenAI-compatible API, console."""
