"""Models that generate workloads."""
