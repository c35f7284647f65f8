"""Values of which percentiles are worked by hand."""

from __future__ import annotations

TWELVE = [0.10, 0.20, 0.25, 0.30, 0.40, 0.45, 0.50, 0.60, 0.70, 0.80, 0.90, 1.0]
"""What twelve jobs used of their requests."""
PERCENTILES = (50, 70, 80, 85, 90, 95, 100)
