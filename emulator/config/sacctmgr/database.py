"""What ``sacctmgr`` keeps: associations of users with accounts, in a tree, and qualities of service."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from emulator.config.slurm.location import Location
from emulator.config.slurm.values import Value
from slurm_sim_plugins.errors import InputError

ROOT = "root"
NORMAL = "normal"
"""The quality of service that a new database has."""
FROM_PARENT = None
"""Shares of an association that has those of its parent."""
_PARENT_SHARES = ("parent", "2147483647")
"""How that is written; a dump has the number."""

Key = tuple[str, str, str]
"""(user, account, partition); the user is empty for an account, the partition for all."""


@dataclass(eq=False)
class Record:
    """Values by word.

    Attributes:
        stated: what was said; limits that are cleared are not in it.
        location: where it was said first, or None.
    """

    stated: dict[str, Value] = field(default_factory=dict)
    location: Location | None = None

    def number(self, name: str) -> float | None:
        """A count, a time in seconds, or a factor; None where nothing was said."""
        value = self.stated.get(name)
        return float(value) if isinstance(value, int | float) else None

    def tres(self, name: str) -> Mapping[str, float]:
        """Amounts by resource; none where nothing was said."""
        value = self.stated.get(name)
        return value if isinstance(value, Mapping) else {}

    def words(self, name: str) -> tuple[str, ...] | None:
        """Words; None where nothing was said."""
        value = self.stated.get(name)
        return value if isinstance(value, tuple) else None

    def text(self, name: str) -> str:
        """A word; empty where nothing was said."""
        value = self.stated.get(name)
        return value if isinstance(value, str) else ""

    def forget_qos(self, name: str) -> None:
        """A quality of service is there no longer."""
        for word in ("QOS", "Preempt"):
            if self.words(word) is not None:
                self.stated[word] = tuple(one for one in self.words(word) or () if one != name)
        if self.text("DefaultQOS").lower() == name:
            del self.stated["DefaultQOS"]


@dataclass(eq=False)
class Association(Record):
    """An account, or a user in an account.

    Attributes:
        account: name of the account.
        user: name of the user; empty for the account itself.
        partition: the only partition that it is for; empty for all.
        parent: the account above; of a user's, the account itself.
    """

    account: str = ""
    user: str = ""
    partition: str = ""
    parent: str = ""

    @property
    def key(self) -> Key:
        """What it is known by."""
        return self.user, self.account, self.partition

    @property
    def shares(self) -> int | None:
        """Shares among its siblings; None if it has those of its parent."""
        stated = self.text("Fairshare").lower()
        if stated in _PARENT_SHARES:
            return FROM_PARENT
        return int(stated) if stated else 1


@dataclass(eq=False)
class Qos(Record):
    """A quality of service.

    Attributes:
        name: its name.
    """

    name: str = ""

    @property
    def flags(self) -> frozenset[str]:
        """Its flags, in upper case."""
        return frozenset(word.upper() for word in self.words("Flags") or ())


class Accounts:
    """All of it: names are in lower case, as in Slurm.

    Args:
        cluster: whose accounts they are; empty for any.

    Attributes:
        associations: by key, in the order in which they were made; accounts come before what is below them.
        qos: by name.
        named: qualities of service that a dump names, and nothing has described so far.
        default_account: of each user.
        version: grows with every change.
    """

    def __init__(self, cluster: str = "") -> None:
        self.cluster = cluster.lower()
        self.qos: dict[str, Qos] = {NORMAL: Qos(name=NORMAL)}
        self.named: set[str] = set()
        self.associations: dict[Key, Association] = {}
        self.default_account: dict[str, str] = {}
        self.version = 0
        root = Association(account=ROOT, stated={"QOS": (NORMAL,)})
        for association in (root, Association(account=ROOT, user=ROOT, parent=ROOT)):
            self.associations[association.key] = association
        self.default_account[ROOT] = ROOT

    def remark(self) -> str:
        """What those should know who gave the files; empty for nothing."""
        if not self.named:
            return ""
        names = ", ".join(sorted(self.named))
        return f"QOS that are named and not described, which so have no limits, priority or flags: {names}"

    def account(self, name: str) -> Association | None:
        """An account, or None."""
        return self.associations.get(("", name.lower(), ""))

    def users(self, account: str = "", name: str = "") -> Iterator[Association]:
        """Associations of users, perhaps only those in an account or of a name."""
        for association in self.associations.values():
            if association.user and account in ("", association.account) and name in ("", association.user):
                yield association

    def above(self, association: Association) -> Association | None:
        """The account above, or None for root."""
        return self.associations[("", association.parent, "")] if association.parent else None

    def line(self, association: Association) -> Iterator[Association]:
        """An association and those above it, up to root."""
        here: Association | None = association
        while here is not None:
            yield here
            here = self.above(here)

    def inherited(self, association: Association, name: str) -> Value | None:
        """What is said of an association or, where nothing is, of the nearest one above of which it is said."""
        return next((one.stated[name] for one in self.line(association) if name in one.stated), None)

    def qos_of(self, association: Association) -> tuple[str, ...]:
        """Names of the qualities of service that an association may use."""
        value = self.inherited(association, "QOS")
        return value if isinstance(value, tuple) else ()

    def default_qos(self, association: Association) -> str:
        """The quality of service of a job that names none: the stated one, ``normal`` or the first; perhaps none."""
        stated = self.inherited(association, "DefaultQOS")
        if isinstance(stated, str):
            return stated.lower()
        allowed = self.qos_of(association)
        return NORMAL if NORMAL in allowed else next(iter(allowed), "")

    def association(self, user: str, account: str = "", partition: str = "") -> Association | None:
        """The association of a user with an account (the default one), that for a partition before that for all."""
        user = user.lower()
        account = account.lower() or self.default_account.get(user, "")
        own = self.associations.get((user, account, partition)) if user else None
        return own or (self.associations.get((user, account, "")) if user else None)

    def remove(self, association: Association) -> None:
        """Take out an association; what is below it must go as well."""
        del self.associations[association.key]
        user = association.user
        if (
            user
            and self.default_account.get(user) == association.account
            and not any(self.users(association.account, user))
        ):
            following = next(self.users(name=user), None)
            if following is None:
                del self.default_account[user]
            else:
                self.default_account[user] = following.account

    def move(self, account: Association, parent: str) -> None:
        """Put an account below another one.

        Raises:
            InputError: there is no such account, or it is below this one.
        """
        above = self.account(parent)
        if above is None:
            raise InputError(f"there is no account {parent!r} to be the parent of {account.account!r}")
        if any(other is account for other in self.line(above)):
            raise InputError(
                f"{parent!r} cannot be the parent of {account.account!r}: it is below it, and the tree would be a ring"
            )
        account.parent = above.account
