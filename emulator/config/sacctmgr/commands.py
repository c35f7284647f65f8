"""Commands of ``sacctmgr`` that change something: ``add``, ``modify`` and ``delete``.

A command is data: its words are looked up in tables, and nothing is run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from emulator.config.sacctmgr.database import ROOT, Accounts, Association, Qos
from emulator.config.sacctmgr.statements import Statement, state, statement
from emulator.config.sacctmgr.words import ASSOCIATION, QOS
from emulator.config.slurm.location import Location
from slurm_sim_plugins.errors import InputError, meant

_VERBS = {
    "add": "add",
    "create": "add",
    "modify": "modify",
    "update": "modify",
    "delete": "delete",
    "remove": "delete",
    **dict.fromkeys(("list", "show", "dump", "version", "exit", "quit", "problem", "help", "ping"), ""),
    **dict.fromkeys(("archive", "clear", "reconfigure", "shutdown", "associations", "verbose", "quiet"), ""),
}
"""What each word means; nothing for those that change nothing."""
_ENTITIES = {
    "account": "account",
    "accounts": "account",
    "acct": "account",
    "user": "user",
    "users": "user",
    "qos": "qos",
    "cluster": "cluster",
    "clusters": "cluster",
    "coordinator": "",
    "coordinators": "",
    "tres": "",
    "wckey": "",
    "federation": "",
    "federations": "",
    "job": "",
    "jobs": "",
}
"""What each word means; nothing for those that no schedule depends on."""
_ELSEWHERE = {
    "load": "give the file that is loaded to --accounts, before this one",
    "resource": "licences are those of Licenses in slurm.conf",
}
"""What is not done by commands here, and where it is done."""
_WHO = {
    "name": "name",
    "names": "name",
    "user": "user",
    "users": "user",
    "account": "account",
    "accounts": "account",
    "acct": "account",
    "cluster": "cluster",
    "clusters": "cluster",
    "partition": "partition",
    "partitions": "partition",
    "parent": "parent",
    "parents": "parent",
    "defaultaccount": "default",
    "defaultacct": "default",
}
"""What says of whom something is said."""


@dataclass
class _Command:
    """A command, taken apart.

    Attributes:
        who: names by what they name, in lower case (but for partitions).
        statements: what is said of them.
        location: where it stands, or None.
    """

    who: dict[str, list[str]] = field(default_factory=dict)
    statements: list[Statement] = field(default_factory=list)
    location: Location | None = None

    def names(self, *kinds: str) -> list[str]:
        """Names of the first of these kinds that there are."""
        return next((self.who[kind] for kind in kinds if self.who.get(kind)), [])


def sacctmgr(words: Sequence[str], accounts: Accounts, location: Location | None = None) -> None:
    """Carry out one command.

    Args:
        words: those of the command; ``sacctmgr`` itself and flags such as ``-i`` may come first.
        accounts: what it changes.
        location: where it stands.

    Raises:
        InputError: it is not known, or cannot be carried out; nothing is changed then.
    """
    rest = [word for word in words if not word.startswith("-") or "=" in word]
    rest = rest[1:] if rest[:1] == ["sacctmgr"] else rest
    verb = _looked_up(_VERBS, rest[0], "commands of sacctmgr") if rest else ""
    if not verb:
        return
    if len(rest) < 2:
        raise InputError(f"{rest[0]}: say what: account, user, qos or cluster")
    entity = _looked_up(_ENTITIES, rest[1], "things that commands of sacctmgr are about")
    if not entity:
        return
    command = _parse(verb, entity, rest[2:], location)
    clusters = command.names("name") if entity == "cluster" else command.names("cluster")
    if accounts.cluster and clusters and accounts.cluster not in clusters:
        return
    _ACTIONS[verb, entity](command, accounts)
    accounts.version += 1


def _looked_up(table: Mapping[str, str], word: str, what: str) -> str:
    found = table.get(word.lower())
    if found is None and word.lower() in _ELSEWHERE:
        raise InputError(f"{word!r} is not done here: {_ELSEWHERE[word.lower()]}")
    if found is None:
        raise InputError(f"{word!r} is none of the {what}{meant(word, table)}")
    return found


def _parse(verb: str, entity: str, words: Iterable[str], location: Location | None) -> _Command:
    """Before ``set`` a modification says of whom; elsewhere names and statements are told apart by their key."""
    command, setting = _Command(location=location), verb != "modify"
    vocabulary = QOS if entity == "qos" else ASSOCIATION
    for word in words:
        if word.lower() in ("set", "where"):
            setting = word.lower() == "set" or verb != "modify"
            continue
        key, equals, text = word.partition("=")
        kind = _WHO.get(key.rstrip("+-").lower()) if equals else "name"
        if kind == "default":
            kind = "default" if setting else None
        elif kind == "parent" and setting:
            kind = None
        elif kind is not None and setting and verb == "modify" and equals:
            raise InputError(f"{key} cannot be set")
        if kind is not None:
            command.who.setdefault(kind, []).extend(_names(text if equals else word, kind))
        elif verb == "delete" or not setting:
            raise InputError(f"{key!r} does not say of whom: accepted are {', '.join(sorted(set(_WHO.values())))}")
        else:
            command.statements.append(statement(word, vocabulary))
    return command


def _names(text: str, kind: str) -> list[str]:
    names = [name for name in text.split(",") if name]
    return names if kind == "partition" else [name.lower() for name in names]


def _needed(command: _Command, *kinds: str) -> list[str]:
    names = command.names(*kinds)
    if not names:
        raise InputError(f"say of whom: {kinds[0]}=NAME")
    return names


# Accounts


def _add_account(command: _Command, accounts: Accounts) -> None:
    for name in _needed(command, "name", "account"):
        if accounts.account(name) is not None:
            raise InputError(f"there is an account {name!r} already")
    parent = ROOT
    for one in command.statements:
        parent = one.text.lower() if one.name == "Parent" else parent
    above = _account(parent, accounts, " to be the parent")
    _check_qos(command.statements, accounts)
    for name in command.names("name", "account"):
        accounts.associations["", name, ""] = account = Association(
            location=command.location, account=name, parent=above.account
        )
        state(account, _but_parent(command.statements), accounts)


def _but_parent(statements: Iterable[Statement]) -> list[Statement]:
    return [one for one in statements if one.name != "Parent"]


def _account(name: str, accounts: Accounts, purpose: str = "") -> Association:
    found = accounts.account(name)
    if found is None:
        known = [one.account for one in accounts.associations.values() if not one.user]
        raise InputError(f"there is no account {name!r}{purpose}{meant(name, known)}")
    return found


def _accounts(command: _Command, accounts: Accounts) -> list[Association]:
    """Accounts that a modification is about: those that are named, perhaps by their parents; without names, all."""
    found = [_account(name, accounts) for name in command.names("name", "account")]
    above = [_account(name, accounts).account for name in command.names("parent")]
    if not command.names("name", "account"):
        found = [one for one in accounts.associations.values() if not one.user and one.account != ROOT]
    return [one for one in found if not above or one.parent in above]


def _modify_account(command: _Command, accounts: Accounts) -> None:
    found = _accounts(command, accounts)
    _check_qos(command.statements, accounts)
    for one in command.statements:
        for account in found if one.name == "Parent" else ():
            accounts.move(account, one.text)
    for account in found:
        state(account, _but_parent(command.statements), accounts)


def _delete_account(command: _Command, accounts: Accounts) -> None:
    for name in _needed(command, "name", "account"):
        doomed = _account(name, accounts)
        if doomed.account == ROOT:
            raise InputError("the account 'root' stays")
        below = [one for one in accounts.associations.values() if any(it is doomed for it in accounts.line(one))]
        for association in below:
            accounts.remove(association)


# Users


def _add_user(command: _Command, accounts: Accounts) -> None:
    _check_no_parent(command)
    default = command.names("default")
    # The default account is one of the user's accounts, whether it is among those that are named or not.
    names = list(dict.fromkeys([*command.names("account"), *default]))
    if not names:
        raise InputError("say in which account the user is: account=NAME")
    found = [_account(name, accounts) for name in names]
    _check_qos(command.statements, accounts)
    for user in _needed(command, "name", "user"):
        for account in found:
            for partition in command.names("partition") or [""]:
                _add_association(user, account, partition, command, accounts)
        if default or user not in accounts.default_account:
            accounts.default_account[user] = default[0] if default else found[0].account


def _add_association(user: str, account: Association, partition: str, command: _Command, accounts: Accounts) -> None:
    key = (user, account.account, partition)
    association = accounts.associations.get(key)
    if association is None:
        association = accounts.associations[key] = Association(
            location=command.location, user=user, account=account.account, partition=partition, parent=account.account
        )
    state(association, command.statements, accounts)


def _users(command: _Command, accounts: Accounts, deleted: bool = False) -> list[Association]:
    """Associations of users that a command is about; a modification that names none is about all but root's."""
    users, within = command.names("name", "user"), command.names("account")
    partitions = command.names("partition")
    if deleted and not users and not within:
        raise InputError("say of whom: name=NAME or account=NAME")
    for name in within:
        _account(name, accounts)
    found = [
        one
        for one in accounts.users()
        if one.user in (users or [one.user]) and (one.user != ROOT or users or within)
        if not within or one.account in within
        if not partitions or one.partition in partitions
    ]
    for user in users:
        if not any(one.user == user for one in found):
            known = {one.user for one in accounts.users()}
            raise InputError(f"there is no user {user!r}{' in that account' if within else ''}{meant(user, known)}")
    return found


