"""Accounts from a dump of ``sacctmgr``, and from a script of its commands."""

from __future__ import annotations

import pytest

from emulator.config.sacctmgr import parse_accounts, read_accounts
from emulator.config.sacctmgr.commands import sacctmgr
from slurm_sim_plugins.errors import InputError

SCRIPT = """\
# qualities of service first
remove QOS where Name=normal
add qos cheap priority=10 UsageFactor=0.5 Flags=NoDecay,DenyOnLimit
add qos dear Priority=20 Preempt=cheap MaxWall=2-0
add cluster Name=here Fairshare=1 QOS=cheap,dear
add account dept fairshare=60 GrpTRES=cpu=12,mem=4G
sacctmgr -i add account lab parent=dept Fairshare=3 MaxJobs=7
add user name=ann,bob account=lab fairshare=parent \\
    DefaultAccount=dept
modify account lab set GrpTRES=cpu=8 GrpTRES=cpu=4
modify account dept set GrpTRES=mem=-1
modify user ann where account=lab set qos-=dear DefaultQOS=cheap
list associations tree
"""
DUMP = """\
# To edit this file start with a cluster line for the new cluster
Cluster - 'here':Fairshare=1:QOS='normal'
Parent - 'root'
User - 'root':DefaultAccount='root':AdminLevel='Administrator':Fairshare=1
Account - 'cs':Description='a: b':Organization='cs':GrpTRES=cpu=8:Fairshare=2147483647
Parent - 'cs'
User - 'ann':DefaultAccount='cs':Fairshare=3:QOS='normal,fast':MaxWallDuration=90
Cluster - 'there':Fairshare=1
Account - 'other':Fairshare=1
"""


def test_a_script_of_commands_makes_a_tree():
    accounts = parse_accounts(SCRIPT)
    ann, bob = accounts.association("ann", "lab"), accounts.association("bob", "lab")
    assert [one.account for one in accounts.line(ann)] == ["lab", "lab", "dept", "root"]
    assert (ann.shares, accounts.account("lab").shares, accounts.account("dept").shares) == (None, 3, 60)
    assert accounts.account("lab").tres("GrpTRES") == {"cpu": 4.0}
    assert accounts.account("dept").tres("GrpTRES") == {"cpu": 12.0}
    assert (accounts.qos_of(ann), accounts.qos_of(bob)) == (("cheap",), ("cheap", "dear"))
    assert (accounts.default_qos(ann), accounts.default_account["ann"]) == ("cheap", "dept")
    assert accounts.inherited(bob, "MaxJobs") == 7
    assert "normal" not in accounts.qos
    assert accounts.qos["cheap"].flags == {"NODECAY", "DENYONLIMIT"}
    assert accounts.qos["dear"].number("MaxWall") == 2 * 86_400


def test_a_dump_makes_a_tree_of_one_cluster():
    accounts = parse_accounts(DUMP, cluster="here")
    ann = accounts.association("ann")
    assert (ann.shares, ann.number("MaxWall"), accounts.qos_of(ann)) == (3, 5400.0, ("normal", "fast"))
    assert accounts.account("cs").shares is None
    assert accounts.account("other") is None
    assert accounts.account("cs").location.line == 5


