"""Finding, selecting and checking plugins, and naming the culprit."""

from __future__ import annotations

import importlib.metadata
import sys
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import pluggy
import pytest

from slurm_sim_plugins import API, ConfigurationError, PluginError, hookimpl
from slurm_sim_plugins.hookspecs import DEFAULTS, SLOTS, SPECS, hooks_of
from slurm_sim_plugins.manager import (
    Catalogue,
    Manager,
    PluginInfo,
    bundled_names,
    discover,
    names_in,
    select,
    slots_for,
)

HEAD = "from slurm_sim_plugins import hookimpl\n"
BUNDLED = {
    "priority/basic",
    "priority/sjf",
    "sched/conservative",
    "sched/easy",
    "sched/fcfs",
    "backfill/queue_order",
    "backfill/sjf",
    "preempt/none",
    "walltime/given",
    "walltime/none",
}


class Mine:
    """Shortest first.

    More text.
    """

    name: ClassVar[str] = "priority/mine"

    @hookimpl
    def priority_set(self, view: Any) -> Sequence[float]:
        return [-job.time_limit for job in view.to_set]


class Other:
    name: ClassVar[str] = "priority/mine"

    @hookimpl
    def priority_set(self, view: Any) -> None:
        return None


class Watcher:
    name: ClassVar[str] = "observer/watcher"

    def __init__(self) -> None:
        self.seen: list[Any] = []

    @hookimpl
    def job_submitted(self, job: Any, now: float) -> None:
        self.seen.append((job, now))


NOTHING: Mapping[str, float] = {}


class WithOptions:
    name: ClassVar[str] = "priority/options"

    def __init__(
        self,
        weight: float = 1.0,
        count: int = 3,
        mode: Literal["up", "down"] = "up",
        label: str = "a",
        eager: bool = False,
        anything: Any = None,
        maybe: float | None = None,
        several: tuple[int, ...] = (),
        shares: Mapping[str, float] = NOTHING,
        ends: int | Sequence[int] = 0,
    ) -> None:
        if count < 0:
            raise ValueError(f"count is {count}; give 0 or more")
        self.given = (weight, count, mode, label, eager, anything)


class Demanding:
    """Has an option without a default."""

    name: ClassVar[str] = "priority/demanding"

    def __init__(self, half_life: float) -> None:
        self.half_life = half_life


def plugin_file(folder: Path, name: str = "priority/mine", file: str = "mine.py", body: str | None = None) -> Path:
    path = folder / file
    hook = "    @hookimpl\n    def priority_set(self, view):\n        return None\n"
    path.write_text(body if body is not None else f"{HEAD}class Mine:\n    name = {name!r}\n{hook}")
    return path


def found(*files: Path, folders: Sequence[Path] = ()) -> Catalogue:
    return discover(files, folders, installed=False)


def broken(body: str, folder: Path, file: str = "bad.py") -> PluginError:
    """The error of a plugin file that cannot be used."""
    path = plugin_file(folder, file=file, body=body)
    with pytest.raises(PluginError) as caught:
        select(found(path), {"PriorityType": "priority/mine"})
    return caught.value


def selecting(*factories: type, slots: dict[str, str] | None = None, **options: Any) -> Any:
    return select(Catalogue(map(PluginInfo.of, factories)), slots, options.get("options"))


# Discovery


def test_bundled_plugins_are_found_by_their_names() -> None:
    assert set(bundled_names()) >= BUNDLED
    assert len(set(bundled_names())) == len(bundled_names())
    catalogue = found()
    assert [info.name for info in catalogue] == [*dict.fromkeys(info.name for info in catalogue)]
    assert {info.name for info in catalogue} == set(bundled_names())
    assert all(info.origin == "bundled" and info.summary for info in catalogue)


def test_a_module_of_the_bundle_holds_the_plugin_of_its_name() -> None:
    catalogue = Catalogue()
    for name in bundled_names():
        info = catalogue.get(name)
        assert info is not None
        assert info.factory.name == name
        assert info.factory.__module__ == "slurm_sim_plugins." + name.replace("/", ".")


