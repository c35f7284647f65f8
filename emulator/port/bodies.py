"""What each function of a plugin does, by its symbol; one that is not known does nothing, and says so."""

from __future__ import annotations

from dataclasses import dataclass

from emulator.port.source import Symbol


@dataclass(frozen=True, slots=True)
class Function:
    """A function as it stands in the file.

    Attributes:
        head: its type, name and parameters.
        lines: what it does.
        remark: what stands above it; empty for nothing.
        known: whether this program knows what Slurm asks of it.
    """

    head: str
    lines: tuple[str, ...]
    remark: str
    known: bool


@dataclass(frozen=True, slots=True)
class Body:
    """What is known of a symbol.

    Attributes:
        names: of its parameters; a version may leave out the last ones, or add some.
        lines: what it does.
        remark: above it.
    """

    names: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    remark: str = ""


NOTHING: dict[str, tuple[str, ...]] = {"void": (), "bool": ("return false;",), "double": ("return 0;",)}
"""What a function of a type does that has nothing to do; others return 0, and pointers NULL."""

BODIES = {
    "priority_p_set": Body(
        ("last_prio", "job"),
        (
            "if (job->direct_set_prio && job->priority)    /* by scontrol update Priority= */",
            "    return job->priority;",
            "return priority_of(number_of(job, last_prio));",
        ),
        "Asked for one job, when it is submitted, changed, requeued or released.",
    ),
    "priority_p_reconfig": Body(("assoc_clear",)),
    "priority_p_set_assoc_usage": Body(("assoc",)),
    "priority_p_calc_fs_factor": Body(("usage", "shares")),
    "priority_p_get_priority_factors_list": Body((), ("return list_create(NULL);",), "What sprio shows: nothing."),
    "priority_p_job_end": Body(("job",), (), "Where GrpTRESRunMins is enforced: take back what the job did not use."),
    "priority_p_recover": Body(("boost",), (), "Priorities are worked out again, so none is to be raised."),
    "priority_p_thread_start": Body((), (), ""),
    "site_factor_p_reconfig": Body((), (), "PrioritySiteFactorParameters may have changed."),
    "site_factor_p_set": Body(
        ("job",), ("renew(job, NULL);",), "Asked for one job, before its priority is worked out."
    ),
    "site_factor_p_update": Body(
        (),
        ("list_for_each(job_list, renew, NULL);",),
        "Asked every PriorityCalcPeriod, by the thread of priority/multifactor.",
    ),
    "preempt_p_preemptable": Body(
        ("running", "waiting"),
        ("return may_preempt(running, waiting);",),
        "May the waiting job preempt the running one?",
    ),
    "preempt_p_job_preempt_check": Body(
        ("preemptor", "preemptee"),
        ("return may_preempt(preemptee->job_ptr, preemptor->job_ptr);",),
        "The same of two entries of the queue, while it is sorted.",
    ),
    "preempt_p_get_data": Body(
        ("job", "what", "data"),
        (
            "switch (what) {",
            "case PREEMPT_DATA_ENABLED:                     /* job is NULL here */",
            "    *(bool *) data = slurm_conf.preempt_mode != PREEMPT_MODE_OFF;",
            "    return SLURM_SUCCESS;",
            "case PREEMPT_DATA_MODE:",
            "    *(uint16_t *) data = mode_of(job);",
            "    return SLURM_SUCCESS;",
            "case PREEMPT_DATA_PRIO:",
            "    *(uint32_t *) data = order_of(job);",
            "    return SLURM_SUCCESS;",
            "case PREEMPT_DATA_GRACE_TIME:",
            "    *(uint32_t *) data = grace_of(job);",
            "    return SLURM_SUCCESS;",
            "}",
            "return SLURM_ERROR;",
        ),
    ),
    "preempt_p_get_mode": Body(("job",), ("return mode_of(job);",)),
    "preempt_p_get_prio": Body(("job",), ("return order_of(job);",)),
    "preempt_p_get_grace_time": Body(("job",), ("return grace_of(job);",)),
    "job_submit": Body(
        ("job_desc", "submit_uid", "err_msg"), ("return submitted(job_desc, err_msg);",), "Asked for each submission."
    ),
    "job_modify": Body(
        ("job_desc", "job", "submit_uid", "err_msg"),
        ("return SLURM_SUCCESS;",),
        "Asked when scontrol changes a job: job_desc holds what is changed. A policy's job_modify is not translated.",
    ),
}


def function(symbol: Symbol) -> Function:
    """A function for a symbol of a version."""
    body = BODIES.get(symbol.name)
    own = symbol.name.endswith(("_factors_list", "_thread_start")) or body is None
    names = symbol.names if own or body is None else _names(body.names, symbol)
    nothing = NOTHING.get(symbol.result, ("return NULL;",) if symbol.result.endswith("*") else ("return 0;",))
    if body is None:
        remark = "TODO: this program does not know the symbol, so it does nothing. See what Slurm asks of it."
        return Function(symbol.declared(names), nothing, remark, False)
    return Function(symbol.declared(names), body.lines or nothing, body.remark, True)


def _names(known: tuple[str, ...], symbol: Symbol) -> tuple[str, ...]:
    """Our names as far as they go, then the loader's."""
    count = len(symbol.types)
    return (*known[:count], *symbol.names[len(known) : count])
