"""Print the tests that a run skipped, as pytest takes them: ``python .ci/skipped.py REPORT``.

The report is that of ``pytest --junitxml=REPORT``. A module that was skipped as a whole is named as a file.
"""

import sys
from pathlib import Path
from xml.etree import ElementTree

for case in ElementTree.parse(sys.argv[1]).iter("testcase"):  # noqa: S314 - our own report
    if case.find("skipped") is not None:
        module, name = case.get("classname") or case.get("name"), case.get("name")
        file = Path(*module.split(".")).with_suffix(".py")
        sys.stdout.write(f"{file}::{name}\n" if case.get("classname") else f"{file}\n")
