"""The command line: one file a group of commands, each read top to bottom. What is slow to import is imported late."""
