"""Chat: ontology with its service and client; presentation of answers in chat clients."""
