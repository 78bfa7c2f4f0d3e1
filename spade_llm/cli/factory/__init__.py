"""Agent factory: builds running agents from the agent.toml files of a deployment."""