@pytest.mark.parametrize("name", ["sched/nothing", "observer/x", "easy", "", "sched/", "sched/..easy", "views/Job"])
def test_no_name_but_a_plugins_is_imported(name: str) -> None:
    assert Catalogue().get(name) is None


def test_a_file_and_a_folder_are_searched(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    one = plugin_file(tmp_path, "priority/one", "one.py")
    two = plugin_file(folder, "sched/two", "two.py", f"{HEAD}class Two:\n    name = 'sched/two'\n")
    plugin_file(folder, "priority/hidden", "_hidden.py")
    (folder / "notes.txt").write_text("no plugin")
    catalogue = found(one, folders=[folder])
    named = {info.name: info.origin for info in catalogue if info.origin != "bundled"}
    assert named == {"priority/one": str(one), "sched/two": str(two)}


def test_a_file_may_hold_several_plugins(tmp_path: Path) -> None:
    body = f"{HEAD}class A:\n    name = 'priority/a'\nclass B:\n    name = 'sched/b'\nclass Helper:\n    pass\n"
    catalogue = found(plugin_file(tmp_path, body=body))
    assert {info.name for info in catalogue if info.origin != "bundled"} == {"priority/a", "sched/b"}


def test_what_a_file_imports_is_not_its_own_plugin(tmp_path: Path) -> None:
    body = (
        f"{HEAD}from slurm_sim_plugins.sched.easy import Easy\n"
        "class Mine(Easy):\n    '''As EASY.'''\n    name = 'sched/mine'\n"
    )
    catalogue = found(plugin_file(tmp_path, body=body))
    assert [info.name for info in catalogue if info.origin != "bundled"] == ["sched/mine"]
    info = catalogue.get("sched/mine")
    assert info is not None and info.hooks == ["schedule"]


def test_a_file_named_twice_is_loaded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = plugin_file(tmp_path)
    monkeypatch.chdir(tmp_path)
    catalogue = discover([path, Path("mine.py")], [tmp_path], installed=False)
    assert catalogue.get("priority/mine") is not None


def test_two_files_of_one_name_are_two_modules(tmp_path: Path) -> None:
    for word in ("a", "b"):
        (tmp_path / word).mkdir()
    files = [plugin_file(tmp_path / word, f"priority/{word}", "same.py") for word in ("a", "b")]
    infos = [found(*files).get(f"priority/{word}") for word in ("a", "b")]
    assert len({info.factory.__module__ for info in infos if info}) == 2


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_is_not_there_is_told(tmp_path: Path, kind: str) -> None:
    missing = tmp_path / "missing.py"
    with pytest.raises(ConfigurationError, match=f"the plugin {kind} .*missing.py is not"):
        found(*([missing] if kind == "file" else []), folders=[missing] if kind == "folder" else [])


def test_a_file_that_is_not_python_is_told(tmp_path: Path) -> None:
    path = plugin_file(tmp_path, file="mine.txt")
    with pytest.raises(ConfigurationError, match=r"mine\.txt is not a Python file; its name must end in \.py"):
        found(path)


def test_a_file_without_a_plugin_is_told(tmp_path: Path) -> None:
    path = plugin_file(tmp_path, body="X = 1\n")
    with pytest.raises(PluginError, match="no plugin was found in it: write a class") as caught:
        found(path)
    assert caught.value.plugin == str(path)


def test_hooks_outside_a_class_are_told(tmp_path: Path) -> None:
    path = plugin_file(tmp_path, body=f"{HEAD}@hookimpl\ndef priority_set(view):\n    return None\n")
    with pytest.raises(PluginError, match="put priority_set into a class") as caught:
        found(path)
    assert caught.value.plugin == str(path)


# Files that cannot be run


def test_a_syntax_error_is_told_with_its_line(tmp_path: Path) -> None:
    error = broken(f"{HEAD}\nclass Mine\n    name = 1\n", tmp_path)
    assert error.where == f"{tmp_path / 'bad.py'}:3"
    assert error.plugin == str(tmp_path / "bad.py")
    assert "cannot be imported: SyntaxError" in str(error)
    assert error.exit_code == 4


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("import there_is_no_such_module_at_all", "ModuleNotFoundError: No module named"),
        ("from slurm_sim_plugins import nothing_of_the_kind", "ImportError: cannot import name"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("raise SystemExit(0)", "SystemExit: 0"),
    ],
)
def test_a_file_that_fails_is_told_with_its_line(tmp_path: Path, line: str, words: str) -> None:
    error = broken(f"{HEAD}\n\n{line}\n", tmp_path)
    assert error.where == f"{tmp_path / 'bad.py'}:4"
    assert words in error.message


