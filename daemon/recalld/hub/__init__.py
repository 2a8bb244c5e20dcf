"""The team's hub: what is shared, in the team's PostgreSQL, guarded there.

run         the process: a cycle, then a wait, and again
link        both sides of one home, for the length of a block
sync        one cycle: take in every stream, then send what waits; knows neither side but by its port
sealing     what only the member's own machines can read
postgres    the hub as a device sees it: pull, push, share
rows        memories as they stand in its answers and requests
connection  addresses, time limits, and errors in one line
admin       the hub as its owners see it: schema, members, audit, export
schema/     the database: tables, policies and functions, by version
"""
