"""HTTP gateway: Agent Lab API (specs/4), OpenAI-compatible API, console."""
