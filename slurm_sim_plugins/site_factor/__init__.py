"""Bundled plugins of the PrioritySiteFactorPlugin slot: ``site_factor/<name>`` lies in ``<name>.py``."""