def test_a_script_refines_a_dump(tmp_path):
    (tmp_path / "dump.cfg").write_text(DUMP, encoding="utf-8")
    (tmp_path / "more").write_text("modify qos fast set Priority=9\nadd user cy account=other", encoding="utf-8")
    accounts = read_accounts(tmp_path / "dump.cfg", tmp_path / "more")
    assert accounts.qos["fast"].number("Priority") == 9
    assert accounts.association("cy").account == "other"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("add account lab parent=nowhere", "f:1: there is no account 'nowhere' to be the parent"),
        ("\nadd user ann account=lab", "f:2: there is no account 'lab'"),
        ("add account a\nadd account b parent=a\nmodify account a set parent=b", "f:3: .* the tree would be a ring"),
        ("add account a\nadd account a", "f:2: there is an account 'a' already"),
        ("add account a GrpTRES=cpu", "f:1: GrpTRES: 'cpu' is not written as TYPE=COUNT"),
        ("add account a MaxWall=never", "f:1: MaxWall: 'never' is no time"),
        ("add account a MaxJobs=-3", "f:1: MaxJobs: '-3' is below 0"),
        ("add account a fairshare=lots", "f:1: Fairshare: 'lots' is neither"),
        ("add account a GrpJobs=3 Colour=red", "f:1: Colour is nothing that is said of an association"),
        ("add account a MaxJobs+=3", r"f:1: MaxJobs\+=: only"),
        ("modify account root set qos=fast", "f:1: there is no QOS 'fast'"),
        ("add qos q Flags=Deny", "f:1: Flags: 'Deny' is none of"),
        ("modify user ann set MaxJobs=1", "f:1: there is no user 'ann'"),
        ("delete user", "f:1: say of whom"),
        ("delete account root", "f:1: the account 'root' stays"),
        ("frob account a", "f:1: 'frob' is none of the commands"),
        ("add acount a", r"f:1: 'acount' is none .*did you mean 'account'\?"),
        ("add", "f:1: add: say what"),
        ('add account "a', "f:1: .* is no command"),
        ("Parent - 'a'", "f:1: there is no account 'a' yet"),
        ("Account - 'a'\nParent - 'a'\nAccount - 'a'", "f:3: there is an account 'a' already"),
        ("Account - ''", "f:1: Account - needs a name"),
        ("Parent - 'root'\nUser - 'an", "f:2: 'an has no second quote: the line is cut off"),
        ("Account - 'a':Fairshare=3:GrpTRES=cpu=", "f:1: GrpTRES: "),
        ("Account - 'a':Fairsh", "f:1: 'Fairsh' is not written as KEY=VALUE"),
        ("User - 'u':Shares=x:y", "f:1: Fairshare|f:1: Shares"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text, message):
    with pytest.raises(InputError, match=message):
        parse_accounts(text, "f")


def test_all_that_is_wrong_is_told_at_once_and_a_file_that_is_no_text_too(tmp_path):
    with pytest.raises(InputError) as caught:
        parse_accounts("add acount a\nadd account ok\nadd user u account=no", "f")
    assert [line[:4] for line in str(caught.value).splitlines()] == ["f:1:", "f:3:"]
    (tmp_path / "bad").write_bytes(b"add account a\n\xff\xfe\n")
    with pytest.raises(InputError, match=r"bad:2: is not text"):
        read_accounts(tmp_path / "bad")
    with pytest.raises(InputError, match="cannot be read"):
        read_accounts(tmp_path / "none")


def test_what_is_deleted_leaves_nothing_behind():
    accounts = parse_accounts(SCRIPT)
    before = accounts.version
    sacctmgr(["delete", "qos", "dear"], accounts)
    assert accounts.qos_of(accounts.association("bob", "lab")) == ("cheap",)
    sacctmgr(["delete", "user", "ann", "account=dept"], accounts)
    assert accounts.default_account["ann"] == "lab"
    sacctmgr(["delete", "account", "dept"], accounts)
    assert list(accounts.users(name="ann")) == []
    assert "ann" not in accounts.default_account
    assert accounts.version > before


def test_a_command_that_fails_changes_nothing():
    accounts = parse_accounts(SCRIPT)
    stated = dict(accounts.account("lab").stated)
    with pytest.raises(InputError):
        sacctmgr(["modify", "account", "lab", "set", "MaxJobs=1", "qos=none"], accounts)
    assert accounts.account("lab").stated == stated


def test_the_accounts_of_a_production_cluster_are_read(traces):
    accounts = read_accounts(traces / "slurm" / "ub-hpc" / "sacctmgr.script")
    assert (len(accounts.associations), len(accounts.qos)) == (169, 5)
    assert accounts.association("user025").account == "account021"
    assert accounts.qos["debug"].number("MaxSubmitJobsPerUser") == 20


PEOPLE = "add account a,b\nadd account c parent=a\nadd user ann account=a\nadd user bob account=a,b\n"


def limited(text: str) -> set[str]:
    accounts = parse_accounts(PEOPLE + text)
    return {"/".join(key) for key, one in accounts.associations.items() if one.number("MaxJobs")}


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("modify user set MaxJobs=1", {"ann/a/", "bob/a/", "bob/b/"}),
        ("modify user bob set MaxJobs=1", {"bob/a/", "bob/b/"}),
        ("modify user where name=bob account=b set MaxJobs=1", {"bob/b/"}),
        ("modify user set MaxJobs=1 where account=a", {"ann/a/", "bob/a/"}),
        ("modify account set MaxJobs=1", {"/a/", "/b/", "/c/"}),
        ("modify account where parent=a set MaxJobs=1", {"/c/"}),
        ("modify account a,b where parent=root set MaxJobs=1", {"/a/", "/b/"}),
        ("sacctmgr -i modify account name=a set MaxJobs=1\nsacctmgr reconfigure\nsacctmgr clear stats", {"/a/"}),
    ],
)
def test_a_modification_is_about_those_that_are_named_or_about_all(command, expected):
    assert limited(command) == expected


