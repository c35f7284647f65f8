"""How far from the best schedule: the offline optimum of small workloads.

Every job is known beforehand. Batch jobs may be preempted once, real-time jobs not at all;
the sum of the batch jobs' slowdowns is to be the least there is while the real-time jobs'
mean slowdown keeps below a bound. Source: the paper on real-time jobs on Mira, section 5.
"""
