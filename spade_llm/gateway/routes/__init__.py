"""What can be asked over HTTP: a file for each part, with a `router`. Knows no wire."""