def test_a_file_named_by_a_relative_path_is_told_with_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin_file(tmp_path, file="bad.py", body="\n1 / 0\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PluginError) as caught:
        found(Path("bad.py"))
    assert caught.value.where == "bad.py:2"


def test_a_syntax_error_of_an_imported_file_is_told_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    helper = tmp_path / "helper_that_cannot_be_read.py"
    helper.write_text("\n\nx = = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    error = broken("import helper_that_cannot_be_read\n", tmp_path)
    assert error.where == f"{helper}:3"


@pytest.mark.parametrize("name", ["None", "3", "'mine'", "'priority/'", "'/mine'", "'thing/mine'"])
def test_a_name_is_a_type_and_a_word(tmp_path: Path, name: str) -> None:
    path = plugin_file(tmp_path, body=f"{HEAD}\nclass Mine:\n    name = {name}\n")
    with pytest.raises(PluginError, match="such as 'priority/mine'; types are priority, sched,") as caught:
        found(path)
    assert caught.value.where == f"{path}:3"


# Entry points


class FakeEntry:
    def __init__(self, name: str, loaded: Any, distribution: str | None = "their-plugins") -> None:
        self.name = name
        self.value = f"their.module:{name}"
        self.dist = types.SimpleNamespace(name=distribution) if distribution else None
        self._loaded = loaded

    def load(self) -> Any:
        if isinstance(self._loaded, BaseException):
            raise self._loaded
        return self._loaded


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> list[FakeEntry]:
    entries: list[FakeEntry] = []

    def entry_points(*, group: str) -> list[FakeEntry]:
        assert group == "slurm_sim_plugins"
        return entries

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)
    return entries


def test_an_entry_point_names_a_class(installed: list[FakeEntry]) -> None:
    installed.append(FakeEntry("mine", Mine))
    info = discover().get("priority/mine")
    assert info is not None
    assert (info.origin, info.factory) == ("installed: their-plugins", Mine)
    assert discover(installed=False).get("priority/mine") is None


def test_an_entry_point_names_a_module(installed: list[FakeEntry]) -> None:
    module = types.ModuleType("their_module")
    exec(f"{HEAD}class A:\n    name = 'priority/a'\nclass B:\n    name = 'sched/b'\n", vars(module))
    installed.append(FakeEntry("both", module, None))
    catalogue = discover()
    origins = {info.name: info.origin for info in catalogue if info.origin != "bundled"}
    assert origins == dict.fromkeys(("priority/a", "sched/b"), "installed: their.module:both")


@pytest.mark.parametrize("error", [ImportError("no module named x"), ValueError("broken"), SystemExit(0)])
def test_an_entry_point_that_cannot_be_loaded_is_told(installed: list[FakeEntry], error: BaseException) -> None:
    installed.append(FakeEntry("mine", error))
    with pytest.raises(PluginError, match="repair the package or uninstall it") as caught:
        discover()
    assert caught.value.plugin == "mine"
    assert type(error).__name__ in str(caught.value) and "their.module:mine" in str(caught.value)


def test_an_entry_point_may_not_name_an_instance(installed: list[FakeEntry]) -> None:
    installed.append(FakeEntry("mine", Mine()))
    with pytest.raises(PluginError, match="names an instance of Mine; name its class"):
        discover()


@pytest.mark.parametrize("turned", [False, True])
def test_it_does_not_matter_in_which_order_packages_are_installed(installed: list[FakeEntry], turned: bool) -> None:
    installed += [FakeEntry("a", Mine, "first"), FakeEntry("b", Other, "second")]
    if turned:
        installed.reverse()
    with pytest.raises(ConfigurationError, match="'priority/mine': installed: first and installed: second"):
        discover()


def test_a_plugin_of_another_api_is_refused(tmp_path: Path) -> None:
    hook = "    @hookimpl\n    def priority_set(self, view):\n        return None\n"
    plugin = f"{HEAD}class Mine:\n    name = 'priority/mine'\n    api = {{}}\n{hook}"
    found(plugin_file(tmp_path, body=plugin.format(API)))
    error = broken(plugin.format(API + 1), tmp_path)
    assert f"it is written for API {API + 1}, and this is API {API}; see the changelog" in str(error)


# Two of one name


def test_two_files_that_claim_one_name_are_an_error(tmp_path: Path) -> None:
    one, two = (plugin_file(tmp_path, "priority/mine", file) for file in ("one.py", "two.py"))
    with pytest.raises(ConfigurationError) as caught:
        found(one, two)
    message = str(caught.value)
    assert "two plugins claim the name 'priority/mine'" in message
    assert str(one) in message and str(two) in message


def test_a_file_cannot_take_the_name_of_a_bundled_plugin(tmp_path: Path) -> None:
    path = plugin_file(tmp_path, "sched/easy")
    with pytest.raises(ConfigurationError, match=r"'sched/easy': bundled and .*mine\.py; rename one of them"):
        found(path)


def test_one_class_may_be_given_twice() -> None:
    catalogue = Catalogue([PluginInfo.of(Mine), PluginInfo.of(Mine, "elsewhere")])
    assert catalogue.get("priority/mine") is not None


def test_a_copy_of_a_catalogue_is_its_own() -> None:
    catalogue = Catalogue()
    copy = catalogue.copy()
    copy.add(PluginInfo.of(Mine))
    assert catalogue.get("priority/mine") is None
    catalogue.add(PluginInfo.of(Other))


def test_an_instance_instead_of_a_class_is_told() -> None:
    with pytest.raises(PluginError, match="is an instance; give its class"):
        PluginInfo.of(Mine())  # type: ignore[arg-type]


# Selection


def test_slots_that_are_not_named_hold_their_defaults() -> None:
    selection = selecting()
    assert selection.slots == DEFAULTS
    assert set(selection.plugins) == set(names_in(DEFAULTS))
    assert selecting(Mine, slots={"PriorityType": "priority/mine"}).slots == {
        **DEFAULTS,
        "PriorityType": "priority/mine",
    }


def test_what_is_only_catalogued_is_not_registered() -> None:
    selection = selecting(Mine)
    assert "priority/mine" not in selection.plugins
    assert not selection.manager.has_plugin("priority/mine")


def test_the_default_plugins_cost_no_call() -> None:
    selection = selecting()
    asked = {hook for kind in {*SLOTS.values(), "observer"} for hook in hooks_of(kind)}
    assert {hook for hook in asked if selection.implementations(hook)} == {"schedule"}


def test_an_unknown_slot_is_told_with_what_was_meant() -> None:
    with pytest.raises(ConfigurationError, match=r"unknown slot 'SchedulrType' \(did you mean 'SchedulerType'\?\)"):
        selecting(slots={"SchedulrType": "sched/easy"})


def test_an_unknown_plugin_is_told_with_what_was_meant() -> None:
    with pytest.raises(ConfigurationError) as caught:
        selecting(Mine, slots={"PriorityType": "priority/mien"})
    message = str(caught.value)
    assert message.startswith("PriorityType=priority/mien: there is no such plugin (did you mean 'priority/mine'?)")
    assert "found are priority/basic, priority/mine, priority/multifactor, priority/sjf" in message
    assert "sched/easy" not in message


@pytest.mark.parametrize(
    ("given", "meant"), [("easy", "sched/easy"), ("eazy", "sched/easy"), ("sched/fcf", "sched/fcfs")]
)
def test_a_plugin_that_is_not_there_is_guessed_with_its_type(given, meant):
    with pytest.raises(ConfigurationError, match="there is no such plugin") as caught:
        select(discover(), {"SchedulerType": given})
    assert f"(did you mean {meant!r}?)" in str(caught.value)
    assert "--plugin FILE" in str(caught.value)


def test_a_plugin_of_another_type_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"takes a plugin of type sched/\.\.\., not priority/"):
        selecting(slots={"SchedulerType": "priority/basic"})


