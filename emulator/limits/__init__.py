"""What accounts and qualities of service allow: associations, limits, past usage, shares."""
