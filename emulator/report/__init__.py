"""Tables, plots and pages about finished runs."""
