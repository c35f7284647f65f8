"""What Slurm's controller does around its plugins: the queue, a pass, making room."""
