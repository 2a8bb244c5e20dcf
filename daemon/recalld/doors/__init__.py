"""The ways into the daemon."""
