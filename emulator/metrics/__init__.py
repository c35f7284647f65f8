"""Metrics: pure functions of the records, all of them numpy.

:mod:`~emulator.metrics.jobs` gives one value a job, :mod:`~emulator.metrics.machine` one value
a run of the emulator, and :mod:`~emulator.metrics.summary` all that tables show.
"""
