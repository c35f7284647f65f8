"""Fair Tree against a reference that ranks users by keys, on any tree; what holds for any usage."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.config.sacctmgr import Accounts, parse_accounts
from emulator.config.sacctmgr.reader import add_accounts
from emulator.config.slurm import parse_slurm_conf
from emulator.limits.assoc_mgr import AssocMgr
from emulator.limits.tres import Tres
from slurm_sim_plugins.priority import fair_tree
from slurm_sim_plugins.priority.fair_share import ClassicShares
from tests.reference import fair_tree as reference

SHARES = st.sampled_from(["0", "1", "2", "3", "parent"])
CONF = parse_slurm_conf("NodeName=n1\nPartitionName=p Nodes=ALL")


@st.composite
def trees(draw: st.DrawFn) -> tuple[Accounts, dict[tuple[str, str, str], int]]:
    """A tree of accounts and users, and what the users used."""
    lines = []
    for number in range(draw(st.integers(1, 6))):
        parent = draw(st.sampled_from(["root", *(f"a{other}" for other in range(number))]))
        lines.append(f"add account a{number} parent={parent} fairshare={draw(SHARES)}")
    count = len(lines)
    for number in range(count + draw(st.integers(0, 5))):
        # In every account there is somebody: the reference knows no accounts without users.
        account = number if number < count else draw(st.integers(0, count - 1))
        lines.append(f"add user u{number} account=a{account} fairshare={draw(SHARES)}")
    accounts = parse_accounts("\n".join(lines))
    used = {one.key: draw(st.sampled_from([0, 0, 1, 2, 4])) for one in accounts.users()}
    return accounts, used


def manager_of(
    accounts: Accounts, used: dict[tuple[str, str, str], int], by_level: bool
) -> tuple[AssocMgr, np.ndarray]:
    manager = AssocMgr(accounts, Tres(CONF), by_level, lambda _: [])
    return manager, usage_of(manager, used)


def usage_of(manager: AssocMgr, used: dict[tuple[str, str, str], int]) -> np.ndarray:
    raw = np.zeros(manager.rows)
    for key, share in manager.shares.items():
        for above in share.line():
            raw[above.row] += used.get(key, 0)
    return raw


@given(trees())
@settings(max_examples=150, deadline=None)
def test_ranks_are_those_of_the_reference(tree):
    accounts, used = tree
    manager, raw = manager_of(accounts, used, by_level=True)
    fair_tree.FairTree().begin_period(manager.root, raw)
    assert factors_of(manager) == reference.factors(accounts, used)


def factors_of(manager: AssocMgr) -> dict[tuple[str, str, str], float]:
    return {key: share.factor for key, share in manager.shares.items() if share.is_user}


@given(trees(), st.lists(st.lists(st.sampled_from([0, 0, 1, 2, 4]), min_size=1), min_size=1, max_size=4), st.data())
@settings(max_examples=150, deadline=None)
def test_ranks_follow_usage_and_shares_from_period_to_period(tree, periods, data):
    """The tree is kept between periods: all that is worked out is as if it were looked at for the first time."""
    accounts, used = tree
    manager, raw = manager_of(accounts, used, by_level=True)
    kept = fair_tree.FairTree()
    kept.begin_period(manager.root, raw)
    for amounts in periods:
        if data.draw(st.booleans()):
            name = data.draw(st.sampled_from(sorted({one.account for one in accounts.users()})))
            add_accounts(accounts, [f"modify account {name} set fairshare={data.draw(SHARES)}"], "")
            manager.refresh()
        used = {key: amounts[place % len(amounts)] for place, key in enumerate(used)}
        raw[:] = usage_of(manager, used)
        kept.begin_period(manager.root, raw)
        assert factors_of(manager) == reference.factors(accounts, used)
        shown = [(share.norm_usage, share.effective, share.level_fs) for share in manager.shares.values()]
        fair_tree.FairTree().begin_period(manager.root, raw)
        assert shown == [(share.norm_usage, share.effective, share.level_fs) for share in manager.shares.values()]


@given(trees(), st.booleans())
@settings(max_examples=80, deadline=None)
def test_classic_factors_are_shares_and_fall_with_usage(tree, oblivious):
    accounts, used = tree
    manager, raw = manager_of(accounts, used, by_level=False)
    classic = ClassicShares(1.0, oblivious)
    classic.begin_period(manager.root, raw)
    for share in manager.shares.values():
        factor = classic.factor(share, manager.root, raw)
        assert 0.0 <= factor <= 1.0
        if share.is_user and share.shares and share.norm_shares and not raw[share.row] and oblivious:
            assert factor == 1.0


def test_classic_usage_is_that_of_the_documentation():
    """Of four levels: usage of an account is drawn towards that of its parent by its part of the shares."""
    accounts = parse_accounts(
        "add account a fairshare=40\nadd account b fairshare=60\nadd account d parent=a fairshare=30\n"
        "add account e parent=a fairshare=10\nadd user u1 account=d\nadd user u2 account=e\nadd user u4 account=b\n"
        "modify user root set fairshare=0"
    )
    used = {("u1", "d", ""): 10, ("u2", "e", ""): 30, ("u4", "b", ""): 60}
    manager, raw = manager_of(accounts, used, by_level=False)
    classic = ClassicShares(1.0, depth_oblivious=False)
    classic.begin_period(manager.root, raw)
    d, e = manager.shares["", "d", ""], manager.shares["", "e", ""]
    assert (d.norm_shares, e.norm_shares) == (0.4 * 0.75, 0.4 * 0.25)
    assert abs(d.effective - (0.1 + (0.4 - 0.1) * 0.75)) < 1e-12
    assert abs(e.effective - (0.3 + (0.4 - 0.3) * 0.25)) < 1e-12
    user = classic.factor(manager.shares["u1", "d", ""], manager.root, raw)
    assert abs(user - 2 ** -(d.effective / 0.3)) < 1e-12
