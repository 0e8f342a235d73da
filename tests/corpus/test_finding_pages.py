"""Each page's program shows the page's finding at the marked line, and its cure works."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from warploom.core.errors import BadInputError
from warploom.testing.finding_pages import PAGES, problems, read_page

KINDS = sorted(path.stem for path in PAGES.glob("*.md"))


@pytest.fixture(scope="module")
def judge(
    ahead: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Any]:
    folder = tmp_path_factory.mktemp("pages")
    return ahead("kind", lambda kind: problems(read_page(PAGES / f"{kind}.md"), folder / kind))


@pytest.mark.parametrize("kind", KINDS)
def test_page_is_true(kind: str, judge: Callable[[str], Any]) -> None:
    assert judge(kind) == []


PAGE = """\
# crash

```cuda
int* p = nullptr;
if (true) {
  *p = 1;  // FINDING
}
```

```console
$ warploom check crash.cu --ranks 1
crash.cu:3: error: it crashed
```

```diff
-int* p = nullptr;
+int* p = new int;
@@
-  *p = 1;  // FINDING
+  *p = 2;
```
"""


def test_a_page_is_split_and_cured(tmp_path: Path) -> None:
    path = tmp_path / "crash.md"
    path.write_text(PAGE)
    page = read_page(path)
    assert (page.kind, page.line, page.options) == ("crash", 3, ("--ranks", "1"))
    assert page.report == ("crash.cu:3: error: it crashed",)
    assert page.cured == "int* p = new int;\nif (true) {\n  *p = 2;\n}\n"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("```cuda", "```cpp", "must hold one 'cuda' block"),
        ("if (true) {", "if (true) {  // FINDING", "marks 2 lines"),
        ("check crash.cu", "check other.cu", "must begin with"),
        ("-int* p", "-int* q", "fits 0 places"),
        ("-int* p = nullptr;\n+int* p = new int;\n@@\n", "-}\n@@\n-}\n@@\n", "fits 0 places"),
    ],
)
def test_a_broken_page_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "crash.md"
    assert old in PAGE
    path.write_text(PAGE.replace(old, new, 1))
    with pytest.raises(BadInputError, match=message):
        read_page(path)