def _check_no_parent(command: _Command) -> None:
    if any(one.name == "Parent" for one in command.statements):
        raise InputError("a user has no parent but the account: add the user to the other account")


def _modify_user(command: _Command, accounts: Accounts) -> None:
    _check_no_parent(command)
    found = _users(command, accounts)
    _check_qos(command.statements, accounts)
    for name in command.names("default"):
        for one in found:
            if not any(accounts.users(name, one.user)):
                raise InputError(f"user {one.user!r} is not in account {name!r}")
            accounts.default_account[one.user] = name
    for one in found:
        state(one, command.statements, accounts)


def _delete_user(command: _Command, accounts: Accounts) -> None:
    for association in _users(command, accounts, deleted=True):
        accounts.remove(association)


# Qualities of service, and the cluster


def _check_qos(statements: Iterable[Statement], accounts: Accounts) -> None:
    for one in statements:
        names = one.words if one.name in ("QOS", "Preempt") else ((one.text,) if one.name == "DefaultQOS" else ())
        for name in names:
            if name and name.lower() not in accounts.qos:
                raise InputError(f"there is no QOS {name!r}{meant(name, accounts.qos)}")


def _add_qos(command: _Command, accounts: Accounts) -> None:
    _check_qos(command.statements, accounts)
    for name in _needed(command, "name"):
        if name in accounts.qos and name not in accounts.named:
            raise InputError(f"there is a QOS {name!r} already")
        accounts.named.discard(name)
        accounts.qos[name] = Qos(location=command.location, name=name)
        state(accounts.qos[name], command.statements, accounts)


