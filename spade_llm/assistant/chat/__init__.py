"""Chat ontology: contract, service and client, for people and for programs."""
