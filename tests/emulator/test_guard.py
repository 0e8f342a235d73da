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


def test_strings_that_a_compiler_writes_into_assembly_are_its_own(
    guard: Path, tmp_path: Path
) -> None:
    section = "\t.section\t.rodata.f.str1.1"
    first = f'{section},"aMS",@progbits,1\n.LC0:\n\t.string\t"a"\n\t.text\n'
    again = f'#APP\n{section}\n.LC1:\n\t.string\t"b"\n#NO_APP\n\t.text\n'
    assert not judge(guard, tmp_path, "", first + again).reasons
    # Flags that nobody has named yet, and other data, are not a compiler's.
    assert judge(guard, tmp_path, "", again).reasons
    assert judge(guard, tmp_path, "", first + again.replace(".string", ".quad")).reasons
    plain = first.replace('"aMS",@progbits,1', '"a"')
    assert judge(guard, tmp_path, "", plain + again).reasons


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


_SPILLED = (
    "\tsubq\t$32, %rsp\n\tmovq\t%rdi, -16(%rbp)\n\tcall\t*__tsan_read8@GOTPCREL(%rip)\n{}"
    "\tmovq\t-16(%rbp), %rax\n\tmovq\t8(%rax), %rcx\n\tmovq\t(%rax), %rax\n\taddq\t$32, %rsp\n"
)


@pytest.mark.parametrize(
    "between",
    [
        "\tmovq\t$0, (%rsi)\n",  # it may be where %rdi is kept
        "\tmovq\t$0, -32(%rbp,%rcx,8)\n",
        "\tmovl\t$2, %ecx\n\trep stosq\n",
        "\tcall\t*g@GOTPCREL(%rip)\n",
    ],
)
def test_what_is_kept_in_the_stack_is_not_believed_after_a_store(
    guard: Path, tmp_path: Path, between: str
) -> None:
    quiet = judge(guard, tmp_path, _SPILLED.format(""))
    assert quiet.inserted == ["movq 8(%rax), %rcx"]
    found = judge(guard, tmp_path, _SPILLED.format(between))
    assert found.inserted[-2:] == ["movq 8(%rax), %rcx", "movq (%rax), %rax"]
    assert found.verified


def test_a_place_in_the_frame_is_not_believed_after_a_call(guard: Path, tmp_path: Path) -> None:
    body = (
        "\tsubq\t$32, %rsp\n\tleaq\t-32(%rbp), %rbx\n\tmovl\t$1, (%rbx)\n{}"
        "\tmovl\t$1, 4(%rbx)\n\taddq\t$32, %rsp\n"
    )
    assert judge(guard, tmp_path, body.format("")).inserted == []
    # Who is called keeps %rbx in its own frame, where the program can change it.
    found = judge(guard, tmp_path, body.format("\tcall\t*g@GOTPCREL(%rip)\n"))
    assert found.inserted == ["movl $1, 4(%rbx)"]


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        ("\tsubq\t$8, %rsp\n\tcall\t*g@GOTPCREL(%rip)\n\taddq\t$8, %rsp\n", False),
        (
            "\tpushq\t%rbp\n\tmovl\t%edi, %ebp\n\tcall\t*g@GOTPCREL(%rip)\n\tpopq\t%rbp\n",
            False,
        ),
        ("\tsubq\t$40, %rsp\n\tmovl\t$1, (%rsp,%rdi,4)\n\taddq\t$40, %rsp\n", False),
        ("\tmovl\t%edi, %ebp\n", False),
        ("\tmovl\t%edi, %eax\n", True),
        ("\tmovq\t$1, (%rdi)\n", True),
        (  # rounded down, as for a variable of 64 bytes with arguments on the stack
            "\tleaq\t8(%rsp), %r10\n\tandq\t$-64, %rsp\n\tpushq\t-8(%r10)\n\tpushq\t%rbp\n"
            "\tmovq\t%rsp, %rbp\n\tpushq\t%r10\n\tsubq\t$72, %rsp\n\tcall\t*g@GOTPCREL(%rip)\n"
            "\tmovq\t-8(%rbp), %r10\n\tleave\n\tleaq\t-8(%r10), %rsp\n",
            True,
        ),
    ],
)
def test_functions_keep_a_frame_pointer(guard: Path, tmp_path: Path, body: str, kept: bool) -> None:
    after = "\t.globl\th\n\t.type\th, @function\nh:\n" + body + "\tret\n\t.size\th, .-h\n"
    found = judge(guard, tmp_path, "", after)
    assert any("frame pointer" in reason for reason in found.reasons) != kept


