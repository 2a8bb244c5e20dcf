"""Putting recalld into a user's home, and taking it out: Claude Code's settings, the service, the program itself."""
