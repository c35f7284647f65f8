"""Where specifications lie that are handed over beside the checkout."""

from __future__ import annotations

import os
from pathlib import Path

SHARED = Path(os.environ.get("SLURM_SIM_SHARED") or Path(__file__).resolve().parents[2].parent / "shared")
GOLDEN = SHARED / "spec" / "golden.yaml"
