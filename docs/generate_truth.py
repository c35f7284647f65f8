"""Write the list of scenarios in ``truth.md`` beside this file.

``python docs/generate_truth.py FOLDER`` runs the recorded scenarios of that folder.
"""

from __future__ import annotations

import sys
from pathlib import Path

from emulator.report.truth import markdown
from emulator.truth import judge, read_known
from emulator.truth.verdict import why_not_compared
from emulator.workload.scenario_reader import read_scenarios

HERE = Path(__file__).parent
KNOWN = HERE.parent / "tests" / "truth" / "known.toml"
BEGIN = "<!-- scenarios -->\n"
END = "\n<!-- end of scenarios -->"


def main() -> int:
    """Run the scenarios, and write what came of them."""
    if len(sys.argv) != 2:
        sys.stderr.write("usage: python docs/generate_truth.py FOLDER\n")
        return 2
    known = read_known(KNOWN)
    scenarios = list(read_scenarios(sys.argv[1]))
    skipped = [(scenario.name, why) for scenario in scenarios if (why := why_not_compared(scenario, known))]
    names = {name for name, _ in skipped}
    verdicts = [judge(scenario, known, search=True) for scenario in scenarios if scenario.name not in names]
    page = HERE / "truth.md"
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    page.write_text(before + BEGIN + markdown(verdicts, known, skipped) + END + after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
