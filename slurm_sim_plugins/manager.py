"""Finds plugins, selects one per slot, and names the culprit of an error.

Slurm selects one plugin per slot, while pluggy calls all that are registered. So
plugins are only *catalogued* when they are found; :func:`select` makes fresh instances
of those that the configuration names, and of the observers, and registers these alone.
Which plugin was found last never matters; two that claim one name are an error.

A plugin is code, and it is run: bundled ones, installed ones (entry-point group
``slurm_sim_plugins``), and the files and folders that the caller named. Nothing else is
loaded, and no name is taken from a trace.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import importlib.util
import inspect
import pkgutil
import re
import sys
import traceback
import types
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal
from zlib import crc32

import pluggy

from slurm_sim_plugins import renamed
from slurm_sim_plugins.errors import ConfigurationError, PluginError, SlurmSimError, meant
from slurm_sim_plugins.hookspecs import API, CHAINS, DEFAULTS, PROJECT, SLOTS, SPECS, hooks_of

BUNDLED = "bundled"
NO_PLUGIN = re.compile(r"_.*|test_.*|.*_test\.py|conftest\.py")
"""Files of a folder that are not loaded: what plugins share, and their tests."""
RNG = "rng"
"""A plugin whose class has a parameter of this name is given a random generator of its own."""
ATTRIBUTES: Mapping[str, type] = {
    **dict.fromkeys(("needs_oracle", "of_running", "only_starts", "tracks_usage", "whole_nodes"), bool),
    **dict.fromkeys(("machines", "needs_tiers"), tuple),
    **dict.fromkeys(("beside_slurm_conf", "looks_for", "slurm_conf"), Mapping),
}
"""Attributes of plugin classes that say something of their plugins, and of what kind they are."""
COLLECTIONS = (list, tuple, set, frozenset, dict, Sequence, Collection, Iterable, Set, Mapping)
WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
"""What an option of each type takes."""


@dataclass(frozen=True)
class PluginInfo:
    """One plugin that was found.

    Attributes:
        name: such as ``sched/easy``.
        origin: ``bundled``, a file, or an installed distribution.
        factory: the class.
    """

    name: str
    origin: str
    factory: type

    @classmethod
    def of(cls, factory: type, origin: str = "given") -> PluginInfo:
        """Describe a plugin class.

        Raises:
            PluginError: it is not a class, or its name is not a plugin's name.
        """
        if not inspect.isclass(factory):
            raise PluginError(
                f"{factory!r} is an instance; give its class, of which each simulation makes an instance of its own",
                plugin=origin,
                where=_line_of(type(factory)),
            )
        return _described(factory, origin)

    @property
    def type(self) -> str:
        """The part of the name before the slash."""
        return self.name.partition("/")[0]

    @property
    def slot(self) -> str | None:
        """The configuration key that selects it; None for an observer."""
        return next((slot for slot, kind in SLOTS.items() if kind == self.type), None)

    @property
    def summary(self) -> str:
        """First line of the class's documentation."""
        return (inspect.getdoc(self.factory) or "").partition("\n")[0]

    @property
    def hooks(self) -> list[str]:
        """The hooks that it implements."""
        return [name for name in hooks_of(self.type) if _is_hook(getattr(self.factory, name, None))]

    def options(self) -> dict[str, inspect.Parameter]:
        """Its options: the parameters of the class, but for ``rng``."""
        return {name: parameter for name, parameter in self._parameters.items() if name != RNG}

    def draws(self) -> bool:
        """Whether it asks for random numbers: a parameter of the class is called ``rng``."""
        return RNG in self._parameters

    @cached_property
    def _parameters(self) -> dict[str, inspect.Parameter]:
        if self.factory.__init__ is object.__init__:  # type: ignore[misc]
            return {}
        return dict(inspect.signature(self.factory).parameters)


