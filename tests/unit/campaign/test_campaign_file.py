"""Campaign files: what they expand to, and what is refused."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.campaign import RunSpec, identity, run_all
from emulator.campaign.expand import expand
from emulator.campaign.file import read_campaign
from emulator.campaign.generated import Generated
from emulator.campaign.spec import forget
from emulator.campaign.variants import values_of, variants
from emulator.workload.models import lublin99, tsafrir05
from emulator.workload.swf import read_swf, write_swf
from slurm_sim_plugins import ConfigurationError, InputError, SlurmSimError

STUDY = """
[campaign]
repetitions = 2
metrics = ["mean_wait"]
baseline = "EASY"
threshold = 60

[workloads.log]
trace = "logs/jobs.swf"
filter = "papers"
processors = 64

[workloads.model]
model = "lublin99"
jobs = 50
processors = 64
load = [0.5, 0.7]
estimates = "tsafrir05"

[policies]
EASY = ["sched/easy"]

[policies.history]
use = ["sched/easy", "walltime/history"]
plugins."walltime/history".key = "user"
plugins."walltime/history".percentile = { from = 70, to = 90, step = 10 }

[policies.PV]
config = "papers/pv_easy"
preemption.mode = ["REQUEUE", "SUSPEND"]

[simulation]
passes = ["batch", "event"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "logs").mkdir()
    write_swf(lublin99.generate(50, 64, 1, load=0.8), tmp_path / "logs" / "jobs.swf")
    return tmp_path


def runs_of(folder: Path, text: str = STUDY) -> list[RunSpec]:
    file = folder / "study.toml"
    file.write_text(text)
    return expand(read_campaign(file))


def test_runs_are_workloads_times_policies_times_options_times_seeds(folder: Path) -> None:
    specs = runs_of(folder)
    places = {(each.coordinates["workload"], each.coordinates["policy"], each.coordinates["seed"]) for each in specs}
    workloads = ["log", "model load=0.5", "model load=0.7"]
    policies = ["EASY", *(f"history percentile={p}" for p in (70, 80, 90)), "PV mode=REQUEUE", "PV mode=SUSPEND"]
    passes = [" passes=batch", " passes=event"]
    expected = {(w + p, x, s) for w, p, x, s in itertools.product(workloads, passes, policies, (0, 1))}
    assert places == expected
    assert len(specs) == len(expected) == len({each.name for each in specs}) == len({identity(each) for each in specs})


def test_a_run_is_configured_as_the_file_says(folder: Path) -> None:
    specs = {each.name: each for each in runs_of(folder)}
    history = specs["model load=0.7 passes=event / history percentile=80 / seed 1"]
    assert history.config.passes == "event" and history.config.seed == 1
    assert history.config.slots == {"SchedulerType": "sched/easy", "WalltimeType": "walltime/history"}
    assert history.config.plugin_options["walltime/history"] == {"key": "user", "percentile": 80}
    assert isinstance(history.source, Generated) and history.source.seed == 1
    preempting = specs["log passes=batch / PV mode=SUSPEND / seed 0"]
    assert preempting.config.preemption.mode == "SUSPEND" and not preempting.config.kill_at_limit
    assert preempting.source == (folder / "logs" / "jobs.swf").resolve()
    assert preempting.reading == {"filter": "papers"} and preempting.config.processors == 64
    assert preempting.coordinates["preemption.mode"] == "SUSPEND"


def test_files_that_options_name_are_in_the_folder_and_their_contents_count(folder: Path) -> None:
    blocks = folder / "blocks.toml"
    policy = '[policies.blocks]\nuse = ["sched/fcfs", "select/blocks"]\nplugins."select/blocks".file = "blocks.toml"\n'
    text = STUDY.replace("[simulation]", f"{policy}[simulation]")
    blocks.write_text('midplanes = 2\nnodes_per_midplane = 32\n[[block]]\nname = "all"\nmidplanes = "0-1"\n')
    with pytest.raises(ConfigurationError, match="leads out of the folder"):
        runs_of(folder, text.replace('"blocks.toml"', '"/etc/hosts"'))
    first = [each for each in runs_of(folder, text) if each.coordinates["policy"] == "blocks"]
    assert {each.config.plugin_options["select/blocks"]["file"] for each in first} == {str(blocks)}
    before = [identity(each) for each in first]
    moved = folder / "elsewhere"
    moved.mkdir()
    blocks.rename(moved / "blocks.toml")
    (folder / "study.toml").write_text(text)
    specs = expand(read_campaign(folder / "study.toml", [moved]))
    after = [each for each in specs if each.coordinates["policy"] == "blocks"]
    assert [identity(each) for each in after] == before
    (moved / "blocks.toml").write_text((moved / "blocks.toml").read_text() + "# changed\n")
    forget()
    assert not {identity(each) for each in after} & set(before)


