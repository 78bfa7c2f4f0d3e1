"""Delegation: human experts and sub-agents that are asked during a turn."""
