"""Programs of several files as one text, and back."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from warploom.core.errors import RefusedError
from warploom.source.units import United, as_part, divide, is_united, origins, unite

MAIN = '#include "comm.h"\n#include "plain.h"\nint main() {\n  gather();\n}\n'
COMM = '#pragma once\n#include "deep.h"\nvoid gather();\n'
DEEP = "#ifndef DEEP\n#define DEEP\ninline void deep() { ncclSend(); }\n#endif\n"
SOURCE = '#include "comm.h"\n#include "deep.h"\nvoid gather() { deep(); }\n'
FILES = {"main.cu": MAIN, "comm.h": COMM, "deep.h": DEEP, "comm.cu": SOURCE, "plain.h": "int x;\n"}


@pytest.fixture
def united(tmp_path: Path) -> Callable[..., United | None]:
    """Unites files; `sources` are the further ones."""

    def make(
        files: Mapping[str, str], *sources: str, defines: Mapping[str, str] | None = None
    ) -> United | None:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
        return unite(
            tmp_path / "main.cu", [tmp_path / name for name in sources], [tmp_path],
            lambda text: b"ncclSend(" in text, defines=defines,
        )  # fmt: skip

    return make


def test_files_come_back_as_they_were(united) -> None:
    made = united(FILES, "comm.cu")
    assert made is not None and is_united(made.text)
    assert list(made.files) == ["main.cu", "comm.h", "deep.h", "comm.cu"]
    assert divide(made.text) == {name: FILES[name] for name in made.files}
    assert made.text.count("void deep()") == 1
    assert made.sources == ()


@pytest.mark.parametrize("change", ["crlf", "no newline", "last include", "empty lines"])
def test_odd_ends_of_lines_come_back(change: str, united) -> None:
    files = dict(FILES)
    if change == "crlf":
        files = {name: text.replace("\n", "\r\n") for name, text in files.items()}
    elif change == "no newline":
        files = {name: text.removesuffix("\n") for name, text in files.items()}
    elif change == "last include":
        files["comm.h"] = '#pragma once\nvoid gather();\n#include "deep.h"'
    else:
        files = {name: f"\n\n{text}\n\n" for name, text in files.items()}
    made = united(files, "comm.cu")
    assert made is not None
    assert divide(made.text) == {name: files[name] for name in made.files}


def test_a_source_without_communication_stays_apart(united, tmp_path: Path) -> None:
    made = united(FILES | {"other.cu": '#include "plain.h"\n'}, "comm.cu", "other.cu")
    assert made is not None
    assert made.sources == (tmp_path / "other.cu",)


def test_a_program_of_one_file_is_left_alone(united) -> None:
    assert (
        united({"main.cu": MAIN.replace("gather", "ncclSend"), "comm.h": "", "plain.h": ""}) is None
    )


def test_lines_are_told_as_the_files_have_them(united) -> None:
    made = united(FILES, "comm.cu")
    assert made is not None
    lines = made.text.split("\n")
    places = dict(zip(lines, origins(made.text), strict=False))
    assert places["  gather();"] == ("main.cu", 4)
    assert places["inline void deep() { ncclSend(); }"] == ("deep.h", 3)
    assert places["void gather();"] == ("comm.h", 3)
    assert places["void gather() { deep(); }"] == ("comm.cu", 3)


def test_a_part_that_was_added_is_a_file(united) -> None:
    made = united(FILES, "comm.cu")
    assert made is not None
    part = as_part("new.cuh", "#pragma once\nint y;\n", '#include "new.cuh"')
    first, rest = made.text.split("\n", 1)
    files = divide(f"{first}\n{part}{rest}")
    assert files["new.cuh"] == "#pragma once\nint y;\n"
    assert files["main.cu"] == f'#include "new.cuh"\n{MAIN}'


REFUSED = {
    "twice": (
        {**FILES, "deep.h": "inline void deep() { ncclSend(); }\n"},
        "deep.h is included twice and has no include guard: add #pragma once",
        "comm.cu", 2,
    ),
    "conditional": (
        {**FILES, "main.cu": f'#ifdef FAST\n#include "comm.h"\n#endif\n{MAIN}'},
        "comm.h, which communicates, is included in an #if: include it always",
        "main.cu", 2,
    ),
    "taken": (
        {**FILES, "deep.h": DEEP + "// warploom: end deep.h\n"},
        'the comment "// warploom:" is taken by the program',
        "deep.h", 1,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_put_together_is_refused(name: str, united, tmp_path: Path) -> None:
    files, reason, file, line = REFUSED[name]
    with pytest.raises(RefusedError) as caught:
        united(files, "comm.cu")
    found = caught.value.refusals
    assert (reason, str(tmp_path / file), line) in [(r.reason, r.file, r.line) for r in found]


def test_an_include_that_is_never_compiled_is_none(united) -> None:
    files = {**FILES, "main.cu": f'#if FAST\n#include "odd.h"\n#endif\n{MAIN}', "odd.h": DEEP}
    made = united(files, "comm.cu", defines={"FAST": "0"})
    assert made is not None and "odd.h" not in made.files


def test_names_that_two_units_have_for_themselves_differ(united) -> None:
    own = "static int helper(int x) { return x; }\nnamespace { int kept; }\n"
    files = {
        **FILES,
        "main.cu": MAIN.replace("int main", f"{own}int main"),
        "comm.cu": SOURCE.replace("void gather", f"{own}void gather"),
    }
    made = united(files, "comm.cu")
    assert made is not None
    assert "#define helper helper_of_2" in made.text and "#undef kept" in made.text
    assert made.text.index("#define helper") < made.text.rindex("static int helper")
    assert made.text.index("#define helper") > made.text.index("comm.cu")
    assert divide(made.text) == {name: files[name] for name in made.files}
    lines = made.text.split("\n")
    assert origins(made.text)[lines.index("void gather() { deep(); }")] == ("comm.cu", 5)


def test_types_and_macros_that_two_units_have_for_themselves_differ(united) -> None:
    files = {
        **FILES,
        "main.cu": MAIN.replace("int main", "#define N 4\n#define M 5\nstruct A {};\nint main"),
        "comm.cu": SOURCE.replace("void gather", "using A = int;\nenum { N };\nvoid gather"),
    }
    made = united(files, "comm.cu")
    assert made is not None
    assert "#define A A_of_2" in made.text and "#undef N" in made.text
    assert "#undef M" not in made.text and "N_of_2" not in made.text
    assert made.text.index("#undef N") < made.text.index("enum { N }")
    assert divide(made.text) == {name: files[name] for name in made.files}
    kept = united(files, "comm.cu", defines={"N": "4"})
    assert kept is not None and "#undef N" not in kept.text


def test_headers_are_found_in_folders_by_brackets_too(united) -> None:
    made = united({**FILES, "main.cu": MAIN.replace('"comm.h"', "<comm.h>")}, "comm.cu")
    assert made is not None and "deep.h" in made.files