def test_real_time_jobs_are_drawn_with_the_seed_unless_that_is_stated(folder: Path) -> None:
    text = STUDY.replace('filter = "papers"', "realtime = 10\nrealtime_seed = 7")
    drawn = [each.reading for each in runs_of(folder, text) if each.coordinates["workload"] == "log passes=batch"]
    assert {each["realtime_seed"] for each in drawn} == {7}
    text = text.replace("\nrealtime_seed = 7", "")
    drawn = [each.reading for each in runs_of(folder, text) if each.coordinates["workload"] == "log passes=batch"]
    assert {(each["realtime"], each["realtime_seed"]) for each in drawn} == {(10, 0), (10, 1)}


@pytest.mark.slow
def test_a_trace_is_parsed_once_not_once_a_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    monkeypatch.setattr("emulator.workload.read.read_trace", lambda path, **_: parsed.append(path) or read_swf(path))
    specs = [each for each in runs_of(folder) if isinstance(each.source, Path)]
    assert all(not outcome.error for outcome in run_all(specs)) and len(specs) == 24
    assert parsed == [(folder / "logs" / "jobs.swf").resolve()]


def test_generated_jobs_are_those_of_the_model(folder: Path) -> None:
    source = next(each.source for each in runs_of(folder) if isinstance(each.source, Generated))
    assert isinstance(source, Generated)
    alone = tsafrir05.assign(lublin99.generate(50, 64, 0, load=0.5, estimates="exact"), 0)
    made = source.workload()
    for column in ("submit", "processors", "run", "time_limit"):
        assert (getattr(made, column) == getattr(alone, column)).all()


@pytest.mark.slow
def test_identities_stay_where_nothing_changed_and_do_not_depend_on_places(folder: Path) -> None:
    before = {each.name: identity(each) for each in runs_of(folder)}
    (folder / "elsewhere" / "logs").mkdir(parents=True)
    (folder / "elsewhere" / "logs" / "jobs.swf").write_bytes((folder / "logs" / "jobs.swf").read_bytes())
    assert {each.name: identity(each) for each in runs_of(folder / "elsewhere")} == before
    more = STUDY.replace("repetitions = 2", "repetitions = 3").replace("[0.5, 0.7]", "[0.5, 0.6, 0.7]")
    after = {each.name: identity(each) for each in runs_of(folder, more)}
    assert len(after) == 4 * 2 * 6 * 3 and before.items() <= after.items()
    other = {each.name: identity(each) for each in runs_of(folder, STUDY.replace("threshold = 60", "threshold = 10"))}
    assert not set(other.values()) & set(before.values())


