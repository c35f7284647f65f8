"""Why did a job wait, and who decided? Told from the event log of a run that was made with ``explain``."""
