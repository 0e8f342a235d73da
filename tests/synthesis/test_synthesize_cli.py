"""`warploom synthesize` and its relatives, as a user runs them."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from warploom.cli import main

pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'warploom[torch]'")

_EXAMPLE = Path(__file__).parents[2] / "examples" / "synthesize" / "rms_norm.py"


def _warploom(*arguments: str | Path) -> int:
    return main([str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of one whole run by the rules."""
    folder = tmp_path_factory.mktemp("run") / "out"
    code = _warploom("synthesize", "--prompt", "fused RMSNorm", "--reference", _EXAMPLE,
                     "--out", folder, "--no-nvcc", "--tune", "1", "--json")  # fmt: skip
    assert code == 0
    return folder


def test_a_run_is_verified_and_reported(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = json.loads((run / "report.json").read_text())
    assert report["verified"]
    assert report["performance"]["time_source"] == "modelled"
    names = {check["name"] for check in report["correctness"]["checks"]}
    assert names >= {"misaligned", "special-values", "deterministic", "memory-and-races"}
    assert _warploom("report", "show", run) == 0
    assert "rms_norm: verified" in capsys.readouterr().out
    assert _warploom("inspect", run, "--json") == 0
    assert json.loads(capsys.readouterr().out)["run"] == report["run"]
    assert report["seed"] == json.loads((run / "run.json").read_text())["seed"]
    assert f"Seed {report['seed']} " in (run / "report.md").read_text()
    assert _warploom("report", "latest", run.parent, "--json") == 0
    assert json.loads(capsys.readouterr().out)["run"] == report["run"]


def test_the_package_computes_as_its_reference_on_the_cpu(run: Path, tmp_path: Path) -> None:
    assert _warploom("export", run, "--out", tmp_path / "package") == 0
    told = (tmp_path / "package" / "VERIFICATION.md").read_text()
    assert "No GPU has run" in told
    assert "`rms_norm.py`" in told, "the author's folders are nobody's business"
    environment = {
        **os.environ, "PYTHONPATH": str(tmp_path / "package" / "src"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0",
         str(tmp_path / "package" / "tests")],
        env=environment, cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("epsilon", "code"), [("1e-06f", 0), ("1e-03f", 1)])
def test_a_kernel_of_ones_own_is_judged(run: Path, tmp_path: Path, epsilon: str, code: int) -> None:
    kernel = tmp_path / "mine.cu"
    kernel.write_text((run / "kernel.cu").read_text().replace("1e-06f", epsilon))
    arguments = ("synthesize", "--prompt", "fused RMSNorm", "--reference", _EXAMPLE,
                 "--kernel", kernel, "--out", tmp_path / "out", "--no-nvcc")  # fmt: skip
    assert _warploom(*arguments) == code
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["verified"] == (code == 0)
    assert [stage["stage"] for stage in report["stages"]][:2] == ["interview", "correctness"]
    kernel.write_text(kernel.read_text() + "// another\n")
    assert _warploom(*arguments, "--resume") == 2, "the run was of another kernel"


def test_what_is_no_kernel_is_not_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("synthesize", "--prompt", "x", "--reference", _EXAMPLE, "--out", tmp_path / "out")
    assert _warploom(*arguments, "--kernel", _EXAMPLE) == 2
    assert "must define warploom_forward" in capsys.readouterr().err
    assert _warploom(*arguments, "--kernel", tmp_path / "none.cu") == 2
    assert "none.cu: cannot be read" in capsys.readouterr().err
    assert _warploom(*arguments, "--proposer", "given") == 2
    assert "--kernel FILE" in capsys.readouterr().err


def test_a_file_without_a_reference_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "twice.py").write_text("def reference(x):\n    return x * 2\n")
    (tmp_path / "helper.py").write_text("def forward(x):\n    return x * 2\n")
    code = _warploom("eval", "--suite", tmp_path, "--out", tmp_path / "out", "--no-nvcc")
    told = capsys.readouterr()
    assert "helper.py: no reference or class Model in it, left out" in told.err
    assert "example_inputs" in told.out + told.err
    assert code != 0