def test_options_of_a_plugin_that_is_not_selected_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="options are given for 'priority/sjf', which is not selected"):
        selecting(options={"priority/sjf": {"x": 1}})


def test_each_simulation_has_instances_of_its_own() -> None:
    catalogue = Catalogue(map(PluginInfo.of, (Mine, Watcher)))
    one, two = (select(catalogue, {"PriorityType": "priority/mine"}) for _ in range(2))
    for name in one.plugins:
        assert one.plugins[name] is not two.plugins[name]
        assert type(one.plugins[name]) is type(two.plugins[name])


def test_observers_are_selected_without_being_named() -> None:
    selection = selecting(Watcher)
    assert isinstance(selection.plugins["observer/watcher"], Watcher)
    assert [name for name, _ in selection.implementations("job_submitted")] == ["observer/watcher"]
    assert "observer/watcher" not in selection.slots.values()
    assert selection.infos["observer/watcher"].slot is None


# Hooks that are wrong


def test_a_misspelt_hook_is_told_with_what_was_meant(tmp_path: Path) -> None:
    error = broken(
        f"{HEAD}\nclass Mine:\n    name = 'priority/mine'\n\n"
        "    @hookimpl\n    def priority_sets(self, view):\n        pass\n",
        tmp_path,
    )
    assert "there is no hook 'priority_sets' (did you mean 'priority_set'?)" in error.message
    assert "a priority plugin may implement priority_set, run_begun" in error.message
    assert (error.plugin, error.where) == ("priority/mine", f"{tmp_path / 'bad.py'}:6")