class Catalogue:
    """The plugins that were found, by name."""

    def __init__(self, found: Iterable[PluginInfo] = ()) -> None:
        self._plugins: dict[str, PluginInfo] = {}
        for info in found:
            self.add(info)

    def add(self, info: PluginInfo) -> None:
        """Take in a plugin.

        Raises:
            ConfigurationError: another plugin has that name.
        """
        known = self.get(info.name)
        if known is not None and known.factory is not info.factory:
            raise ConfigurationError(
                f"two plugins claim the name {info.name!r}: {known.origin} and {info.origin}; rename one of them"
            )
        self._plugins[info.name] = info

    def get(self, name: str) -> PluginInfo | None:
        """The plugin of that name, also a bundled one that was not looked for yet."""
        if name not in self._plugins:
            bundled = _bundled(name) if isinstance(name, str) else None
            if bundled is not None:
                self._plugins[name] = bundled
        return self._plugins.get(name)

    def copy(self) -> Catalogue:
        """Another catalogue with the same plugins."""
        other = Catalogue()
        other._plugins = dict(self._plugins)
        return other

    def observers(self) -> list[PluginInfo]:
        """The plugins that are not selected but all told; none of them is bundled."""
        return [info for info in self._plugins.values() if info.type == "observer"]

    def __iter__(self) -> Iterator[PluginInfo]:
        for name in bundled_names():
            self.get(name)
        return iter(sorted(self._plugins.values(), key=lambda info: (list(SPECS).index(info.type), info.name)))


def discover(
    files: Iterable[str | Path] = (), folders: Iterable[str | Path] = (), *, installed: bool = True
) -> Catalogue:
    """Find plugins.

    Args:
        files: Python files that the user named.
        folders: folders that the user named; :func:`plugin_files` says which files are loaded.
        installed: whether to load the entry points of the group ``slurm_sim_plugins``.

    Raises:
        ConfigurationError: a file is not there, two plugins claim one name.
        PluginError: a file or an entry point that cannot be imported or holds no plugin.
    """
    catalogue = Catalogue()
    if installed:
        for entry in sorted(importlib.metadata.entry_points(group=PROJECT), key=lambda entry: entry.name):
            origin = f"installed: {entry.dist.name if entry.dist else entry.value}"
            try:
                loaded = entry.load()
            except (Exception, SystemExit) as error:
                raise PluginError(
                    f"the entry point {entry.value!r} cannot be loaded ({_in_words(error)}); "
                    "repair the package or uninstall it",
                    plugin=entry.name,
                ) from error
            for factory in _plugin_classes(loaded, entry.name):
                catalogue.add(_described(factory, origin))
    named = [*map(Path, files), *plugin_files(folders)]
    for path in {path.resolve(): path for path in named}.values():
        for factory in _plugin_classes(_load_file(path), str(path)):
            catalogue.add(_described(factory, str(path)))
    return catalogue


@dataclass
class Selection:
    """The plugins of one simulation: fresh instances, registered with pluggy.

    Attributes:
        slots: plugin name by configuration key.
        plugins: instance by name.
        manager: pluggy's manager with these instances.
        infos: what is known of each, by name.
        between: what stands between the emulator and the hooks, or None: makes of a hook's name, and of what
            is called (None if nothing is), what is called instead.
    """

    slots: dict[str, str]
    plugins: dict[str, Any]
    manager: pluggy.PluginManager
    infos: dict[str, PluginInfo] = field(default_factory=dict)
    between: Callable[[str, Callable[..., Any] | None], Callable[..., Any] | None] | None = None

    def implementations(self, hook: str) -> list[tuple[str, Any]]:
        """``(plugin name, pluggy's HookImpl)`` of a hook, in pluggy's order of calling."""
        caller = getattr(self.manager.hook, hook)
        return [(impl.plugin_name, impl) for impl in reversed(caller.get_hookimpls())]

    def deciders(self, hook: str) -> list[str]:
        """Names of the plugins that answer a hook; one that wraps it, such as an observer, only looks on."""
        return [name for name, impl in self.implementations(hook) if not (impl.wrapper or impl.hookwrapper)]

    def line_of(self, hook: str) -> str | None:
        """``file:line`` where the implementation of a hook begins; of several, the one that is called last."""
        codes = [_code_of(impl.function) for _, impl in self.implementations(hook)]
        return f"{codes[-1].co_filename}:{codes[-1].co_firstlineno}" if codes and codes[-1] is not None else None

    def blame(
        self, hook: str, error: BaseException, *, time: float | None = None, job: object | None = None
    ) -> PluginError | None:
        """Turn what a hook raised into an error that names plugin, hook, job, time and line.

        The culprit is found by matching the traceback with the code of the
        implementations, which costs nothing as long as no call fails. Where a plugin has
        its work done elsewhere (a generator of another function, say), code from outside
        this project is its doing. None if no plugin had a part in it.
        """
        if isinstance(error, PluginError):
            return error
        frames = list(traceback.walk_tb(error.__traceback__))
        if isinstance(error, RuntimeError) and isinstance(error.__cause__, StopIteration):
            # Python put it around what a generator raised.
            frames += traceback.walk_tb(error.__cause__.__traceback__)
        implementations = self.implementations(hook)
        names = {inspect.unwrap(each.function).__code__: name for name, each in implementations}
        for depth in reversed(range(len(frames))):
            # The innermost: an exception passes through the wrappers around a hook, too.
            code = frames[depth][0].f_code
            if code in names:
                name = names[code]
                locations = [location for location in map(_location, frames[depth:]) if location[0] == code.co_filename]
                break
        else:
            name = implementations[0][0] if implementations else ""
            locations = [location for location in map(_location, frames) if not _is_own(location[0])]
            if not locations or not name or isinstance(error, SlurmSimError):
                return None
        where = ":".join(map(str, locations[-1]))
        return PluginError(_in_words(error), plugin=name, hook=hook, job=job, time=time, where=where)


