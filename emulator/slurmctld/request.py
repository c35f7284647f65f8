"""What a job asks for: the options of ``sbatch`` that decide when and where it runs."""

from __future__ import annotations

from dataclasses import dataclass, field

UNLIMITED = float("inf")


@dataclass(frozen=True, slots=True)
class Dependency:
    """One condition on another job.

    Attributes:
        kind: ``after``, ``afterok``, ``afternotok``, ``afterany``, ``aftercorr`` or ``singleton``.
        job: the other job's id; 0 for ``singleton``.
        delay: seconds after the other job's start, for ``after``.
    """

    kind: str
    job: int = 0
    delay: float = 0.0


@dataclass(frozen=True, slots=True)
class JobRequest:
    """A submission. Times are seconds, memory is in mebibytes.

    Attributes:
        id: job id, unique.
        submit: when it is submitted.
        run: seconds of work; the job ends by itself after that.
        name: its name.
        user, account, qos: for whom; empty for the defaults.
        partitions: where it may run, in the order stated; empty for the default partition.
        min_nodes, max_nodes: how many nodes; None where nothing was said.
        tasks: how many tasks; None where nothing was said.
        cpus_per_task: CPUs of each.
        tasks_per_node: most tasks on a node; None for no bound.
        exclusive: whether it wants whole nodes.
        share: whether it would share resources (``--oversubscribe``).
        memory_per_node, memory_per_cpu: None where nothing was said; 0 on a node is all of it.
        gres: (name, type, count on each node); the type may be empty.
        gres_total: the same, in all (``--gpus``).
        constraint: an expression of features.
        nodelist, exclude: names of nodes that it must have, and must not have.
        time_limit: None where nothing was said; ``UNLIMITED``.
        time_min: the least it will do with, or None.
        begin: not before this, or None.
        deadline: ended by then, or None.
        held: whether it is submitted on hold.
        nice: is subtracted from its priority.
        priority: as an operator would set it, or None.
        requeue: whether it may be requeued; None for the cluster's rule.
        dependencies: of which all, or with ``any_dependency`` one, must be fulfilled.
        kill_on_invalid_dependency: whether it is cancelled when that cannot happen any more.
        reservation: the reservation to run in; empty for none.
        licenses: (name, count).
        array: index of the array that it is a task of (the first task's id), or None.
        array_limit: most tasks of that array that may run at a time; 0 for no bound.
        exit_code: what its work ends with.
        ignores_term: whether only SIGKILL ends it.
    """

    id: int
    submit: float
    run: float
    name: str = ""
    user: str = ""
    account: str = ""
    qos: str = ""
    partitions: tuple[str, ...] = ()
    min_nodes: int | None = None
    max_nodes: int | None = None
    tasks: int | None = None
    cpus_per_task: int = 1
    tasks_per_node: int | None = None
    exclusive: bool = False
    share: bool = False
    memory_per_node: float | None = None
    memory_per_cpu: float | None = None
    gres: tuple[tuple[str, str, int], ...] = ()
    gres_total: tuple[tuple[str, str, int], ...] = ()
    constraint: str = ""
    nodelist: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    time_limit: float | None = None
    time_min: float | None = None
    begin: float | None = None
    deadline: float | None = None
    held: bool = False
    nice: int = 0
    priority: int | None = None
    requeue: bool | None = None
    dependencies: tuple[Dependency, ...] = ()
    any_dependency: bool = False
    kill_on_invalid_dependency: bool = False
    reservation: str = ""
    licenses: tuple[tuple[str, int], ...] = ()
    array: int | None = None
    array_limit: int = 0
    exit_code: int = 0
    ignores_term: bool = False
    facts: dict[str, object] = field(default_factory=dict)
