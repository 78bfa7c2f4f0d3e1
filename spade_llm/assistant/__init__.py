"""Assistant: answers chat messages with a model, tools, memory and documents."""