def _code_of(function: Any) -> types.CodeType | None:
    return getattr(inspect.unwrap(function), "__code__", None)


def _location(frame: tuple[types.FrameType, int]) -> tuple[str, int]:
    return frame[0].f_code.co_filename, frame[1]


def _is_own(file: str) -> bool:
    """Whether a source file is of this package or lies beside it, where the emulator does."""
    here = Path(__file__).resolve().parent
    return any(folder in Path(file).resolve().parents for folder in (here, here.parent / "emulator"))


class Manager(pluggy.PluginManager):
    """One that knows the hooks of each type of plugin, for a simulation or a part of it.

    pluggy asks of each attribute whether it is a hook, which takes longer than a small simulation; no hook's name
    begins with an underscore. Besides, hooks are specified once for all managers, and which attributes of a class are
    no hooks is found once for all its instances.
    """

    def __init__(self) -> None:
        super().__init__(PROJECT)
        for name, spec in _specified().items():
            caller = pluggy.HookCaller(name, self._hookexec)
            caller.spec = spec
            setattr(self.hook, name, caller)

    def parse_hookimpl_opts(self, plugin: Any, name: str) -> pluggy.HookimplOpts | None:
        """What a hook is marked with; None of what is no hook."""
        kind: Any = type(plugin)
        known = name in _no_hooks(kind) and name not in getattr(plugin, "__dict__", ())
        return None if known or name.startswith("_") else super().parse_hookimpl_opts(plugin, name)


@cache
def _specified() -> dict[str, Any]:
    """The specification of each hook, by its name."""
    manager = pluggy.PluginManager(PROJECT)
    for spec in SPECS.values():
        manager.add_hookspecs(spec)
    return {name: caller.spec for name, caller in vars(manager.hook).items()}


@lru_cache
def _no_hooks(kind: type) -> frozenset[str]:
    """Names of a class's attributes that are no hooks; values of slots are those of each instance."""
    held = {name: inspect.getattr_static(kind, name, None) for name in dir(kind)}
    hooks = {name for name, item in held.items() if _is_hook(item) or _is_hook(getattr(item, "__func__", None))}
    slots = {name for name, item in held.items() if inspect.ismemberdescriptor(item)}
    return frozenset({*held} - hooks - slots)


