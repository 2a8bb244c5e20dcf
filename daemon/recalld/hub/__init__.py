"""The team's hub: what is shared, in the team's PostgreSQL, guarded there.

postgres   the hub as a device sees it: pull, push, share
admin      the hub as its owners see it: schema, members, audit, export
schema/    the database: tables, policies and functions, by version
sync       one cycle: pull every stream until dry, then push
"""
