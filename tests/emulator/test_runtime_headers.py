"""The runtime's headers form no ring. (Of Python modules and folders, `lint-imports` holds it.)"""

import re
from graphlib import TopologicalSorter
from pathlib import Path

RUNTIME = Path(__file__).parents[2] / "src" / "warploom" / "emulator" / "runtime"
_INCLUDE = re.compile(r'^#include "([\w/]+\.h)"', re.MULTILINE)


def test_headers_form_no_ring() -> None:
    headers = {str(path.relative_to(RUNTIME)): path for path in RUNTIME.rglob("*.h")}
    included = {name: _INCLUDE.findall(path.read_text()) for name, path in headers.items()}
    assert len(included) > 100
    assert all(name in headers for names in included.values() for name in names)
    TopologicalSorter(included).prepare()  # a CycleError names the ring
