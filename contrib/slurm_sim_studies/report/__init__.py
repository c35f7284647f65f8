"""Tables, pictures and pages of studies."""
