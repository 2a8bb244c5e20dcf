"""The HTTP door: a process of its own, a client of the daemon's socket, for this machine and whoever has the token.

routes   the table: every path with its types, from which routing, checks, /openapi.json and /docs are made
looking, changing, carrying, opening   what the routes do
guard    who may come in: Host, Origin, token, how often, how much
serve    the process: its socket, its end
"""
