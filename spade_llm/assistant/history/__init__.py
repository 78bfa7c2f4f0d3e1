"""Conversation history: conversations in RAM, outbox to memory, sessions."""