def test_a_hook_of_another_type_is_told(tmp_path: Path) -> None:
    error = broken(
        f"{HEAD}class Mine:\n    name = 'priority/mine'\n    @hookimpl\n    def schedule(self, view):\n        pass\n",
        tmp_path,
    )
    assert "implements schedule, which is asked only of plugins of type sched/...; move it into one" in error.message
    assert error.where == f"{tmp_path / 'bad.py'}:4"


@pytest.mark.parametrize(
    ("definition", "words"),
    [
        ("def priority_set(self, veiw)", "priority_set takes view, not veiw"),
        ("def priority_set(self, view, now)", "priority_set takes view, not now"),
        ("def priority_set(self, a, b)", "priority_set takes view, not a, b"),
        ("def priority_set(view)", "priority_set is a method, whose first argument is self: priority_set(self, view)"),
        (
            "def priority_set(self, view=None)",
            "priority_set would never be given view, which has a default or may be given by name alone; write "
            "priority_set(self, view)",
        ),
        (
            "def job_ended(self, job, *, now)",
            "job_ended would never be given now, which has a default or may be given by name alone; write "
            "job_ended(self, job, run, state, now)",
        ),
        ("def job_ended(self, job, status)", "job_ended takes job, run, state, now, not status"),
    ],
)
def test_wrong_arguments_are_told_in_one_line(tmp_path: Path, definition: str, words: str) -> None:
    error = broken(
        f"{HEAD}class Mine:\n    name = 'priority/mine'\n    @hookimpl\n    {definition}:\n        pass\n", tmp_path
    )
    hook = definition.split("(")[0].removeprefix("def ")
    assert (error.plugin, error.hook, error.message) == ("priority/mine", hook, words)
    assert error.where == f"{tmp_path / 'bad.py'}:4"
    assert str(error) == f"plugin priority/mine, hook {hook}, {tmp_path / 'bad.py'}:4: {words}"


