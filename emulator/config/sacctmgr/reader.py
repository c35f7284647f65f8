"""Reading accounts: a file that ``sacctmgr dump`` wrote, or a script of ``sacctmgr`` commands.

A dump has lines such as ``User - 'ann':Fairshare=3:MaxJobs=2``, below the line of the
``Parent`` that they belong to. Lines such as ``QOS - 'high':Priority=5``, which those of newer
versions have, say what a quality of service is; others that are named are made. What a script adds may
refine a dump: several files are read one after the other.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from emulator.config.sacctmgr.commands import sacctmgr
from emulator.config.sacctmgr.database import ROOT, Accounts, Association, Qos
from emulator.config.sacctmgr.statements import Statement, state, statement
from emulator.config.sacctmgr.words import ASSOCIATION, QOS
from emulator.config.slurm.location import Findings, Location
from emulator.files import read_input
from emulator.kinds import ACCOUNTS, reads
from slurm_sim_plugins.errors import InputError

LARGEST_FILE = 64
"""MiB; no file of accounts is larger."""
_DUMPED = re.compile(r"(Cluster|Parent|Account|User|QOS)\s+-\s+(.*)", re.IGNORECASE)
_OWN = ("defaultaccount", "partition")
"""What a dump says of a user beside the words of associations."""
_FIELD = re.compile(r"(?:'[^']*'|\"[^\"]*\"|[^:'\"])+")


@reads(ACCOUNTS)
def read_accounts(*paths: str | os.PathLike[str], cluster: str = "") -> Accounts:
    """Read accounts, users and qualities of service.

    Args:
        paths: files, read one after the other into one tree.
        cluster: whose accounts are wanted; empty for any.

    Raises:
        InputError: a file cannot be read; or all that is wrong, one line a problem, with file and line.
    """
    accounts, findings = Accounts(cluster), Findings()
    for path in paths:
        _read(_text(Path(path)), str(path), accounts, findings)
    findings.check()
    return accounts


def parse_accounts(text: str, source: str = "sacctmgr", cluster: str = "") -> Accounts:
    """The same from a text.

    Raises:
        InputError: all that is wrong, one line a problem, with its line.
    """
    accounts, findings = Accounts(cluster), Findings()
    _read(text, source, accounts, findings)
    findings.check()
    return accounts


def add_accounts(accounts: Accounts, commands: Iterable[str], source: str) -> None:
    """Carry out commands that do not stand in a file.

    Args:
        accounts: what they change.
        commands: as for ``sacctmgr``.
        source: how messages name them; the number of the command stands for the line.

    Raises:
        InputError: all that is wrong, one line a problem.
    """
    findings = Findings()
    for number, command in enumerate(commands, 1):
        _read(command, source, accounts, findings, number)
    findings.check()


def _text(path: Path) -> str:
    content = read_input(path, LARGEST_FILE, "no file of accounts is")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(f"{Location(str(path), line)}: is not text in UTF-8") from error


def _read(text: str, source: str, accounts: Accounts, findings: Findings, first: int = 1) -> None:
    dump = _Dump(accounts)
    for location, line in _lines(text, source, first):
        dumped = _DUMPED.fullmatch(line)
        try:
            if dumped is not None:
                dump.line(dumped[1].lower(), dumped[2], location)
            else:
                sacctmgr(_words(line), accounts, location)
        except InputError as error:
            findings.problem(location, str(error))


def _lines(text: str, source: str, first: int) -> Iterator[tuple[Location, str]]:
    """Lines with something on them; a backslash at the end joins the next one."""
    before, begin = "", 0
    for number, raw in enumerate(text.splitlines(), first):
        line = before + raw.strip()
        begin = begin or number
        if line.endswith("\\"):
            before = line[:-1] + " "
            continue
        if line and not line.startswith("#"):
            yield Location(source, begin), line
        before, begin = "", 0
    if before.strip():
        yield Location(source, begin), before.strip()


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line, comments=True)
    except ValueError as error:
        raise InputError(f"{line!r} is no command: {error}") from None


class _Dump:
    """The lines of a dump: each association belongs to the last parent."""

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts
        self._parent = ROOT
        self._other_cluster = False

    def line(self, kind: str, text: str, location: Location) -> None:
        """Take one line.

        Raises:
            InputError: it is not written as a dump's line is, or names a parent that is not there.
        """
        if text[:1] in ("'", '"') and text.count(text[0]) < 2:
            raise InputError(f"{text[:40]} has no second quote: the line is cut off")
        name, *fields = [_unquoted(part) for part in _FIELD.findall(text)] or [""]
        if not name:
            raise InputError(f"{'QOS' if kind == 'qos' else kind.capitalize()} - needs a name")
        if kind == "qos":
            self._qos(name.lower(), [statement(text, QOS) for text in fields], location)
            return
        if kind == "cluster":
            wanted = self._accounts.cluster
            self._other_cluster = bool(wanted) and name.lower() != wanted
            self._parent = ROOT
        if self._other_cluster:
            return
        options = dict(_own(text) for text in fields)
        try:
            statements = [statement(text, ASSOCIATION) for text in fields if _own(text)[0] not in _OWN]
        except InputError:
            if kind == "account":  # So that what is below it is not wrong, too.
                self._account(name.lower(), [], options, location)
            raise
        self._make_qos(statements)
        _KINDS[kind](self, name.lower(), statements, options, location)
        self._accounts.version += 1

    def _qos(self, name: str, statements: list[Statement], location: Location) -> None:
        """A quality of service is of all clusters; the one called normal is there already."""
        self._make_qos(statements)
        self._accounts.named.discard(name)
        state(self._accounts.qos.setdefault(name, Qos(location=location, name=name)), statements, self._accounts)
        self._accounts.version += 1

    def _make_qos(self, statements: list[Statement]) -> None:
        """A dump names qualities of service that it does not describe, or only later."""
        for one in statements:
            several = one.name in ("QOS", "Preempt")
            for name in one.words if several else ((one.text,) if one.name == "DefaultQOS" else ()):
                name = name.lower()
                if name and name not in self._accounts.qos:
                    self._accounts.qos[name] = Qos(name=name)
                    self._accounts.named.add(name)

    def _cluster(self, name: str, statements: list[Statement], options: Mapping[str, str], location: Location) -> None:
        state(self._accounts.associations["", ROOT, ""], statements, self._accounts)

    def _of_parent(
        self, name: str, statements: list[Statement], options: Mapping[str, str], location: Location
    ) -> None:
        if self._accounts.account(name) is None:
            raise InputError(f"there is no account {name!r} yet to be a parent: it must come before those below it")
        self._parent = name

    def _account(self, name: str, statements: list[Statement], options: Mapping[str, str], location: Location) -> None:
        if self._accounts.account(name) is not None:
            raise InputError(f"there is an account {name!r} already: an account has one parent")
        account = Association(location=location, account=name, parent=self._parent)
        self._accounts.associations[account.key] = account
        state(account, statements, self._accounts)

    def _user(self, name: str, statements: list[Statement], options: Mapping[str, str], location: Location) -> None:
        accounts = self._accounts
        key = (name, self._parent, options.get("partition", ""))
        if key in accounts.associations and name != ROOT:
            raise InputError(f"user {name!r} is in account {self._parent!r} already")
        association = Association(
            location=location, user=name, account=self._parent, partition=key[2], parent=self._parent
        )
        association = accounts.associations.setdefault(key, association)
        state(association, statements, accounts)
        default = options.get("defaultaccount", "").lower()
        if default or name not in accounts.default_account:
            accounts.default_account[name] = default or self._parent


_KINDS: Mapping[str, Callable[[_Dump, str, list[Statement], Mapping[str, str], Location], None]] = {
    "cluster": _Dump._cluster,
    "parent": _Dump._of_parent,
    "account": _Dump._account,
    "user": _Dump._user,
}


def _own(text: str) -> tuple[str, str]:
    key, _, value = text.partition("=")
    return key.strip().lower(), value


def _unquoted(text: str) -> str:
    """Without quotes, which stand around a value."""
    return text.strip().replace("'", "").replace('"', "")
