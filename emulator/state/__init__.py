"""The state of the simulated cluster: jobs, nodes, partitions, reservations; and which changes of jobs are legal."""
