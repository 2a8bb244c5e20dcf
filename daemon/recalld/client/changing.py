"""What the library can ask that changes memories."""

from __future__ import annotations

from typing import Literal

from recalld.answers import Resolved, Undone
from recalld.client.asking import Ask, Asking, Listing, ScopeName, TypeName, Verb
from recalld.model import Memory, Scope, Type


class Changing(Asking):
    """Verbs that change memories."""

    @Verb
    def add(
        self,
        text: str,
        *,
        type: TypeName = Type.FACT,  # noqa: A002
        scope: ScopeName = Scope.PROJECT,
        tags: tuple[str, ...] = (),
        project: str | None = None,
        pin: bool = False,
        expires: str | None = None,
    ) -> Ask[Memory]:
        """Store a sentence; one that is known already is only seen again. expires: `2026-12-31`, `90d`, `12h`."""
        return self._asked(
            "add", Memory, text=text, cwd=self.here, project=project, type=type, scope=scope, tags=tags, pin=pin,
            expires=expires,
        )  # fmt: skip

    @Verb
    def edit(self, id: str, text: str, *, version: int | None = None) -> Ask[Memory]:  # noqa: A002
        """Put another sentence in a memory's place.

        version: the one that was seen; ConflictError where the stored one is another by now.
        """
        return self._asked("edit", Memory, id=id, text=text, version=version)

    @Verb
    def patch(
        self,
        id: str,  # noqa: A002
        *,
        version: int | None = None,
        content: str | None = None,
        type: TypeName | None = None,  # noqa: A002
        tags: tuple[str, ...] | None = None,
        pinned: bool | None = None,
        scope: ScopeName | None = None,
        project: str | None = None,
        expires: str | None = None,
        local_only: bool | None = None,
    ) -> Ask[Memory]:
        """Change any fields of a memory at once. version: as in `edit`. expires: as in `add`; "" for no end.

        local_only: whether it is kept from the hub and from remote models.
        """
        return self._asked(
            "patch", Memory, id=id, version=version, content=content, type=type, tags=tags, pinned=pinned, scope=scope,
            project=project, expires=expires, local_only=local_only,
        )  # fmt: skip

    @Verb
    def delete(self, *ids: str) -> Ask[Listing[Memory]]:
        """Delete memories for good; returns what they were."""
        return self._asked("delete", Listing[Memory], ids=ids)

    @Verb
    def pin(self, *ids: str) -> Ask[Listing[Memory]]:
        """Have memories given to every session of their scope, first of all."""
        return self._asked("pin", Listing[Memory], ids=ids)

    @Verb
    def unpin(self, *ids: str) -> Ask[Listing[Memory]]:
        """Take `pin` back."""
        return self._asked("unpin", Listing[Memory], ids=ids)

    @Verb
    def archive(self, *ids: str) -> Ask[Listing[Memory]]:
        """Take memories out of force; they stay readable."""
        return self._asked("archive", Listing[Memory], ids=ids)

    @Verb
    def restore(self, *ids: str) -> Ask[Listing[Memory]]:
        """Bring archived and superseded memories back into force."""
        return self._asked("restore", Listing[Memory], ids=ids)

    @Verb
    def confirm(self, *ids: str) -> Ask[Listing[Memory]]:
        """Let memories of the inbox count; returns what holds each of them now."""
        return self._asked("confirm", Listing[Memory], ids=ids)

    @Verb
    def reject(self, *ids: str) -> Ask[Listing[Memory]]:
        """Delete memories of the inbox; they are not proposed again."""
        return self._asked("reject", Listing[Memory], ids=ids)

    @Verb
    def move(self, *ids: str, project: str | None = None, scope: ScopeName | None = None) -> Ask[Listing[Memory]]:
        """Let memories hold in another project, everywhere (`user`), or for the team (`org`)."""
        return self._asked("move", Listing[Memory], ids=ids, project=project, scope=scope, cwd=self.here)

    @Verb
    def tag(self, id: str, *, add: tuple[str, ...] = (), remove: tuple[str, ...] = ()) -> Ask[Memory]:  # noqa: A002
        """Change a memory's tags."""
        return self._asked("tag", Memory, id=id, add=add, remove=remove)

    @Verb
    def retag(self, *ids: str, add: tuple[str, ...] = (), remove: tuple[str, ...] = ()) -> Ask[Listing[Memory]]:
        """`tag` for several memories, or for none of them."""
        return self._asked("retag", Listing[Memory], ids=ids, add=add, remove=remove)

    @Verb
    def rename_tag(self, old: str, new: str, *, project: str | None = None) -> Ask[Listing[Memory]]:
        """Give a tag another name; returns the memories that have it."""
        return self._asked("tags-rename", Listing[Memory], old=old, new=new, project=project, cwd=self.here)

    @Verb
    def feedback(self, id: str, verdict: Literal["useful", "useless", "missed"]) -> Ask[Memory]:  # noqa: A002
        """Say whether a memory was of use; `missed`: the project's last prompt should have been given it."""
        return self._asked("feedback", Memory, id=id, verdict=verdict, cwd=self.here)

    @Verb
    def resolve(self, conflict: int, keep: Literal["A", "B", "both"]) -> Ask[Resolved]:
        """Settle a conflict by its number: A is the older memory, B the newer; the other one is superseded."""
        return self._asked("resolve", Resolved, conflict=conflict, keep=keep)

    @Verb
    def undo(self) -> Ask[Undone]:
        """Take back what was learnt last. Raises InputError where there is nothing."""
        return self._asked("undo", Undone)