@pytest.mark.parametrize(
    "definition",
    [
        "def job_ended(self, now)",
        "def job_ended(self, now, state, run, job)",
        "def job_ended(self, job, *rest)",
        "def job_ended(self, job, mine=3)",
        "@staticmethod\n    def job_ended(job, now)",
        "@classmethod\n    def job_ended(cls, job, now)",
        "def job_ended(this, job)",
    ],
)
def test_arguments_may_be_left_out_and_turned(tmp_path: Path, definition: str) -> None:
    mark = "" if definition.startswith("@") else "@hookimpl\n    "
    marked = definition.replace("\n    def", "\n    @hookimpl\n    def")
    body = f"{HEAD}class Mine:\n    name = 'priority/mine'\n    {mark}{marked}:\n        pass\n"
    selection = select(found(plugin_file(tmp_path, body=body)), {"PriorityType": "priority/mine"})
    assert [name for name, _ in selection.implementations("job_ended")] == ["priority/mine"]


def test_a_wrapper_that_is_no_generator_is_told_with_its_file(tmp_path: Path) -> None:
    body = (
        f"{HEAD}class Mine:\n    name = 'priority/mine'\n"
        "    @hookimpl(wrapper=True)\n    def priority_set(self, view):\n        return None\n"
    )
    error = broken(body, tmp_path)
    assert error.plugin == "priority/mine"
    assert error.where is not None and error.where.startswith(str(tmp_path / "bad.py"))


def test_an_observer_may_wrap_the_hook_of_a_slot_but_not_answer_it(tmp_path: Path) -> None:
    body = (
        f"{HEAD}class Spy:\n    name = 'observer/spy'\n"
        "    @hookimpl(wrapper=True)\n    def schedule(self, view):\n        return (yield)\n"
    )
    selection = select(found(plugin_file(tmp_path, file="spy.py", body=body)))
    assert {name for name, _ in selection.implementations("schedule")} == {"sched/easy", "observer/spy"}
    path = plugin_file(tmp_path, file="spy2.py", body=body.replace("(wrapper=True)", "").replace("(yield)", "None"))
    with pytest.raises(PluginError, match="implements schedule, which is asked only of plugins of type sched/"):
        select(found(path))


# Options


def with_options(**options: Any) -> Any:
    selection = selecting(
        WithOptions, slots={"PriorityType": "priority/options"}, options={"priority/options": options}
    )
    return selection.plugins["priority/options"].given


def test_options_of_further_types_are_taken() -> None:
    for given in (
        {"maybe": None},
        {"maybe": 2},
        {"several": [1, 2]},
        {"shares": {"a": 1.0}},
        {"ends": 3},
        {"ends": [3]},
    ):
        with_options(**given)


@pytest.mark.parametrize(
    ("attribute", "words"),
    [
        ("machines = 'nodes'", "its machines is 'nodes'; it is a tuple of texts, such as (\"nodes\",)"),
        ("looks_for = 'x'", "its looks_for is 'x'; it is a mapping from text to text"),
        ("slurm_conf = {1: 2}", "its slurm_conf is {1: 2}; it is a mapping from text to text"),
        ("needs_oracle = 'no'", "its needs_oracle is 'no'; it is True or False"),
    ],
)
def test_attributes_of_another_kind_are_refused(tmp_path: Path, attribute: str, words: str) -> None:
    error = broken(f"{HEAD}class Mine:\n    name = 'priority/mine'\n    {attribute}\n", tmp_path)
    assert (error.plugin, error.message) == ("priority/mine", words)
    assert error.where == f"{tmp_path / 'bad.py'}:2"


