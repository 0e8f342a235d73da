"""What of a workload's folder an agent gets to work on, and what it never does."""

from pathlib import Path

import pytest

from warploom.core.errors import BadInputError
from warploom.propose.agent.workspace import Workspace, make_workspace
from warploom.workload.workload import Workload


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "user" / "work"
    (root / "include").mkdir(parents=True)
    (root / "workload.toml").write_text('program = "a.cu"\n')
    (root / "a.cu").write_text("int main() { return 0; }\n")
    (root / "include" / "a.h").write_text("")
    return root


def copied(root: Path, folder: Path) -> tuple[Workspace, list[str]]:
    space = make_workspace(Workload.from_file(root), "// new\n", folder)
    names = [str(p.relative_to(folder)) for p in folder.rglob("*") if not p.is_dir()]
    return space, sorted(names)


def test_the_program_and_what_it_needs(root: Path, tmp_path: Path) -> None:
    space, names = copied(root, tmp_path / "copy")
    assert names == ["a.cu", "include/a.h", "workload.toml"]
    assert space.result() == "// new\n" and space.keys == ()


@pytest.mark.parametrize("name", [".env", ".env.local", ".envrc", ".netrc", ".git/config"])
def test_hidden_files_stay_where_they_are(root: Path, tmp_path: Path, name: str) -> None:
    (root / name).parent.mkdir(exist_ok=True)
    (root / name).write_text("KEY=secret\n")
    assert copied(root, tmp_path / "copy")[1] == ["a.cu", "include/a.h", "workload.toml"]


@pytest.mark.parametrize("place", ["work", "work/include", "."])
def test_files_of_keys_near_a_workload_are_known(root: Path, tmp_path: Path, place: str) -> None:
    secret = root.parent / place / ".env"
    secret.write_text("KEY=secret\n")
    assert copied(root, tmp_path / "copy")[0].keys == (secret,)


@pytest.mark.parametrize("place", ["out.run/agents/agent-1/work", "res/agents/work", "w"])
def test_a_copy_below_the_workload_does_not_hold_itself(root: Path, place: str) -> None:
    assert copied(root, root / place)[1] == ["a.cu", "include/a.h", "workload.toml"]
    assert copied(root, root / place)[1] == ["a.cu", "include/a.h", "workload.toml"]


def test_earlier_runs_are_not_copied(root: Path, tmp_path: Path) -> None:
    (root / "old.run" / "agents").mkdir(parents=True)
    (root / "old.run" / "run.json").write_text("{}")
    (root / "old.run" / "agents" / "b.cu").write_text("")
    assert copied(root, tmp_path / "copy")[1] == ["a.cu", "include/a.h", "workload.toml"]


def test_a_link_is_copied_as_one(root: Path, tmp_path: Path) -> None:
    (root / "more").symlink_to("include")
    (root / "gone").symlink_to("nowhere")
    copied(root, tmp_path / "copy")
    assert (tmp_path / "copy" / "more").is_symlink() and (tmp_path / "copy" / "gone").is_symlink()


def test_too_much_is_refused(root: Path, tmp_path: Path) -> None:
    (root / "data").mkdir()
    for at in range(2001):
        (root / "data" / str(at)).write_text("")
    with pytest.raises(BadInputError, match="at most 2000 files"):
        copied(root, tmp_path / "copy")
