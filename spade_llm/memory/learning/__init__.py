"""Learning: from messages to episodes, facts and patterns."""
