"""Compilers read what a program's text names: nothing of the user's may be there."""

from pathlib import Path

import pytest

from warploom.core.errors import WarploomError
from warploom.core.records import BuildSpec
from warploom.emulator.building.build import build
from warploom.toolchain.sandbox import SandboxKind, find_sandbox

READS = {
    "section": '__attribute__((section(".rodata\\nstolen: .incbin \\"{}\\"\\n.byte 0\\n#"), used)) '
    'const char mark[] = "x";',
    "asm": 'asm(".section .rodata\\nstolen: .incbin \\"{}\\"\\n.byte 0\\n.text");',
    "include": 'asm(".include \\"{}\\"");',
    "macro": '#define NAME "{}"\n#include NAME',
}


@pytest.mark.parametrize("kind", ["bubblewrap", "landlock"])
@pytest.mark.parametrize("way", READS)
def test_no_text_gets_at_a_file_of_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, way: str
):
    monkeypatch.setenv("WARPLOOM_SANDBOX", kind)
    find_sandbox.cache_clear()
    try:
        if find_sandbox().kind is not SandboxKind(kind):
            pytest.skip(find_sandbox().reason)
        (tmp_path / "secret").mkdir()
        (tmp_path / "secret" / "key").write_text('const char* leaked = "PLANTED";\n')
        (tmp_path / "work").mkdir()
        program = tmp_path / "work" / "a.cu"
        text = READS[way].format(tmp_path / "secret" / "key")
        program.write_text(f"#include <cuda_runtime.h>\n{text}\nint main() {{ cudaFree(0); }}\n")
        with pytest.raises(WarploomError) as caught:
            build(BuildSpec(program))
        assert "PLANTED" not in str(caught.value)
    finally:
        find_sandbox.cache_clear()
