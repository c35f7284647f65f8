"""Bundled plugins of the BackfillType slot: ``backfill/<name>`` lies in ``<name>.py``."""