def select(
    catalogue: Catalogue,
    slots: Mapping[str, str] | None = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    seed: int = 0,
) -> Selection:
    """Make and register the plugins of one simulation.

    Args:
        catalogue: what was found.
        slots: plugin name by configuration key; the others hold their defaults.
        options: options by plugin name.
        seed: of the random numbers that plugins draw.

    Raises:
        ConfigurationError: an unknown slot, plugin or option, or a plugin of another type.
        PluginError: a plugin that cannot be made, or whose hooks are wrong.
    """
    chosen = {**DEFAULTS, **dict(slots or {})}
    infos = {}
    for slot, value in chosen.items():
        names = named(slot, value)
        for name in names:
            info = _selected(catalogue, slot, name)
            infos[info.name] = info
        if slot in CHAINS:
            chosen[slot] = ",".join(names)
    infos.update((info.name, info) for info in catalogue.observers())
    for name in options or {}:
        if name not in infos:
            raise ConfigurationError(
                f"options are given for {name!r}, which is not selected{meant(name, infos)}; selected are "
                f"{', '.join(sorted(infos))}"
            )

    manager = Manager()
    plugins = {}
    for name, info in infos.items():
        check_hooks(info)
        plugin = make_plugin(info, dict((options or {}).get(name, {})), seed)
        try:
            manager.register(plugin, name=name)
        except pluggy.PluginValidationError as error:
            raise PluginError(str(error).strip(), plugin=name, where=_line_of(info.factory)) from error
        plugins[name] = plugin
    return Selection(chosen, plugins, manager, infos)


def named(slot: str, value: str) -> list[str]:
    """The plugins that a slot's value names: one, or none; several where they are asked one after the other."""
    if slot not in CHAINS or not isinstance(value, str):
        return [] if value == DEFAULTS.get(slot) == "" else [value]
    names = dict.fromkeys(filter(None, map(str.strip, value.split(","))))
    return [name if "/" in name else f"{SLOTS[slot]}/{name}" for name in names]


def names_in(slots: Mapping[str, str]) -> list[str]:
    """The plugins that slots name."""
    return [name for slot, value in slots.items() for name in named(slot, value)]


def slots_for(names: Iterable[str]) -> dict[str, str]:
    """Slots by the types of plugin names: ``["sched/fcfs", "priority/sjf"]`` is SJF.

    Raises:
        ConfigurationError: a name without a known type, or two of one type.
    """
    slots: dict[str, str] = {}
    for name in names:
        slot = next((key for key, kind in SLOTS.items() if kind == name.partition("/")[0]), None)
        if slot is None:
            raise ConfigurationError(
                f"{name!r} is not the name of a plugin; names look like sched/easy, "
                f"types are {', '.join(SLOTS.values())}"
            )
        if slot in slots and slot not in CHAINS:
            raise ConfigurationError(f"{slots[slot]} and {name} are both for {slot}; name one")
        slots[slot] = f"{slots[slot]},{name}" if slot in slots else name
    return slots


def bundled_names() -> list[str]:
    """Names of the bundled plugins, which are where their names say."""
    names = []
    for kind in SLOTS.values():
        package = importlib.import_module(f"{PROJECT}.{kind}")
        names += [f"{kind}/{module.name}" for module in pkgutil.iter_modules(package.__path__)]
    return [name for name in names if _bundled(name) is not None]


@cache
def _bundled(name: str) -> PluginInfo | None:
    kind, _, short = name.partition("/")
    if kind not in SLOTS.values() or not short.isidentifier():
        return None
    module_name = f"{PROJECT}.{kind}.{short}"
    if importlib.util.find_spec(module_name) is None:
        return None
    module = importlib.import_module(module_name)
    # What plugins of a package share lies beside them.
    plugins = [each for each in vars(module).values() if inspect.isclass(each) and vars(each).get("name") == name]
    return PluginInfo(name, BUNDLED, plugins[0]) if plugins else None


def _described(factory: type, origin: str) -> PluginInfo:
    name = getattr(factory, "name", None)
    kind = name.partition("/")[0] if isinstance(name, str) else ""
    if not isinstance(name, str) or kind not in SPECS or not name.partition("/")[2]:
        raise PluginError(
            f"class {factory.__name__} has the name {name!r}; a plugin's name is a type and a word, such as "
            f"'priority/{factory.__name__.lower()}'; types are {', '.join(SPECS)}",
            plugin=origin,
            where=_line_of(factory),
        )
    return PluginInfo(name, origin, factory)