def test_all_qualities_of_service_may_be_modified_together():
    accounts = parse_accounts("add qos a,b\nmodify qos set Priority=4")
    assert {qos.number("Priority") for qos in accounts.qos.values()} == {4}


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("load c.cfg", "f:5: 'load' is not done here: give the file"),
        ("add resource name=x", "f:5: 'resource' is not done here: licences are those of Licenses"),
        ("add frob x", "f:5: 'frob' is none of the things"),
        ("modify user ann set parent=b", "f:5: a user has no parent"),
        ("modify account where parent=zz set MaxJobs=1", "f:5: there is no account 'zz'"),
        ("delete user where partition=p", "f:5: say of whom"),
    ],
)
def test_a_command_that_cannot_be_carried_out_is_told(command, message):
    with pytest.raises(InputError, match=message):
        parse_accounts(PEOPLE + command, "f")


def test_a_dump_of_26_05_says_what_qualities_of_service_are():
    accounts = parse_accounts(
        "QOS - 'normal':Description='Normal QOS default':Priority=3:UsageFactor=1.000000\n"
        "QOS - 'High':Description='a':Flags='DenyOnLimit':GraceTime=120:GrpJobs=9:MaxJobsPU=2:MaxJobsPA=3"
        ":MaxSubmitJobsPU=4:MaxTRESPerUser=cpu=100:MaxTRESPerJob=cpu=10,mem=5:MaxWallDurationPerJob=60:MinTRESPerJob=cpu=2"
        ":Preempt='low':PreemptMode='cluster':Priority=10:LimitFactor=2.000000:MinPrioThresh=5:MaxTRESRunMinsPerUser=cpu=7\n"
        "Cluster - 'c':Fairshare=1:QOS='normal,high'\nParent - 'root'\nAccount - 'a':Organization='o'\n"
        "QOS - 'low':Priority=1\nParent - 'a'\nUser - 'u':DefaultAccount='a'\n"
    )
    high = accounts.qos["high"]
    assert sorted(accounts.qos) == ["high", "low", "normal"]
    assert [accounts.qos[name].number("Priority") for name in ("normal", "high", "low")] == [3, 10, 1]
    assert (high.number("MaxJobsPerUser"), high.number("GraceTime"), high.words("Preempt")) == (2, 120, ("low",))
    assert (high.tres("MaxTRESPerUser"), high.flags) == ({"cpu": 100}, {"DENYONLIMIT"})


def test_what_is_below_an_account_that_is_wrong_is_not_wrong_too():
    with pytest.raises(InputError) as error:
        parse_accounts("Cluster - 'c'\nAccount - 'a':GrpTres=cpu\nParent - 'a'\nUser - 'u':qos+=normal\n", "f")
    assert str(error.value).count("\n") == 0
    assert str(error.value).startswith("f:2: ")


def test_what_a_dump_only_names_a_script_may_describe() -> None:
    head = "Cluster - 'here':Fairshare=1:QOS='normal'\nParent - 'root'\n"
    named = head + "Account - 'lab':Fairshare=1:QOS='high,long,normal':DefaultQOS='high'\n"
    accounts = parse_accounts(named)
    assert accounts.remark() == (
        "QOS that are named and not described, which so have no limits, priority or flags: high, long"
    )
    accounts = parse_accounts(named + "add qos high,long MaxJobsPU=3\n")
    assert [accounts.qos[name].number("MaxJobsPerUser") for name in ("high", "long")] == [3, 3]
    assert accounts.remark() == ""
    with pytest.raises(InputError, match="there is a QOS 'high' already"):
        parse_accounts(named + "add qos high\nadd qos high\n")
    assert parse_accounts(named + "modify qos high set Priority=3\ndelete qos long\n").remark() == ""
    assert parse_accounts(named + "QOS - 'high':Priority=5\nQOS - 'long'\n").remark() == ""
