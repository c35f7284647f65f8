"""What an operator asks for: commands of scontrol, and their times."""
