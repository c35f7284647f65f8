"""Old names work for one version, with a warning that says the new one."""

from __future__ import annotations

import pytest

import slurm_sim_plugins
from emulator import testing
from slurm_sim_plugins import testing as plugins_testing
from slurm_sim_plugins.blocks import aligned
from slurm_sim_plugins.manager import discover, make_plugin
from slurm_sim_plugins.priority.sjf import Sjf
from slurm_sim_plugins.renamed import OldName, stated
from slurm_sim_plugins.sched.easy import Easy
from slurm_sim_plugins.testing import Scene, cluster, job
from slurm_sim_plugins.views import PriorityView

CLASSES = {"Places": "BlockState", "Situation": "ClusterState"}
ATTRIBUTES = {"places": "block_state", "newcomers": "new_jobs"}


@pytest.mark.parametrize(("old", "new"), CLASSES.items())
def test_a_class_has_its_old_name(old, new):
    with pytest.warns(DeprecationWarning, match=f"slurm_sim_plugins.{old} is now slurm_sim_plugins.{new};") as seen:
        assert getattr(slurm_sim_plugins, old) is getattr(slurm_sim_plugins, new)
    assert seen[0].filename == __file__


def test_a_class_can_be_imported_under_its_old_name():
    with pytest.warns(DeprecationWarning, match="BlockState") as seen:
        from slurm_sim_plugins import Places
    assert Places is slurm_sim_plugins.BlockState
    assert seen[0].filename == __file__


@pytest.mark.parametrize(("old", "new"), ATTRIBUTES.items())
def test_an_attribute_of_a_view_has_its_old_name(old, new):
    state = Scene(cluster(2048, blocks=aligned(4, (512, 1024, 2048)))).view
    for view in (state, PriorityView(state)) if hasattr(PriorityView, new) else (state,):
        with pytest.warns(DeprecationWarning, match=rf"\.{old} is now \w+\.{new};") as seen:
            assert repr(getattr(view, old)) == repr(getattr(view, new))
        assert seen[0].filename == __file__


def test_what_a_plugin_says_of_itself_has_its_old_name():
    with pytest.warns(DeprecationWarning, match="Mine.knows_places is now knows_blocks"):
        assert stated(type("Mine", (), {"knows_places": 1})(), "knows_blocks", old="knows_places", default=0) == 1
    assert stated(object(), "knows_blocks", old="knows_places", default=0) == 0
    both = type("Both", (), {"knows_places": 1, "knows_blocks": 2})()
    assert stated(both, "knows_blocks", old="knows_places", default=0) == 2


def test_the_kit_takes_a_scene_by_its_old_name(call_hook, play):
    here = cluster(4).waiting(job(2))
    for ask in (call_hook, testing.call, plugins_testing.call):
        with pytest.warns(DeprecationWarning, match=r"\(situation=\) is now \w+\(scene=\);") as seen:
            assert ask(Sjf, "priority_set", situation=here, jobs=[1]) == [-3600]
        assert {each.filename for each in seen} == {__file__}
    for take in (play, testing.play):
        with pytest.warns(DeprecationWarning, match=r"play\(situation=\) is now play\(scene=\);") as seen:
            assert take(Easy, situation=here).started == [1]
        assert {each.filename for each in seen} == {__file__}


def test_a_name_that_never_was_is_no_attribute():
    with pytest.raises(AttributeError, match="module 'slurm_sim_plugins' has no attribute 'Nothing'"):
        _ = slurm_sim_plugins.Nothing
    assert isinstance(vars(slurm_sim_plugins.View)["places"], OldName)


def test_an_option_takes_its_old_value():
    info = discover([]).get("sched/realtime")
    with pytest.warns(DeprecationWarning, match="meanwhile=nobody is now meanwhile=none;"):
        old = make_plugin(info, {"meanwhile": "nobody"}, seed=0)
    assert (
        vars(old)["_batch_goes_on"] is vars(make_plugin(info, {"meanwhile": "none"}, seed=0))["_batch_goes_on"] is False
    )
