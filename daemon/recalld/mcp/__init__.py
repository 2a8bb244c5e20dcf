"""The door for programs that speak the Model Context Protocol: tools, resources and prompts, over stdio or HTTP.

A program of its own and a client of the daemon's socket, as the command line is. What one client may see is decided
here (`bounds`); what the verbs do is the daemon's. The SDK is imported by `server`, `stdio` and `http` alone.
"""
