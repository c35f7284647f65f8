"""What pyproject.toml cannot say: which modules are compiled, where that can be done."""

import sys
from pathlib import Path

from setuptools import setup

sys.path.insert(0, str(Path(__file__).resolve().parent / "contrib" / "building"))

from building import BuildKernels, extensions

setup(ext_modules=extensions(), cmdclass={"build_ext": BuildKernels})
