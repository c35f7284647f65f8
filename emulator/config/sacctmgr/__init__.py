"""Accounts, users and qualities of service, as ``sacctmgr`` keeps them.

:func:`read_accounts` reads a dump or a script of commands, :class:`Accounts` is what it
gives, and :data:`~emulator.config.sacctmgr.words.ASSOCIATION` and
:data:`~emulator.config.sacctmgr.words.QOS` say what the emulator makes of each word.
"""

from __future__ import annotations

from emulator.config.sacctmgr.database import Accounts, Association, Qos
from emulator.config.sacctmgr.reader import parse_accounts, read_accounts

__all__ = ["Accounts", "Association", "Qos", "parse_accounts", "read_accounts"]
