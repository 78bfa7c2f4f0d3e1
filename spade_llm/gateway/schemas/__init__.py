"""Schemas of HTTP requests and answers (pydantic), as the Agent Lab API names their fields."""
