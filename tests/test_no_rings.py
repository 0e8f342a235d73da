"""No ring of Python modules, and none of the runtime's headers."""

import re
from graphlib import TopologicalSorter
from pathlib import Path

import grimp

RUNTIME = Path(__file__).parents[1] / "src" / "warploom" / "emulator" / "runtime"
_INCLUDE = re.compile(r'^#include "([\w/]+\.h)"', re.MULTILINE)


def test_python_modules_form_no_ring() -> None:
    graph = grimp.build_graph("warploom", cache_dir=None)
    imported = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
    assert len(imported) > 600
    TopologicalSorter(imported).prepare()  # a CycleError names the ring


def test_headers_of_the_runtime_form_no_ring() -> None:
    headers = {str(path.relative_to(RUNTIME)): path for path in RUNTIME.rglob("*.h")}
    included = {name: _INCLUDE.findall(path.read_text()) for name, path in headers.items()}
    assert len(included) > 100
    assert all(name in headers for names in included.values() for name in names)
    TopologicalSorter(included).prepare()