def test_nobody_comes_back_from_a_call_that_does_not_return(guard: Path, tmp_path: Path) -> None:
    after = (
        "\t.globl\th\n\t.type\th, @function\nh:\n\ttestq\t%rdi, %rdi\n\tje\t.L9\n"
        "\tpushq\t%rbp\n\tmovq\t%rsp, %rbp\n\tcall\t*g@GOTPCREL(%rip)\n.L9:\n\tret\n"
        "\t.size\th, .-h\n"
    )
    found = judge(guard, tmp_path, "", after)
    assert "\tcall\t*g@GOTPCREL(%rip)\n\tud2\n.L9:" in found.text
    left = after.replace(".L9:\n", "\tpopq\t%rbp\n.L9:\n")
    assert "ud2" not in judge(guard, tmp_path, "", left).text


def test_a_store_before_there_is_a_frame_gets_one_for_its_hook(guard: Path, tmp_path: Path) -> None:
    after = "\t.globl\th\n\t.type\th, @function\nh:\n\tmovl\t$1, {}\n\tret\n\t.size\th, .-h\n"
    found = judge(guard, tmp_path, "", after.format("4(%rsp,%rdi,4)"))
    assert (
        "h:\n\tpushq\t%rbp\n\tmovq\t%rsp, %rbp\n\tpushq\t%rdi\n\tleaq\t20(%rsp,%rdi,4), %rdi\n"
        "\tcall\t*warploom_guard_write4@GOTPCREL(%rip)\n\tpopq\t%rdi\n\tpopq\t%rbp\n" in found.text
    )
    assert found.verified
    assert judge(guard, tmp_path, "", after.format("(%rdi,%rbp)")).reasons


def test_no_place_of_a_rounded_frame_reaches_its_frame_pointer(guard: Path, tmp_path: Path) -> None:
    body = (
        "\t.globl\th\n\t.type\th, @function\nh:\n"
        "\tleaq\t8(%rsp), %r10\n\tandq\t$-64, %rsp\n\tpushq\t-8(%r10)\n\tpushq\t%rbp\n"
        "\tmovq\t%rsp, %rbp\n\tpushq\t%r10\n\tsubq\t$72, %rsp\n\tmovl\t$1, -16(%rbp)\n"
        "\tmovl\t$1, 8(%rbp)\n\tmovq\t-8(%rbp), %r10\n\tleave\n\tleaq\t-8(%r10), %rsp\n\tret\n"
        "\t.size\th, .-h\n"
    )
    found = judge(guard, tmp_path, "", body)
    assert found.inserted[0] == "movl $1, 8(%rbp)"
    assert "movl $1, -16(%rbp)" not in found.inserted


@pytest.mark.parametrize(
    ("body", "after"),
    [
        ("\tcall\t*_ZN8warploom14invoke_closureImine@GOTPCREL(%rip)\n", ""),
        ("", "\t.set\t_ZN8warploom14invoke_closureImine, f\n"),
        ("", "\t.set\tmine, _ZN8warploom14invoke_closureI1fEvPKv\n"),
        ("", "\t.bss\n_ZN8warploom6g_hereE:\n\t.zero\t52\n"),
        ("", "\t.comm\t_ZN8warploom6g_hereE, 52, 32\n"),
    ],
)
def test_names_that_need_no_hook_are_not_the_programs(
    guard: Path, tmp_path: Path, body: str, after: str
) -> None:
    assert judge(guard, tmp_path, body, after).reasons
