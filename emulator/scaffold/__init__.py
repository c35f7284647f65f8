"""Write a new plugin as a package: one module, its tests, an entry point, a README."""

from __future__ import annotations

import importlib.resources
import keyword
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from emulator.files import make_folder, write_atomically
from slurm_sim_plugins.errors import ConfigurationError, OutputError
from slurm_sim_plugins.hookspecs import SPECS
from slurm_sim_plugins.manager import bundled_names

FAMILIES = tuple(SPECS)
"""Types of plugins, for each of which there is a template."""
TAKEN = frozenset({"conftest", "emulator", "setup", "slurm_sim_plugins", "test", "tests"})
"""Modules that a plugin must not be called like."""
NAME = re.compile(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*")


@dataclass(frozen=True)
class Names:
    """What the parts of a new package are called.

    Attributes:
        package: the distribution and its folder, such as ``my-policy``.
        module: ``my_policy``.
        factory: the class, ``MyPolicy``.
        plugin: ``priority/my_policy``.
        family: ``priority``.
        option: the option of ``slurm-sim run`` that selects it; empty for an observer.
    """

    package: str
    module: str
    factory: str
    plugin: str
    family: str
    option: str

    @classmethod
    def of(cls, name: str, family: str) -> Names:
        """Names that follow from the one that was given.

        Raises:
            ConfigurationError: the name cannot be a package's and a module's.
        """
        if not NAME.fullmatch(name):
            raise ConfigurationError(
                f"{name!r} cannot be the name of a package; use lower-case letters, digits and single hyphens, "
                "such as short-jobs-first"
            )
        if family not in FAMILIES:
            raise ConfigurationError(f"there is no family {family!r}; families are {', '.join(FAMILIES)}")
        module = name.replace("-", "_")
        if keyword.iskeyword(module) or module in TAKEN or module in sys.stdlib_module_names:
            raise ConfigurationError(f"{name!r} would hide another module of the name {module}; choose another name")
        plugin = f"{family}/{module}"
        if plugin in bundled_names():
            raise ConfigurationError(f"{plugin} is bundled already; choose another name")
        option = "" if family == "observer" else "--scheduler" if family == "sched" else f"--{family.replace('_', '-')}"
        return cls(name, module, "".join(map(str.capitalize, re.split("[-_]", name))), plugin, family, option)


def write_package(name: str, family: str, into: Path) -> list[Path]:
    """Write a new package into a folder of its name.

    Args:
        name: of the package, such as ``short-jobs-first``.
        family: type of the plugin, such as ``priority``.
        into: the folder that is to hold the package's folder.

    Returns:
        The files that were written.

    Raises:
        ConfigurationError: the name cannot be used.
        OutputError: there is something of that name, or it cannot be written.
    """
    names = Names.of(name, family)
    folder = into / names.package
    if folder.exists():
        raise OutputError(f"{folder}: is there already, and nothing is overwritten; choose another name or folder")
    files = []
    for path, text in _contents(names):
        file = folder / path
        make_folder(file.parent)
        write_atomically(file, lambda stream, text=text: stream.write(text.encode()))  # type: ignore[misc]
        files.append(file)
    return files


def _contents(names: Names) -> Iterator[tuple[str, str]]:
    """Path and text of each file."""
    import jinja2

    def read(template: str) -> str:
        return importlib.resources.files(__package__).joinpath(template).read_text(encoding="utf-8")

    environment = jinja2.Environment(  # noqa: S701 - Python and TOML, of names that were checked
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        loader=jinja2.FunctionLoader(read),
    )
    targets = {
        "pyproject.toml": "pyproject.toml.j2",
        "README.md": "README.md.j2",
        f"{names.module}.py": f"{names.family}.py.j2",
        f"tests/test_{names.module}.py": f"test_{names.family}.py.j2",
    }
    for path, template in targets.items():
        yield path, environment.get_template(template).render(vars(names))
