"""What is kept of a simulation: event log, job records, run folder."""
