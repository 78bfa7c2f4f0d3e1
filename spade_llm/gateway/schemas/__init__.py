"""Schemas of HTTP requests and answers (pydantic), as specs/4 names their fields."""
