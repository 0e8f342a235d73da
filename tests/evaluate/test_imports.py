"""The built object's imports: a hidden call shows there."""

import subprocess
from pathlib import Path

from warploom.emulator.elf import dynamic_symbols
from warploom.evaluate.imports import import_findings


def built(folder: Path, name: str, code: str) -> frozenset[str]:
    source = folder / f"{name}.cpp"
    source.write_text(code)
    library = folder / f"{name}.so"
    subprocess.run(["g++", "-shared", "-fPIC", "-O1", str(source), "-o", str(library)], check=True)
    return dynamic_symbols(library).imports


def test_hidden_calls_are_found_in_the_object(tmp_path: Path) -> None:
    honest = built(
        tmp_path,
        "honest",
        '#include <cstdio>\n#include <cmath>\nextern "C" int run(double x)'
        '{ return printf("%f", std::sin(x)); }',
    )
    sneaky = built(
        tmp_path,
        "sneaky",
        "#include <cstdio>\n#include <cstdlib>\n#include <unistd.h>\n#include <fstream>\n"
        'extern "C" int run(double) { auto f = &__CONCAT(wri, te); std::ofstream out("x");\n'
        'out << 1; return f(4, "x", 1) + system("ls") + printf("x"); }',
    )
    assert {"printf", "sin"} <= honest
    found = [f.message for f in import_findings(sneaky, honest, "c.cu")]
    assert any(" write," in text for text in found)
    assert any(" system," in text for text in found)
    assert any("basic_ofstream" in text for text in found)
    assert not any(" printf," in text for text in found)
    assert import_findings(honest, honest, "c.cu") == []
    assert import_findings(honest, sneaky, "c.cu") == []
