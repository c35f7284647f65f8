"""Bundled plugins of the list JobSubmitPlugins: ``job_submit/<name>`` lies in ``<name>.py``."""