def _plugin_classes(loaded: object, origin: str) -> list[type]:
    """The plugin classes of a module, or the class itself."""
    if inspect.isclass(loaded):
        return [loaded]
    if not isinstance(loaded, types.ModuleType):
        raise PluginError(
            f"{origin} names an instance of {type(loaded).__name__}; name its class, of which each simulation "
            "makes an instance of its own",
            plugin=origin,
            where=_line_of(type(loaded)),
        )
    own = [item for item in vars(loaded).values() if inspect.isclass(item) and item.__module__ == loaded.__name__]
    classes = [item for item in own if "name" in vars(item) or any(map(_is_hook, vars(item).values()))]
    # A class without a name from which others are made is no plugin itself.
    classes = [item for item in classes if hasattr(item, "name") or not any(_derives(other, item) for other in own)]
    if not classes:
        stray = [name for name, item in vars(loaded).items() if _is_hook(item)]
        advice = f"put {', '.join(stray)} into a class" if stray else "write a class"
        raise PluginError(
            f"no plugin was found in it: {advice} with a name such as 'priority/mine' and methods marked @hookimpl; "
            "in a folder, the name of a file without plugins begins with _",
            plugin=origin,
        )
    return classes


def plugin_files(folders: Iterable[str | Path]) -> list[Path]:
    """The plugin files of folders, by name: ``*.py``, but no tests of pytest, and none that begins with ``_``.

    Raises:
        ConfigurationError: a folder is not there, or has no such file.
    """
    files: list[Path] = []
    for folder in map(Path, folders):
        if not folder.is_dir():
            raise ConfigurationError(f"the plugin folder {folder} is not a folder")
        found = sorted(path for path in folder.glob("*.py") if not NO_PLUGIN.fullmatch(path.name))
        if not found:
            raise ConfigurationError(
                f"the folder {folder} holds no plugin file: their names end in .py; tests, and names that begin "
                "with _, are left out"
            )
        files += found
    return files


def _load_file(path: Path) -> types.ModuleType:
    if not path.is_file():
        raise ConfigurationError(f"the plugin file {path} is not there")
    name = f"slurm_sim_plugin_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ConfigurationError(f"the plugin file {path} is not a Python file; its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise PluginError(
            f"cannot be imported: {_in_words(error)}", plugin=str(path), where=_line_at_fault(path, spec.origin, error)
        ) from error
    return module


def _line_at_fault(path: Path, origin: str | None, error: BaseException) -> str | None:
    """The line of a plugin file, or of a file that it imports, that could not be run."""
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        return f"{path if error.filename == origin else error.filename}:{error.lineno}"
    lines = [line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == origin]
    return f"{path}:{lines[-1]}" if lines else None


def _selected(catalogue: Catalogue, slot: str, name: str) -> PluginInfo:
    if slot not in SLOTS:
        raise ConfigurationError(f"unknown slot {slot!r}{meant(slot, SLOTS)}; slots are {', '.join(SLOTS)}")
    kind = SLOTS[slot]
    info = catalogue.get(name)
    if info is None:
        known = [other.name for other in catalogue if other.type == kind]
        raise ConfigurationError(
            f"{slot}={name}: there is no such plugin{meant(name if '/' in name else f'{kind}/{name}', known)}; "
            f"found are {', '.join(known)}; one of your own is loaded from its file (--plugin FILE)"
        )
    check_slot(slot, name)
    return info


def check_slot(slot: str, name: str) -> None:
    """Refuse a plugin that is not of the type that a slot takes.

    Raises:
        ConfigurationError: it is of another type.
    """
    kind, _, _ = name.partition("/")
    if kind != SLOTS[slot]:
        raise ConfigurationError(f"{slot}={name}: this slot takes a plugin of type {SLOTS[slot]}/..., not {kind}/...")


