"""Turn middleware: guardrails, quota, usage, routing, file sharing, conversation end."""
