"""The network over HTTP: the Agent Lab API (specs/4), an OpenAI-compatible one, and the console.

Every answer is fetched by messages; what is kept here is who may ask, and how sessions are set.
"""
