"""`workload.toml`: what is accepted, and how each wrong value is told."""

from pathlib import Path

import pytest

from warploom.backends.emulated import run_options
from warploom.core.errors import BadInputError, SourceError, WarploomError, WorkloadError
from warploom.core.records import Api, Limits, RunSpec, Timing
from warploom.workload.outputs import Output
from warploom.workload.paths import is_workload
from warploom.workload.workload import Workload, load_target

EXAMPLES = Path(__file__).parents[2] / "examples"

FULL = """\
name = "demo"
program = "demo.cu"
sources = ["more.cu"]
include_dirs = ["inc"]
ranks = 8
args = ["--seed", "{seed}", "x{seed}y"]
lsa_size = 4
nccl = "2.30.7"
seeds = 5
api = ["lsa"]
[defines]
TOKENS = 64
SCALE = 0.5
NAME = "x"
[limits]
seconds = 5
memory_mb = 512
output_mb = 2
[[outputs]]
buffer = "d_out + off"
dtype = "bfloat16"
[[outputs]]
buffer = "d_sum"
dtype = "float"
rtol = 0.001
atol = 0.5
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "demo.cu").write_text("int main() {}\n")
    (tmp_path / "more.cu").write_text("\n")
    (tmp_path / "inc").mkdir()
    return tmp_path


def write(folder: Path, text: str) -> Path:
    path = folder / "workload.toml"
    path.write_text(text)
    return path


def test_every_key_is_read(folder: Path) -> None:
    workload = Workload.from_file(write(folder, FULL))
    assert workload == Workload.from_file(folder)
    assert workload.program == (folder / "demo.cu").resolve()
    assert workload.sources == ((folder / "more.cu").resolve(),)
    assert workload.include_dirs == ((folder / "inc").resolve(),)
    assert workload.defines == {"TOKENS": "64", "SCALE": "0.5", "NAME": "x"}
    assert workload.limits == Limits(5.0, 512, 2)
    assert workload.api == (Api.LSA,)
    assert workload.outputs == (
        Output("d_out+off", "bfloat16", 3e-2, None),
        Output("d_sum", "float32", 0.001, 0.5),
    )
    assert workload.args_for(7) == ("--seed", "7", "x7y")


def test_build_spec_finds_headers_of_a_candidate_elsewhere(folder: Path) -> None:
    workload = Workload.from_file(write(folder, FULL))
    own = workload.build_spec("2.30.7")
    assert own.include_dirs == workload.include_dirs
    other = workload.build_spec("2.30.7", Path("/elsewhere/candidate.cu"))
    assert other.include_dirs == (*workload.include_dirs, workload.program.parent)


@pytest.mark.parametrize(
    ("line", "broken", "number", "words"),
    [
        ("ranks = 8", "ranks = 0", 5, "ranks should be greater than or equal to 1, got 0"),
        ("ranks = 8", "ranks = 1000", 5, "ranks should be less than or equal to 256, got 1000"),
        ("ranks = 8", 'ranks = "8"', 5, "ranks should be a valid integer, got '8'"),
        ("ranks = 8", "ranks = 6", 7, "lsa_size must divide the ranks (6), got 4"),
        ("lsa_size = 4", "node_size = 3", 7, "node_size must divide the ranks (8), got 3"),
        ("lsa_size = 4", "processes = 3", 7, "processes must divide the ranks (8), got 3"),
        ("lsa_size = 4", "node_size = 0", 7, "node_size should be greater than or equal to 1"),
        ("seeds = 5", "seedz = 5", 9, "seedz: unknown key"),
        ('program = "demo.cu"', "", None, "program: this key is required"),
        ('nccl = "2.30.7"', 'nccl = "new"', 8, "nccl"),
        ("seconds = 5", "seconds = 0", 16, "limits.seconds should be greater than 0, got 0"),
        ("seconds = 5", "hours = 5", 16, "limits.hours: unknown key"),
        ('api = ["lsa"]', 'api = ["ib"]', 10, "api must hold only gin, lsa, got 'ib'"),
        ('dtype = "float"', 'dtype = "fp4"', 24, "outputs.dtype must be one of float64"),
        ("rtol = 0.001", "rtol = -1", 25, "outputs.1.rtol should be greater than or equal to 0"),
        ("TOKENS = 64", "TOKENS = true", 12, "defines.TOKENS"),
        ("[limits]", "[limits", 15, "is not valid TOML"),
    ],
)
def test_a_wrong_value_names_file_line_key_rule_and_value(
    folder: Path, line: str, broken: str, number: int | None, words: str
) -> None:
    path = write(folder, FULL.replace(line, broken))
    with pytest.raises(WorkloadError) as caught:
        Workload.from_file(path)
    assert words in caught.value.message
    assert caught.value.file == str(path)
    assert caught.value.line == number
    assert caught.value.exit_code == 2


def test_a_launcher_is_the_words_of_a_command(folder: Path) -> None:
    def read(line: str) -> Workload:
        return Workload.from_file(write(folder, FULL.replace("lsa_size = 4", line)))

    words = ("srun", "--mpi=pmix", "--partition=gpu big")
    assert read("launcher = \"srun --mpi=pmix --partition='gpu big'\"").launcher == words
    with pytest.raises(WorkloadError, match="launcher must be the words of a command") as caught:
        read('launcher = "srun \'x"')
    assert caught.value.line == 7
    with pytest.raises(WorkloadError, match=r"launcher must begin with srun.* got 'ssh'") as caught:
        read('launcher = "ssh n1"')
    assert caught.value.line == 7


def test_missing_files_are_told(folder: Path) -> None:
    with pytest.raises(SourceError, match="no such file") as caught:
        Workload.from_file(write(folder, 'program = "gone.cu"\n'))
    assert str(caught.value.file).endswith("gone.cu")
    with pytest.raises(SourceError, match="no such include folder"):
        Workload.from_file(write(folder, 'program = "demo.cu"\ninclude_dirs = ["gone"]\n'))
    with pytest.raises(SourceError, match="no such file"):
        load_target(folder / "gone.toml")
    with pytest.raises(SourceError, match="no such file"):
        load_target(folder / "gone.cu")


def test_a_folder_without_a_workload_is_no_program(tmp_path: Path) -> None:
    assert not is_workload(tmp_path)
    with pytest.raises(SourceError, match=r"without a workload\.toml"):
        load_target(tmp_path)


@pytest.mark.parametrize("ranks", [0, -1, 1000])
def test_rank_counts_are_checked(folder: Path, ranks: int) -> None:
    with pytest.raises(BadInputError, match=f"from 1 to 256, got {ranks}"):
        Workload.from_program(folder / "demo.cu", ranks=ranks)


def test_overrides_leave_the_rest(folder: Path) -> None:
    workload = Workload.from_file(write(folder, FULL))
    changed = workload.with_overrides(ranks=4, defines={"TOKENS": "2", "NEW": ""}, seeds=1)
    assert (changed.shape.ranks, changed.seeds, changed.shape.lsa_size) == (4, 1, 4)
    assert changed.defines == {"TOKENS": "2", "SCALE": "0.5", "NAME": "x", "NEW": ""}
    assert changed.args == workload.args
    assert workload.shape.ranks == 8
    with pytest.raises(WarploomError, match="lsa_size must divide"):
        workload.with_overrides(ranks=2)


def test_the_ranks_of_a_machine_share_memory_unless_told_otherwise(folder: Path) -> None:
    full = Workload.from_file(write(folder, FULL))
    assert (full.shape.node_size, full.shape.lsa_size) == (None, 4)
    two = Workload.from_file(write(folder, FULL.replace("lsa_size = 4", "node_size = 4")))
    assert (two.shape.node_size, two.shape.lsa_size) == (4, 4)
    linked = Workload.from_file(
        write(folder, FULL.replace("lsa_size = 4", "node_size = 4\nlsa_size = 8"))
    )
    assert (linked.shape.node_size, linked.shape.lsa_size) == (4, 8)
    four = two.with_overrides(node_size=2)
    assert (four.shape.node_size, four.shape.lsa_size) == (2, 2)
    assert full.with_overrides(node_size=2).shape.lsa_size == 4
    assert two.with_overrides(lsa_size=8).shape.lsa_size == 8


def test_each_run_is_on_the_workloads_machines(folder: Path) -> None:
    two = Workload.from_file(write(folder, FULL.replace("lsa_size = 4", "node_size = 4")))
    options = run_options(two, RunSpec(0, Timing.EAGER), "per_rank")
    assert (options.node_size, options.lsa_size) == (4, 4)
    with pytest.raises(BadInputError, match="1 process cannot be shared out to 2 machines"):
        run_options(two, RunSpec(0, Timing.EAGER), "single")


@pytest.mark.parametrize("name", sorted(path.parent.name for path in EXAMPLES.glob("*/*.toml")))
def test_the_examples_are_workloads(name: str) -> None:
    workload = load_target(EXAMPLES / name)
    assert workload.name == name
    assert workload.outputs


@pytest.mark.parametrize(("memory_mb", "of_a_device"), [(512, 4096), (12288, 6144), (99999, 40960)])
def test_a_device_has_half_of_the_memory(tmp_path: Path, memory_mb: int, of_a_device: int) -> None:
    (tmp_path / "demo.cu").write_text("int main() {}\n")
    workload = Workload.from_program(tmp_path / "demo.cu").with_overrides(
        limits=Limits(memory_mb=memory_mb)
    )
    assert workload.limits == Limits(memory_mb=memory_mb)
    options = run_options(workload, RunSpec(0, "lazy"), "single")
    assert options.device_memory_mb == of_a_device
    assert options.device_most_mb == 40960
    assert options.whole_history_mb == memory_mb // 4