def _modify_qos(command: _Command, accounts: Accounts) -> None:
    found = []
    for name in command.names("name") or accounts.qos:
        if name not in accounts.qos:
            raise InputError(f"there is no QOS {name!r}{meant(name, accounts.qos)}")
        found.append(accounts.qos[name])
        accounts.named.discard(name)
    _check_qos(command.statements, accounts)
    for qos in found:
        state(qos, command.statements, accounts)


def _delete_qos(command: _Command, accounts: Accounts) -> None:
    for name in _needed(command, "name"):
        if accounts.qos.pop(name, None) is None:
            raise InputError(f"there is no QOS {name!r}{meant(name, accounts.qos)}")
        accounts.named.discard(name)
        for record in (*accounts.associations.values(), *accounts.qos.values()):
            record.forget_qos(name)


def _set_cluster(command: _Command, accounts: Accounts) -> None:
    """What is said of a cluster is said of its account root."""
    _needed(command, "name")
    _check_qos(command.statements, accounts)
    state(_account(ROOT, accounts), command.statements, accounts)


def _delete_cluster(command: _Command, accounts: Accounts) -> None:
    raise InputError("a cluster cannot be deleted here: read another file")


_ACTIONS: Mapping[tuple[str, str], Callable[[_Command, Accounts], None]] = {
    ("add", "account"): _add_account,
    ("modify", "account"): _modify_account,
    ("delete", "account"): _delete_account,
    ("add", "user"): _add_user,
    ("modify", "user"): _modify_user,
    ("delete", "user"): _delete_user,
    ("add", "qos"): _add_qos,
    ("modify", "qos"): _modify_qos,
    ("delete", "qos"): _delete_qos,
    ("add", "cluster"): _set_cluster,
    ("modify", "cluster"): _set_cluster,
    ("delete", "cluster"): _delete_cluster,
}