def test_options_reach_the_plugin() -> None:
    assert with_options() == (1.0, 3, "up", "a", False, None)
    given = {"weight": 2, "count": 0, "mode": "down", "label": "b", "eager": True, "anything": [1]}
    assert with_options(**given) == tuple(given.values())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"wieght": 1}, "priority/options has no option 'wieght' (did you mean 'weight'?); its options: weight, count"),
        ({"weight": "heavy"}, "priority/options.weight takes a number, not 'heavy'"),
        ({"weight": True}, "priority/options.weight takes a number, not True"),
        ({"count": 1.5}, "priority/options.count takes a whole number, not 1.5"),
        ({"count": True}, "priority/options.count takes a whole number, not True"),
        ({"label": 3}, "priority/options.label takes text, not 3"),
        ({"eager": 1}, "priority/options.eager takes true or false, not 1"),
        ({"maybe": "3"}, "priority/options.maybe takes a number or nothing, not '3'"),
        ({"several": "1,2"}, "priority/options.several takes a list, not '1,2'"),
        ({"shares": [1]}, "priority/options.shares takes a mapping, not [1]"),
        ({"ends": "1"}, "priority/options.ends takes a whole number or a list, not '1'"),
        ({"mode": "sideways"}, "priority/options.mode is one of up, down, not 'sideways'"),
        ({"count": -1}, "priority/options: count is -1; give 0 or more"),
    ],
)
def test_an_option_that_cannot_be_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        with_options(**options)
    assert str(caught.value).startswith(words)


def test_a_plugin_without_options_says_so() -> None:
    with pytest.raises(ConfigurationError, match="priority/mine has no option 'x'; its options: none"):
        selecting(Mine, slots={"PriorityType": "priority/mine"}, options={"priority/mine": {"x": 1}})


def test_a_bundled_literal_is_checked() -> None:
    slots, options = {"SchedulerType": "sched/conservative"}, {"sched/conservative": {"compress": "later"}}
    with pytest.raises(ConfigurationError, match="compress is one of rebuild, never_later, not 'later'"):
        selecting(slots=slots, options=options)


def test_a_missing_option_is_told_with_plugin_and_line() -> None:
    with pytest.raises(PluginError, match=r"cannot be made: TypeError: .*half_life") as caught:
        selecting(Demanding, slots={"PriorityType": "priority/demanding"})
    assert caught.value.plugin == "priority/demanding"
    assert caught.value.where is not None and caught.value.where.startswith(__file__)


def test_types_that_cannot_be_told_are_not_checked(tmp_path: Path) -> None:
    body = (
        "from __future__ import annotations\n"
        f"{HEAD}class Mine:\n    name = 'priority/mine'\n    def __init__(self, x: NotThere = 1):\n        self.x = x\n"
    )
    selection = select(
        found(plugin_file(tmp_path, body=body)), {"PriorityType": "priority/mine"}, {"priority/mine": {"x": "y"}}
    )
    assert selection.plugins["priority/mine"].x == "y"


# What is known of a plugin


def test_what_is_known_of_a_plugin() -> None:
    info = PluginInfo.of(Mine)
    assert (info.type, info.slot, info.summary) == ("priority", "PriorityType", "Shortest first.")
    assert info.hooks == ["priority_set"]
    assert info.options() == {}
    options = "weight count mode label eager anything maybe several shares ends"
    assert list(PluginInfo.of(WithOptions).options()) == options.split()


def test_slots_for_names() -> None:
    assert slots_for(["sched/fcfs", "priority/sjf"]) == {"SchedulerType": "sched/fcfs", "PriorityType": "priority/sjf"}
    assert slots_for([]) == {}