WRONG = [
    ("[workloads.log]", "[workload.log]", "no key workload "),
    ("repetitions = 2", "repetitions = 0", "campaign.repetitions"),
    ("repetitions = 2", "repetitions = 9999999999999", "at most 1,000,000"),
    ("repetitions = 2", "seeds = { from = 0, to = 999999 }", "runs; at most 1,000,000"),
    ("repetitions = 2", "repetitions = 2\nseeds = [1]", "leave campaign.repetitions out"),
    ("repetitions = 2", "seeds = [1, 1]", "1 is in the list twice"),
    ("repetitions = 2", "seeds = [-1]", "campaign.seeds are whole numbers"),
    ('metrics = ["mean_wait"]', 'metrics = ["mean_weight"]', "did you mean 'mean_wait'"),
    ('baseline = "EASY"', 'baseline = "EASE"', "did you mean 'EASY'"),
    ('"papers"\n', '["papers", "nonsense"]\n', "nonsense"),
    ("processors = 64\n\n[workloads.model]", "seats = 64\n\n[workloads.model]", "workloads.log.seats"),
    ('model = "lublin99"', 'model = "lublin98"', "models are lublin99"),
    ("load = [0.5, 0.7]", "load = [0.5, 7]", "load"),
    ("load = [0.5, 0.7]", "load = []", "the list is empty"),
    ("load = [0.5, 0.7]", "lode = 0.5", "did you mean 'load'"),
    ("jobs = 50\n", "", "jobs is missing"),
    ("from = 70, to = 90", "from = 90, to = 70", "goes up"),
    ("from = 70, to = 90", "first = 70, to = 90", "write a range as"),
    ('EASY = ["sched/easy"]', 'EASY = ["sched/eesy"]', "did you mean 'sched/easy'"),
    ('EASY = ["sched/easy"]', 'EASY = "sched/easy"', "is a table"),
    ('"walltime/history".key', '"walltime/history".kee', "has no option 'kee'"),
    ("papers/pv_easy", "papers/pv_eazy", "there is no file 'papers/pv_eazy'"),
    ('passes = ["batch", "event"]', 'passes = ["batch", "events"]', "passes is one of batch, event"),
    ('passes = ["batch", "event"]', "seed = 3", "simulation.seed"),
    ('preemption.mode = ["REQUEUE", "SUSPEND"]', 'simulation.passes = "batch"', "state it once"),
    ("logs/jobs.swf", "logs/job.swf", "there is no file 'logs/job.swf'"),
    ("[campaign]", "[campaign", "is not TOML"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("old", "new", "words"), WRONG, ids=[each[2] for each in WRONG])
def test_what_cannot_be_is_told_before_any_run(folder: Path, old: str, new: str, words: str) -> None:
    assert old in STUDY
    with pytest.raises(SlurmSimError) as caught:
        runs_of(folder, STUDY.replace(old, new))
    assert words in str(caught.value)


@pytest.mark.parametrize("name", ["/etc/hosts", "../secret.swf", "logs/../../secret.swf", "logs\\\\jobs.swf", ""])
def test_no_path_leads_out_of_the_folder(folder: Path, name: str) -> None:
    with pytest.raises(ConfigurationError, match="leads out of the folder"):
        runs_of(folder, STUDY.replace("logs/jobs.swf", name))
    with pytest.raises(ConfigurationError, match="leads out of the folder"):
        runs_of(folder, STUDY.replace("papers/pv_easy", name))


def test_no_link_leads_out_of_the_folder_but_the_user_may_name_others(folder: Path, tmp_path: Path) -> None:
    inner = folder / "inner"
    inner.mkdir()
    (inner / "logs").symlink_to(folder / "logs")
    with pytest.raises(ConfigurationError, match="is a link out of"):
        runs_of(inner)
    (inner / "logs").unlink()
    file = inner / "study.toml"
    assert len(expand(read_campaign(file, [folder]))) == 3 * 2 * 6 * 2


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no\.toml: cannot be read"):
        read_campaign(tmp_path / "no.toml")


@given(st.integers(-50, 50), st.integers(0, 60), st.integers(1, 7))
def test_ranges_hold_their_ends(first: int, width: int, step: int) -> None:
    assert values_of({"from": first, "to": first + width, "step": step}, "x") == list(
        range(first, first + width + 1, step)
    )
    tenths = values_of({"from": first / 10, "to": (first + width) / 10, "step": step / 10}, "x")
    assert tenths == [number / 10 for number in range(first, first + width + 1, step)]


@given(
    st.dictionaries(
        st.text("abc", min_size=1), st.lists(st.integers(), min_size=1, max_size=3, unique=True), max_size=4
    )
)
def test_variants_are_all_combinations_once(options: dict[str, list[int]]) -> None:
    made = variants(options, "x")
    assert len(made) == math.prod(map(len, options.values()))
    assert {tuple(each.values.items()) for each in made} == {
        tuple(zip(options, chosen, strict=True)) for chosen in itertools.product(*options.values())
    }
