"""Deployment: folders of a hosted network, heartbeat and HTTP record of its agents."""