@pytest.mark.parametrize("name", ["easy", "thing/easy", "", "observer/mine"])
def test_slots_for_a_name_without_a_slot(name: str) -> None:
    with pytest.raises(ConfigurationError, match="is not the name of a plugin; names look like sched/easy"):
        slots_for([name])


def test_slots_for_two_of_one_type() -> None:
    with pytest.raises(ConfigurationError, match="sched/fcfs and sched/easy are both for SchedulerType; name one"):
        slots_for(["sched/fcfs", "sched/easy"])


# Blame


def raised_by(plugin: Any, hook: str, *values: Any) -> Exception:
    try:
        getattr(plugin, hook)(*values)
    except Exception as error:
        return error
    raise AssertionError("it did not raise")


class Failing:
    name: ClassVar[str] = "priority/failing"

    @hookimpl
    def priority_set(self, view: Any) -> Sequence[float]:
        return self._helper(view)

    def _helper(self, view: Any) -> Sequence[float]:
        raise KeyError("user")  # here


def test_blame_names_the_line_that_failed() -> None:
    selection = selecting(Failing, slots={"PriorityType": "priority/failing"})
    error = raised_by(selection.plugins["priority/failing"], "priority_set", None)
    blamed = selection.blame("priority_set", error, time=7.5, job=3)
    line = next(
        number for number, text in enumerate(Path(__file__).read_text().splitlines(), 1) if text.endswith("# here")
    )
    assert str(blamed) == (
        f"plugin priority/failing, hook priority_set, job 3, time 7.5 s, {__file__}:{line}: KeyError: 'user'"
    )


def test_blame_falls_on_nobody_who_had_no_part_in_it() -> None:
    selection = selecting(Failing, slots={"PriorityType": "priority/failing"})
    error = raised_by(Catalogue(), "add", None)
    assert error.__traceback__ is not None
    # Without the frame of this file, which would count as a plugin's.
    assert selection.blame("priority_set", error.with_traceback(error.__traceback__.tb_next)) is None
    kept = PluginError("x", plugin="sched/y")
    assert selection.blame("priority_set", kept) is kept


@pytest.mark.slow
def test_pluggy_knows_every_hook() -> None:
    assert isinstance(selecting().manager, pluggy.PluginManager)
    assert all(hasattr(selecting().manager.hook, hook) for kind in SLOTS.values() for hook in hooks_of(kind))


class Slotted:
    __slots__ = ("priority_set",)

    def pass_done(self) -> None: ...


class Unslotted:
    priority_set = None

    def pass_done(self) -> None: ...


@pytest.mark.parametrize("kind", [Slotted, Unslotted])
def test_hooks_that_an_instance_has_of_its_own_are_found_as_pluggy_finds_them(kind: type) -> None:
    @hookimpl
    def answer(view: object) -> list[float]:
        return []

    ours, pluggys = Manager(), pluggy.PluginManager("slurm_sim_plugins")
    pluggys.add_hookspecs(SPECS["priority"])
    for manager in (ours, pluggys):
        for plugin in (kind(), kind()):
            plugin.priority_set = None
            manager.register(plugin)
        plugin = kind()
        plugin.priority_set = answer
        manager.register(plugin)
        assert [each.plugin for each in manager.hook.priority_set.get_hookimpls()] == [plugin]
    assert not ours.hook.pass_done.get_hookimpls()


def test_managers_share_no_plugins() -> None:
    one, other = Manager(), Manager()
    one.register(Mine())
    assert one.hook.priority_set.get_hookimpls() and not other.hook.priority_set.get_hookimpls()
    assert one.hook.priority_set.spec is other.hook.priority_set.spec


def test_a_loaded_file_leaves_its_module_where_its_types_are_found(tmp_path: Path) -> None:
    info = found(plugin_file(tmp_path)).get("priority/mine")
    assert info is not None
    assert sys.modules[info.factory.__module__].Mine is info.factory
