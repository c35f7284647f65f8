"""``python -m emulator.record``: plays one task once, under the clock that it is given."""

import sys

from emulator.record.player import main

sys.exit(main())
