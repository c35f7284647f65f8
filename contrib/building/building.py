"""How the distribution is built: setuptools' backend, and kernels that Cython and a C compiler make of plain Python.

Where no compiler is found but Python's headers are, the wheel ``ziglang`` is asked for: it holds one. Where nothing
works, the product is built all the same, for each kernel runs as plain Python too; one line says so.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path

from setuptools import Extension, build_meta
from setuptools.build_meta import *  # noqa: F403 - the hooks of a build backend
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parents[2]
KERNELS: list[str] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["slurm-sim"][
    "kernels"
]
"""Modules to compile, by their names with dots."""
DIRECTIVES = {
    "language_level": "3",
    "annotation_typing": False,  # C types stand in the .pxd alone
    "infer_types": True,
    "boundscheck": False,
    "wraparound": False,
    "initializedcheck": False,
}
"""Options of Cython; integers are divided as Python divides them, for that is its default."""
DIMENSIONS = 3
"""One more than columns have at most: what hands on a column copies that many lengths and strides, eight by default."""
FLAGS = ["-O3", "-g0", "-fwrapv", "-ffp-contract=off"]
"""No symbols for debuggers, which make it five times as large; whole numbers overflow as numpy's do, and a product is
rounded before it is added to something."""
ZIG = [sys.executable, "-m", "ziglang", "cc"]
ZIG_FLAGS = ["-fPIC", "-mcpu=baseline", "-fno-sanitize=undefined", "-DNDEBUG"]
BUILDS = {"bdist_wheel", "editable_wheel", "build", "build_ext", "install"}
"""Commands of setuptools that compile; others are run before what a build needs has been installed."""
PROBE = "#include <Python.h>\nint main(void) { return 0; }\n"


def get_requires_for_build_wheel(config_settings: Mapping[str, object] | None = None) -> list[str]:
    """What a build needs beside what pyproject.toml states."""
    return [*build_meta.get_requires_for_build_wheel(config_settings), *_compiler_wheel()]


def get_requires_for_build_editable(config_settings: Mapping[str, object] | None = None) -> list[str]:
    """As for a wheel."""
    return [*build_meta.get_requires_for_build_editable(config_settings), *_compiler_wheel()]


def _compiler_wheel() -> list[str]:
    headers = any(Path(folder, "Python.h").is_file() for folder in _headers())
    return ["ziglang"] if headers and find_compiler() is None else []


def find_compiler() -> list[str] | None:
    """The command of the first C compiler that compiles what includes Python's headers, or None."""
    named = [os.environ.get("CC"), sysconfig.get_config_var("CC"), "cc", "gcc", "clang"]
    for command in [*(shlex.split(name) for name in named if name), ZIG]:
        if command and shutil.which(command[0]) and _works(command):
            return command
    return None


def _works(command: list[str]) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "probe.c"
        source.write_text(PROBE, encoding="utf-8")
        includes = [f"-I{path}" for path in _headers()]
        call = [*command, *includes, "-c", str(source), "-o", str(source.with_suffix(".o"))]
        return subprocess.run(call, capture_output=True, check=False).returncode == 0  # noqa: S603


def _headers() -> list[str]:
    return [sysconfig.get_path("include"), sysconfig.get_path("platinclude")]


def extensions() -> list[Extension]:
    """The kernels, if they can be compiled here."""
    missing = _missing()
    if missing:
        if BUILDS & set(sys.argv):
            _say(missing)
        return []
    return [Extension(name, [name.replace(".", "/") + ".py"], extra_compile_args=FLAGS) for name in KERNELS]


def _missing() -> str:
    try:
        import Cython.Build  # noqa: F401
    except ImportError:
        return "Cython is not installed"
    return "" if find_compiler() else "no C compiler that finds Python.h"


def _say(why: str) -> None:
    sys.stderr.write(f"slurm-sim-plugins: kernels are not compiled and run as plain Python: {why}\n")


class BuildKernels(build_ext):
    """Compiles the kernels; notes from which sources."""

    def run(self) -> None:
        """Compile, if anything has changed; where that fails, say so and go on without."""
        sys.path.insert(0, str(ROOT / "slurm_sim_plugins"))
        import kernels

        inside = kernels.built_list(ROOT if self.inplace else Path(self.build_lib))
        digests = json.dumps({name: kernels.digest(name, ROOT) for name in KERNELS}, indent=1)
        if self.inplace and not self.force and self._stand(inside, digests):
            return
        try:
            self._translate()
            super().run()
        except Exception as error:  # whatever a compiler, or Cython, does not like
            _say(str(error).strip().splitlines()[0])
            self.extensions = []
            return
        inside.parent.mkdir(parents=True, exist_ok=True)
        inside.write_text(digests, encoding="utf-8")

    def _stand(self, built: Path, digests: str) -> bool:
        """Whether all kernels stand beside their sources, compiled from what these are now."""
        there = all((ROOT / self.get_ext_filename(name)).is_file() for name in KERNELS)
        return there and built.is_file() and built.read_text(encoding="utf-8") == digests

    def _translate(self) -> None:
        from Cython.Compiler import Options

        Options.buffer_max_dims = DIMENSIONS  # Read as other modules of Cython are imported.
        from Cython.Build import cythonize

        folder = str(Path(self.build_temp) / "c")
        translated = cythonize(self.extensions, build_dir=folder, compiler_directives=DIRECTIVES, quiet=True)
        for extension, made in zip(self.extensions, translated, strict=True):
            extension.sources = made.sources

    def build_extensions(self) -> None:
        """Compile with the compiler that was found, several at once."""
        command = find_compiler()
        usual = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "")
        if command and command != usual:
            flags = ZIG_FLAGS if command == ZIG else ["-fPIC", "-DNDEBUG"]
            self.compiler.set_executables(
                compiler_so=[*command, *flags], compiler=[*command, *flags], linker_so=[*command, "-shared"]
            )
        self.parallel = self.parallel or os.cpu_count()
        super().build_extensions()
