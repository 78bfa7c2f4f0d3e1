"""What a data directory says of the network that runs on it: who holds it, where it is reached,
which accounts it has. Starts nothing."""
