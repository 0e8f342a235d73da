"""What a program may include: files below its folders, named by line otherwise."""

from pathlib import Path

import pytest

from warploom.core.errors import SourceError
from warploom.core.records import BuildSpec
from warploom.emulator.rewriting.rewrite import rewrite
from warploom.source import CUDAAnalyzer
from warploom.toolchain.nvcc import user_contents

CODE = '#include <cuda_runtime.h>\n\n#include "{}"\nint main() {{ cudaFree(nullptr); }}\n'


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name in ("work/src", "work/include", "work/.hidden", "other"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "h.h").write_text("int secret = 42;\n")
    (tmp_path / "work/src/link.h").symlink_to(tmp_path / "other/h.h")
    return tmp_path


def spec(place: Path, name: str, **more) -> BuildSpec:
    program = place / "work" / "src" / "a.cu"
    program.write_text(CODE.format(name.replace("TOP", str(place))))
    return BuildSpec(program, root=place / "work", **more)


@pytest.mark.parametrize(
    "name", ["../../other/h.h", "TOP/other/h.h", "link.h", "../.hidden/h.h", "/etc/passwd"]
)
def test_what_lies_elsewhere_is_refused_by_line(place: Path, name: str):
    asked = spec(place, name)
    with pytest.raises(SourceError, match="must lie below") as caught:
        rewrite(asked)
    assert (caught.value.file, caught.value.line) == (str(asked.program), 3)
    assert not any(b"secret" in text for text in user_contents(asked).values())
    files = CUDAAnalyzer(asked.program, roots=asked.roots).read()
    assert [file.path for file in files] == [asked.program]


@pytest.mark.parametrize("name", ["../include/h.h", "TOP/work/include/h.h"])
def test_what_lies_below_the_workload_is_read(place: Path, name: str):
    overlay = rewrite(spec(place, name))
    assert any(b"secret" in text for text in overlay.texts.values())


def test_a_named_folder_may_be_read(place: Path):
    asked = spec(place, "../../other/h.h", include_dirs=(place / "other",))
    assert any(b"secret" in text for text in rewrite(asked).texts.values())
    assert any(b"secret" in text for text in user_contents(asked).values())


def test_the_question_whether_a_file_is_there_is_no_include(place: Path):
    asked = spec(place, "h.h")
    asked.program.write_text(f'#if __has_include("{place}/other/h.h")\n#endif\nint main() {{}}\n')
    assert not any(b"secret" in text for text in rewrite(asked).texts.values())
