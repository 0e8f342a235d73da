"""The guard: what the assembler may read, and which accesses get a hook."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

_HEAD = (
    '\t.file\t"a.cu"\n\t.text\n\t.globl\tf\n\t.type\tf, @function\nf:\n'
    "\tpushq\t%rbp\n\tmovq\t%rsp, %rbp\n"
)
_TAIL = "\tpopq\t%rbp\n\tret\n\t.size\tf, .-f\n"


@dataclass(frozen=True)
class Judged:
    """What the guard says of a text, and what it wrote."""

    report: dict[str, Any]
    text: str
    verified: bool

    @property
    def reasons(self) -> list[str]:
        return [item["reason"] for item in self.report["refused"]]

    @property
    def inserted(self) -> list[str]:
        return [item["text"] for item in self.report["passes"]["host"]["inserted"]]


def judge(guard: Path, folder: Path, body: str, after: str = "") -> Judged:
    (folder / "a.s").write_text(_HEAD + body + _TAIL + after)
    out, report = folder / "b.s", folder / "r.json"
    out.unlink(missing_ok=True)
    subprocess.run(
        [guard, "--host", folder / "a.s", "--out-host", out, "--unit", "u", "--report", report],
        check=False,
    )
    verified = (
        out.exists() and subprocess.run([guard, "--verify", out], check=False).returncode == 0
    )
    return Judged(json.loads(report.read_text()), out.read_text() if out.exists() else "", verified)


@pytest.mark.parametrize(
    "line",
    [
        '\t.incbin\t"/etc/passwd"',
        '\t.include\t"x"',
        "\t.macro\tx",
        "\t.rept\t9",
        "\t.org\t12",
        "\t.symver\ta, b@c",
        "\t.byte\t0x0f, 0x05",
        "\tnop; syscall",
        "\tsyscall",
        "\tint\t$0x80",
        "\twrfsbase\t%rax",
        "\tmovq\t%gs:0, %rax",
        "\tmovq\t%fs:16, %rax",
        "\tjmp\t*%rax",
        "\tjmp\t.L9+1",
        "\tbtsq\t%rax, (%rdi)",
        '\t.section\t.init,"ax",@progbits',
        '\t.section\tmine,"awx",@progbits',
        "\t.set\t__tsan_read4, f",
        "__tsan_write8:",
        "\t.cfi_escape\t0x16,0x0,0x1,0x30",
        "/* x */ nop",
    ],
)
def test_refuses_what_no_compiler_writes(guard: Path, tmp_path: Path, line: str) -> None:
    assert judge(guard, tmp_path, line + "\n").reasons


def test_refuses_code_smuggled_by_a_section(guard: Path, tmp_path: Path) -> None:
    smuggled = '\t.section\t.data\nstolen: .incbin "/etc/passwd"\n#,"aw"\n\t.text\n'
    assert judge(guard, tmp_path, "", smuggled).reasons


def test_a_forged_end_of_assembly_lets_nothing_through(guard: Path, tmp_path: Path) -> None:
    assert judge(guard, tmp_path, "#APP\n#NO_APP\n\tsyscall\n#APP\n#NO_APP\n").reasons
    assert judge(guard, tmp_path, "#APP\n\tmovl\t$1, %eax\n#NO_APP\n").reasons
    assert not judge(guard, tmp_path, "#APP\n\tpause\n#NO_APP\n").reasons
    hidden = judge(guard, tmp_path, "#APP\n#NO_APP\n\tmovl\t$1, (%rdi)\n#APP\n#NO_APP\n")
    assert hidden.inserted == ["movl $1, (%rdi)"]


def test_an_access_without_a_hook_gets_one(guard: Path, tmp_path: Path) -> None:
    found = judge(guard, tmp_path, "\tmovdqu\t16(%rdi,%rcx,4), %xmm0\n\taddl\t$1, (%rsi)\n")
    assert found.inserted == ["movdqu 16(%rdi,%rcx,4), %xmm0", "addl $1, (%rsi)"]
    assert (
        "leaq\t16(%rdi,%rcx,4), %rdi\n\tcall\t*warploom_guard_read16@GOTPCREL(%rip)" in found.text
    )
    assert "warploom_guard_read_write4" in found.text
    assert found.verified


def test_a_hooked_access_gets_no_second_hook(guard: Path, tmp_path: Path) -> None:
    body = (
        "\tmovq\t%rdi, %rbx\n\tleaq\t8(%rbx), %rdi\n\tcall\t*__tsan_write8@GOTPCREL(%rip)\n"
        "\tmovq\t$0, 8(%rbx)\n"
    )
    assert judge(guard, tmp_path, body).inserted == []
    elsewhere = body.replace("$0, 8(%rbx)", "$0, 16(%rbx)")
    assert judge(guard, tmp_path, elsewhere).inserted == ["movq $0, 16(%rbx)"]
    reads = body.replace("write8", "read8")
    assert judge(guard, tmp_path, reads).inserted == ["movq $0, 8(%rbx)"]
    forgotten = body.replace("\tmovq\t$0", "\tcall\t*g@GOTPCREL(%rip)\n\tmovq\t$0")
    assert judge(guard, tmp_path, forgotten).inserted == ["movq $0, 8(%rbx)"]


def test_a_hook_of_ones_own_is_none(guard: Path, tmp_path: Path) -> None:
    assert judge(guard, tmp_path, "\tcall\t__tsan_read4\n", "\t.type\t__tsan_read4, @function\n"
                 "__tsan_read4:\n\tret\n").reasons  # fmt: skip


def test_fixed_places_of_the_frame_are_free_and_others_are_not(guard: Path, tmp_path: Path) -> None:
    frame = "\tsubq\t$64, %rsp\n{}\taddq\t$64, %rsp\n"
    own = judge(guard, tmp_path, frame.format("\tmovl\t$1, -16(%rbp)\n"))
    assert own.inserted == []
    for access in (
        "movl $1, -64(%rbp,%rax,4)",  # an index
        "movl $1, 8(%rbp)",  # the return address
        "movl $1, (%rbp)",  # the caller's frame pointer
        "movl $1, -80(%rbp)",  # below the frame
    ):
        name, rest = access.split(" ", 1)
        found = judge(guard, tmp_path, frame.format(f"\t{name}\t{rest}\n"))
        assert found.inserted == [access]
        assert found.verified


def test_repeated_moves_are_checked_as_ranges(guard: Path, tmp_path: Path) -> None:
    found = judge(guard, tmp_path, "\tmovl\t$9, %ecx\n\trep movsq\n")
    assert len(found.inserted) == 2
    assert "warploom_guard_read_range" in found.text
    assert "warploom_guard_write_range" in found.text
    assert found.verified


def test_a_loop_keeps_what_does_not_change(guard: Path, tmp_path: Path) -> None:
    loop = (
        "\tmovq\t%rdi, %rbx\n.L2:\n\tmovq\t%rbx, %rdi\n\tcall\t*__tsan_read4@GOTPCREL(%rip)\n"
        "\tmovl\t(%rbx), %eax\n\taddq\t$4, %rbx\n\ttestl\t%eax, %eax\n\tjne\t.L2\n"
    )
    assert judge(guard, tmp_path, loop).inserted == []
    late = loop.replace("\ttestl", "\tmovl\t(%rbx), %edx\n\ttestl")
    assert judge(guard, tmp_path, late).inserted == ["movl (%rbx), %edx"]
