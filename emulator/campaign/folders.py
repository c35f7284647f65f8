"""Where the files that a campaign file names may lie."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from slurm_sim_plugins.errors import ConfigurationError, InputError


class SearchFolders:
    """Folders that the user named; nothing outside is opened, whatever a file says.

    Args:
        folders: in the order in which they are looked through.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = [folder.resolve() for folder in folders]

    def find(self, name: str, stated: str) -> Path:
        """The file of a name, with its whole path.

        Args:
            name: as a file states it: relative, with slashes.
            stated: where it is stated, for messages.

        Raises:
            ConfigurationError: the name leads out of the folders.
            InputError: there is no such file.
        """
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or not path.parts or "\\" in name or "\0" in name:
            raise ConfigurationError(
                f"{stated}: {name!r} leads out of the folder; name a file in it, and other folders with --traces"
            )
        for folder in self._folders:
            file = folder.joinpath(*path.parts)
            if not os.path.isfile(file):
                continue
            found = file.resolve()
            if not found.is_relative_to(folder):
                raise ConfigurationError(f"{stated}: {name!r} is a link out of {folder}; name its folder with --traces")
            return found
        looked = ", ".join(map(str, self._folders))
        raise InputError(f"{stated}: there is no file {name!r} in {looked}; name its folder with --traces")