def test_a_file_beside_a_reference_is_not_taken_for_a_library(tmp_path: Path) -> None:
    for name in ("numpy", "torch", "sympy"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('not the library')\n")
    (tmp_path / "sizes.py").write_text("ROWS = 5\n")
    (tmp_path / "sorted.py").write_text(
        "import torch\nfrom sizes import ROWS\ndef reference(x):\n    return torch.sort(x)[0]\n"
        "def example_inputs(seed):\n    return (torch.randn(ROWS, 7),)\n"
    )
    code = _warploom("synthesize", "--prompt", "sort", "--reference", tmp_path / "sorted.py",
                     "--out", tmp_path / "out", "--no-nvcc")  # fmt: skip
    assert code == 3, "it is traced, and refused by name"


def test_a_kernel_that_was_edited_is_not_exported(run: Path, tmp_path: Path) -> None:
    import shutil

    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    source = next(copy.glob("package/src/*/kernel.cu"))
    source.write_text(source.read_text().replace("1e-06f", "1e-03f"))
    assert _warploom("export", copy, "--out", tmp_path / "package") == 2


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("import nothing_like_this\n", 1, "cannot be imported"),
        ("def other(x):\n    return x\n", None, "must define a function `reference`"),
        ("def reference(x):\n    return x\n", 1, "must define example_inputs"),
        ("import torch\ndef reference(x):\n    return [[x]]\n"
         "def example_inputs(seed):\n    return (torch.ones(3),)\n", None, "must return"),
        ("import torch\ndef reference(x):\n    return x + torch.rand(3)\n"
         "def example_inputs(seed):\n    return (torch.ones(3),)\n", None, "must return the same"),
        ("import torch\ndef reference(x):\n    x += 1\n    return x * 2\n"
         "def example_inputs(seed):\n    return (torch.ones(3),)\n", None, "must not change"),
        ("import os\nimport torch\ndef reference(x):\n    os._exit(5)\n"
         "def example_inputs(seed):\n    return (torch.ones(3),)\n", None, "exit code 5"),
        ("import torch\ndef reference(x):\n    return x * 0.0\n"
         "def example_inputs(seed):\n    g = torch.Generator().manual_seed(seed)\n"
         "    return (torch.randint(0, 9, (5, 7), generator=g).float(),)\n", None,
         "proves nothing"),
    ],
)  # fmt: skip
def test_a_wrong_reference_is_told_in_one_message(
    text: str, line: int | None, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "wrong.py"
    file.write_text(text)
    out = tmp_path / "out"
    code = _warploom("synthesize", "--prompt", "x", "--reference", file, "--out", out)
    said = capsys.readouterr().err
    assert code == 2
    assert words in said
    assert "Traceback" not in said
    assert str(file) in said
    if line is not None:
        assert f"{file}:{line}" in said
    report = json.loads((out / "report.json").read_text())
    assert words in report["error"]
    assert not report["verified"]


def test_a_reference_that_wants_a_gpu_is_told_where_it_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "gpu.py"
    file.write_text(
        "import torch\ndef reference(x):\n    return x.to('cuda:99') * 2\n"
        "def example_inputs(seed):\n    return (torch.ones(3),)\n"
    )
    arguments = ("synthesize", "--prompt", "x", "--reference", file, "--out", tmp_path / "out")
    assert _warploom(*arguments) == 2
    said = capsys.readouterr().err
    assert f"{file}:3: the reference fails" in said
    assert "is run on the CPU" in said


def test_an_operation_beyond_the_rules_is_named_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "sorted_rows.py"
    file.write_text(
        "import torch\n\n\ndef reference(x):\n    y = x * 2\n    return torch.sort(y).values\n\n\n"
        "def example_inputs(seed):\n    return (torch.randn(5, 7),)\n"
    )
    code = _warploom("synthesize", "--prompt", "x", "--reference", file, "--out", tmp_path / "out")
    said = capsys.readouterr().err
    assert code == 3
    assert f"{file}:6" in said
    assert "sort" in said


def test_other_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    ask = ("synthesize", "--reference", _EXAMPLE, "--out", out)
    assert _warploom(*ask, "--prompt", "x", "--target", "sm_70") == 2
    assert "sm_80" in capsys.readouterr().err
    assert _warploom(*ask) == 2
    assert _warploom(*ask, "--prompt", "x", "--proposer", "llm") == 2
    assert _warploom(*ask, "--prompt", "an int8 kernel") == 2
    assert "the reference computes with float16" in capsys.readouterr().err
    assert _warploom("synthesize", "--prompt", "x", "--reference", "no.py", "--out", out) == 2
    assert _warploom("synthesize", "--prompt", "x", "--reference", tmp_path, "--out", out) == 2
    assert "this is a folder" in capsys.readouterr().err
    assert _warploom("export", tmp_path, "--out", out) == 2
    assert _warploom("report", "show", tmp_path) == 2
    assert _warploom("eval", "--suite", "nothing") == 2
    assert _warploom("eval", "--suite", "internal", "--only", "nothing") == 2
    assert _warploom("eval") == 2


def test_without_torch_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    code = _warploom("synthesize", "--prompt", "x", "--reference", _EXAMPLE, "--out", tmp_path)
    assert code == 3
    assert "pip install 'warploom[torch]'" in capsys.readouterr().err


def test_a_suite_keeps_outcomes_and_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ask = ("eval", "--suite", "internal", "--only", "axpby", "--only", "sort_rows", "--no-nvcc",
           "--out", tmp_path / "suite", "--json")  # fmt: skip
    assert _warploom(*ask) == 0
    first = json.loads(capsys.readouterr().out)
    assert {o["task"]: o["status"] for o in first["outcomes"]} == {
        "axpby": "verified", "sort_rows": "refused",
    }  # fmt: skip
    assert _warploom(*ask) == 2
    assert "--resume" in capsys.readouterr().out
    assert _warploom(*ask, "--resume") == 0
    again = json.loads(capsys.readouterr().out)
    assert again["outcomes"] == first["outcomes"]
    assert "| axpby | verified |" in (tmp_path / "suite" / "table.md").read_text()


def test_each_check_is_explained() -> None:
    from warploom.synthesis.correctness.accept import CHECKS
    from warploom.synthesis.export.verification import MEANING

    assert set(CHECKS) <= set(MEANING)
