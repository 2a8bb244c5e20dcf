"""What the library can ask that changes nothing."""

from __future__ import annotations

from typing import Literal

from recalld.answers import DaemonStatus, Explained, Found, Listed, Page, Receipts, TagCount
from recalld.client.asking import Ask, Asking, Listing, ScopeName, TypeName, Verb
from recalld.model import Memory
from recalld.store.conflicts import Conflict
from recalld.store.memories import Event
from recalld.store.projects import ProjectInfo
from recalld.store.statistics import Stats


class Looking(Asking):
    """Verbs that only look."""

    @Verb
    def search(
        self,
        query: str,
        *,
        project: str | None = None,
        scope: ScopeName | None = None,
        type: TypeName | None = None,  # noqa: A002  # the word of the contract
        status: str | None = None,
        tag: str | None = None,
        since: str | None = None,
        until: str | None = None,
        limit: int | None = None,
    ) -> Ask[Listing[Found]]:
        """The memories that fit a question best, the best first; 20 at most unless `limit` says otherwise.

        status: one, several with commas, or `all`. since, until: `2026-01-31`, an ISO time, or `90d` back from now.
        """
        return self._asked(
            "search", Listing[Found], query=query, cwd=self.here, project=project, scope=scope, type=type,
            status=status, tag=tag, since=since, until=until, limit=limit,
        )  # fmt: skip

    @Verb
    def list(
        self,
        *,
        project: str | None = None,
        scope: ScopeName | None = None,
        type: TypeName | None = None,  # noqa: A002
        status: str | None = None,
        tag: str | None = None,
        limit: int | None = None,
    ) -> Ask[Listing[Memory]]:
        """The memories of a project and of the user, pinned ones first, then the newest."""
        return self._asked(
            "list", Listing[Memory], cwd=self.here, project=project, scope=scope, type=type, status=status, tag=tag,
            limit=limit,
        )  # fmt: skip

    @Verb
    def browse(
        self,
        *,
        project: str | None = None,
        scope: ScopeName | None = None,
        type: TypeName | None = None,  # noqa: A002
        status: str | None = None,
        tag: str | None = None,
        sort: Literal["newest", "oldest", "used"] = "newest",
        cursor: str | None = None,
        limit: int = 50,
    ) -> Ask[Listed]:
        """A page of memories and how many there are; the next one begins at its `next_cursor`."""
        return self._asked(
            "browse", Listed, cwd=self.here, project=project, scope=scope, type=type, status=status, tag=tag, sort=sort,
            cursor=cursor, limit=limit,
        )  # fmt: skip

    @Verb
    def show(self, id: str) -> Ask[Memory]:  # noqa: A002
        """One memory with all that is known of it."""
        return self._asked("show", Memory, id=id)

    @Verb
    def history(self, id: str) -> Ask[Listing[Event]]:  # noqa: A002
        """What a memory was before, who changed it, and when; oldest first."""
        return self._asked("history", Listing[Event], id=id)

    @Verb
    def why(self, session: str | None = None, *, project: str | None = None) -> Ask[Explained]:
        """The last receipt of a session (by the beginning of its id), else of the project.

        Raises InputError where nothing was injected yet.
        """
        return self._asked("why", Explained, session=session, project=project, cwd=self.here)

    @Verb
    def receipts(
        self, *, project: str | None = None, session: str | None = None, before: int | None = None, limit: int = 50
    ) -> Ask[Receipts]:
        """A page of what was given to Claude, the newest first; the next one is `before` its `next`."""
        return self._asked(
            "receipts", Receipts, cwd=self.here, project=project, session=session, before=before, limit=limit
        )

    @Verb
    def receipt(self, number: int) -> Ask[Explained]:
        """One injection: what was considered, and why it was given or not."""
        return self._asked("receipt", Explained, id=number)

    @Verb
    def stats(self, days: int = 30, *, project: str | None = None) -> Ask[Stats]:
        """Memories, injections and their use, extraction and its cost, by day; of all projects unless one is named."""
        return self._asked("stats", Stats, days=days, project=project, cwd=self.here)

    @Verb
    def inbox(self, *, project: str | None = None) -> Ask[Listing[Memory]]:
        """What waits for a person's yes or no."""
        return self._asked("inbox", Listing[Memory], project=project, cwd=self.here)

    @Verb
    def conflicts(self, *, project: str | None = None) -> Ask[Listing[Conflict]]:
        """The pairs of memories that cannot both hold and wait to be settled."""
        return self._asked("conflicts", Listing[Conflict], project=project, cwd=self.here)

    @Verb
    def projects(self) -> Ask[Listing[ProjectInfo]]:
        """All known projects, the last seen first."""
        return self._asked("projects", Listing[ProjectInfo])

    @Verb
    def tags(self, *, project: str | None = None) -> Ask[Listing[TagCount]]:
        """The tags in use, the most used first."""
        return self._asked("tags", Listing[TagCount], project=project, cwd=self.here)

    @Verb
    def status(self) -> Ask[DaemonStatus]:
        """What the daemon is doing."""
        return self._asked("status", DaemonStatus)

    @Verb
    def export_page(self, *, project: str | None = None, after: int = 0, limit: int = 1_000) -> Ask[Page]:
        """A part of an export: what follows `after`, the `next` of the page before."""
        return self._asked("export", Page, project=project, cwd=self.here, after=after, limit=limit)