@lru_cache
def check_hooks(info: PluginInfo) -> None:
    """Refuse hooks that would never be called: without a mark, misspelt, of another type, or with wrong arguments.

    Raises:
        PluginError: naming the hook, file and line; or the plugin is of another API.
    """
    wanted = getattr(info.factory, "api", API)
    if wanted != API:
        raise PluginError(
            f"it is written for API {wanted!r}, and this is API {API}; see the changelog for what has changed",
            plugin=info.name,
            where=_line_of(info.factory),
        )
    _check_attributes(info)
    allowed = hooks_of(info.type)
    all_hooks = [name for kind in SPECS for name in hooks_of(kind)]
    for name, item in inspect.getmembers(info.factory):
        unmarked = name in allowed and callable(item) and not _is_hook(item)
        if not _is_hook(item) and not unmarked:
            continue
        code = _code_of(item)
        where = f"{code.co_filename}:{code.co_firstlineno}" if code is not None else None
        if unmarked:
            raise PluginError(
                f"{name} has the name of a hook and is not marked, so that it would never be called; put @hookimpl "
                "(from slurm_sim_plugins) above it, or give it another name",
                plugin=info.name,
                hook=name,
                where=where,
            )
        if name in allowed or (info.type == "observer" and name in all_hooks and _is_wrapper(item)):
            _check_arguments(info, name, where)
            continue
        if name in all_hooks:
            kind = next(kind for kind, spec in SPECS.items() if name in vars(spec))
            raise PluginError(
                f"implements {name}, which is asked only of plugins of type {kind}/...; move it into one",
                plugin=info.name,
                where=where,
            )
        raise PluginError(
            f"there is no hook {name!r}{meant(name, all_hooks)}; a {info.type} plugin may implement "
            f"{', '.join(allowed)}",
            plugin=info.name,
            where=where,
        )


def _check_attributes(info: PluginInfo) -> None:
    """Refuse attributes of a class that say something of its plugins and are of another kind than what says it."""
    for name, kind in ATTRIBUTES.items():
        value = inspect.getattr_static(info.factory, name, None)
        if value is None or hasattr(type(value), "__get__"):
            continue  # A property has its value on an instance only.
        texts: Iterable[Any] = ()
        if kind is Mapping:
            fits, takes = isinstance(value, Mapping), "a mapping from text to text"
            texts = [*value, *value.values()] if fits else ()
        elif kind is tuple:
            fits, takes = isinstance(value, list | tuple | set | frozenset), 'a tuple of texts, such as ("nodes",)'
            texts = value if fits else ()
        else:
            fits, takes = isinstance(value, bool), "True or False"
        if not fits or not all(isinstance(one, str) for one in texts):
            raise PluginError(f"its {name} is {value!r}; it is {takes}", plugin=info.name, where=_line_of(info.factory))


def _check_arguments(info: PluginInfo, hook: str, where: str | None) -> None:
    """Refuse arguments that the hook is not given; to leave some out is allowed."""
    spec = next(vars(spec)[hook] for spec in SPECS.values() if hook in vars(spec))
    given = list(inspect.signature(spec).parameters)[1:]
    function = getattr(info.factory, hook)
    parameters = inspect.signature(function).parameters.values()
    taken = [
        parameter.name
        for parameter in parameters
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        and parameter.default is parameter.empty
    ]
    # pluggy passes only what has to be passed, by its place.
    never = [one.name for one in parameters if one.name in given and one.name not in taken]
    if never:
        raise PluginError(
            f"{hook} would never be given {', '.join(never)}, which has a default or may be given by name alone; "
            f"write {hook}(self, {', '.join(given)})",
            plugin=info.name,
            hook=hook,
            where=where,
        )
    is_method = inspect.isfunction(function) and not isinstance(
        inspect.getattr_static(info.factory, hook), staticmethod
    )
    if is_method and (not taken or taken[0] in given):
        raise PluginError(
            f"{hook} is a method, whose first argument is self: {hook}(self, {', '.join(given)})",
            plugin=info.name,
            hook=hook,
            where=where,
        )
    wrong = [name for name in taken[is_method:] if name not in given]
    if wrong:
        raise PluginError(
            f"{hook} takes {', '.join(given)}, not {', '.join(wrong)}", plugin=info.name, hook=hook, where=where
        )


