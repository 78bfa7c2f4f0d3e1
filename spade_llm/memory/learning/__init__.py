"""From messages to episodes, from episodes to facts. Knows no database."""
