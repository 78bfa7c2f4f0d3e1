"""What is said over HTTP, as specs/4 names it. Knows no route and no agent."""