def make_plugin(info: PluginInfo, options: dict[str, Any], seed: int) -> Any:
    """Make a fresh instance.

    Raises:
        ConfigurationError: an option that there is not, or a value that it does not take.
        PluginError: the class cannot be called with these options.
    """
    options = renamed.values(info.factory, options)
    parameters = info.options()
    hints = _types_of_options(info.factory) if parameters else {}
    for option, value in options.items():
        if option not in parameters:
            known = ", ".join(parameters) or "none"
            raise ConfigurationError(
                f"{info.name} has no option {option!r}{meant(option, parameters)}; its options: {known}"
            )
        choices = typing.get_args(hints.get(option)) if typing.get_origin(hints.get(option)) is Literal else ()
        if choices and value not in choices:
            raise ConfigurationError(f"{info.name}.{option} is one of {', '.join(map(str, choices))}, not {value!r}")
        if option in hints and not _is_of(value, hints[option]):
            raise ConfigurationError(f"{info.name}.{option} takes {_words_of(hints[option])}, not {value!r}")
    if info.draws():
        from numpy.random import default_rng

        options = {**options, RNG: default_rng([seed, crc32(info.name.encode())])}
    try:
        return info.factory(**options)
    except ConfigurationError:
        raise
    except ValueError as error:
        raise ConfigurationError(f"{info.name}: {error}") from error
    except Exception as error:
        raise PluginError(
            f"cannot be made: {_in_words(error)}", plugin=info.name, where=_line_of(info.factory)
        ) from error


def takes_several(info: PluginInfo, option: str) -> bool:
    """Whether an option is a list or a mapping, by its type."""
    expected = _types_of_options(info.factory).get(option) if info.options() else None
    return (typing.get_origin(expected) or expected) in COLLECTIONS


def _is_of(value: Any, expected: Any) -> bool:
    """Whether a value is of the type of an option; types that are not known here take any."""
    if expected in (bool, int, float, str):
        accepted = (int, float) if expected is float else expected
        return isinstance(value, accepted) and (expected is bool or not isinstance(value, bool))
    if expected is type(None):
        return value is None
    origin = typing.get_origin(expected) or expected
    if origin in (typing.Union, types.UnionType):
        return any(_is_of(value, each) for each in typing.get_args(expected))
    if origin is Literal:
        return value in typing.get_args(expected)
    if origin in COLLECTIONS:
        if issubclass(origin, Mapping):
            return isinstance(value, Mapping)
        # Of TOML all are lists; a text is none, though it is a sequence.
        return isinstance(value, Iterable) and not isinstance(value, str | bytes)
    return True


def _words_of(expected: Any) -> str:
    """A type in words."""
    if typing.get_origin(expected) in (typing.Union, types.UnionType):
        return " or ".join(map(_words_of, typing.get_args(expected)))
    origin = typing.get_origin(expected) or expected
    if origin in COLLECTIONS:
        return "a mapping" if issubclass(origin, Mapping) else "a list"
    if origin is Literal:
        return " or ".join(map(repr, typing.get_args(expected)))
    return WORDS.get(expected, "nothing" if expected is type(None) else str(expected))


@lru_cache
def _types_of_options(factory: type) -> dict[str, Any]:
    """Types of the parameters, where they can be told: a plugin may import some for type checkers only."""
    try:
        return typing.get_type_hints(factory.__init__)  # type: ignore[misc]
    except (NameError, TypeError, AttributeError):
        return {}


def _derives(item: type, base: type) -> bool:
    return item is not base and issubclass(item, base)


def _is_hook(item: object) -> bool:
    return hasattr(item, f"{PROJECT}_impl")


def _is_wrapper(item: object) -> bool:
    marks = getattr(item, f"{PROJECT}_impl")
    return bool(marks.get("wrapper") or marks.get("hookwrapper"))


def _line_of(factory: type) -> str | None:
    try:
        return f"{inspect.getsourcefile(factory)}:{inspect.getsourcelines(factory)[1]}"
    except (OSError, TypeError):
        return None


def _in_words(error: BaseException) -> str:
    close = meant(error.name, dir(error.obj)) if isinstance(error, AttributeError) and error.name else ""
    return f"{type(error).__name__}: {error}{close}" if str(error) else type(error).__name__
