"""Runs are judged by the report alone, and nothing that a program does makes a bad one good."""

import dataclasses
import os
import shutil
import tempfile
import threading
import time
from pathlib import Path

import pytest

from warploom.core.errors import BadInputError
from warploom.core.records import Limits, RunSpec, Severity, Timing, TraceEvent, Verdict, to_json
from warploom.emulator import RunOptions, run, run_many
from warploom.emulator.running.report import parse_report

HEAD = "#include <cuda_runtime.h>\n#include <unistd.h>\n#include <csignal>\n#include <string>\n"
ONE = RunOptions(ranks=1, limits=Limits(seconds=20, memory_mb=2048, output_mb=1))


def body(code: str) -> str:
    """A program whose main is `code`; its first line is line 6."""
    return f"{HEAD}int main(int argc, char** argv) {{\n{code}\n}}\n"


def ran(programs, code: str, options: RunOptions = ONE):
    return run(programs.build(body(code)), options)


def test_a_good_run(programs):
    result = ran(
        programs, 'printf("rank %d %s\\n", fake_rank(), argv[1]);', RunOptions(args=("a",))
    )
    assert (result.state, result.verdict) == ("finished", Verdict.OK)
    assert result.exit_codes == {0: 0, 1: 0, 2: 0, 3: 0} and result.findings == ()
    assert result.stdout == "".join(f"rank {r} a\n" for r in range(4))
    assert result.stats == {"switches": 3.0}
    assert isinstance(to_json(result.options), dict)


def test_the_configuration_arrives(programs):
    keys = [
        "ranks", "lsa_size", "processes", "seed", "timing", "race", "readbacks", "nccl_version",
        "device_memory_mb", "max_findings", "sync_launches",
        "trace",
    ]  # fmt: skip
    code = "".join(f'printf("%s ", fake_config("{key}"));' for key in keys)
    options = RunOptions(
        run=RunSpec(7, Timing.LAZY), ranks=8, lsa_size=2, race=False, readbacks=False,
        sync_launches=True, processes="single", device_memory_mb=99, max_findings=5,
        trace=17,
    )  # fmt: skip
    result = ran(programs, code, options)
    assert result.stdout == "8 2 1 7 lazy 0 0 23203 99 5 1 17 " and result.verdict is Verdict.OK


def test_findings_have_their_place(programs):
    code = 'if (fake_rank() == 1)\n  fake_finding("race");\nfake_warning("slow");'
    options = RunOptions(run=RunSpec(5, Timing.RANDOM), ranks=2)
    result = ran(programs, code, options)
    assert result.verdict is Verdict.DEFECT
    race = next(f for f in result.findings if f.kind == "race")
    assert (race.line, race.rank, race.kernel) == (7, 1, "k")
    assert race.file == str(programs.folder / "prog.cu")
    assert (race.block, race.thread) == ((1, 2, 3), (4, 5, 6))
    assert (race.seed, race.timing) == (5, Timing.RANDOM)
    assert race.other is not None and (race.other.line, race.other.function) == (7, "main")
    slow = [f for f in result.findings if f.kind == "slow"]
    assert [f.severity for f in slow] == [Severity.WARNING] * 2


def test_a_finding_has_the_trace_that_came_before_it(programs):
    event = r"{\"ev\":\"trace\",\"seq\":%d,\"rank\":1,\"text\":\"t%d\",\"frames\":[]%s}"
    placed = r",\"kernel\":\"k\",\"block\":[0,1,2],\"thread\":[3,4,5]"
    code = f"""fake_signed("{event % (7, 7, "")}");
fake_signed("{event % (9, 9, placed)}");
fake_finding("race"); fake_finding("late");"""
    race, late = ran(programs, code, ONE).findings
    assert late.trace == ()
    assert race.trace == (
        TraceEvent(7, 1, "t7"),
        TraceEvent(9, 1, "t9", kernel="k", block=(0, 1, 2), thread=(3, 4, 5)),
    )


def test_warnings_alone_are_no_defect(programs):
    assert ran(programs, 'fake_warning("slow");').verdict is Verdict.OK


def test_places_in_included_files_and_inlined_functions(programs):
    programs.write(
        "#pragma once\nstatic inline __attribute__((always_inline)) void check() {\n"
        '  fake_finding("deep");\n}\n',
        "inc/deep.h",
    )
    built = programs.build(f'{HEAD}#include "inc/deep.h"\nint main() {{ check(); }}\n')
    finding = run(built, ONE).findings[0]
    assert (finding.file, finding.line) == (str(programs.folder / "inc" / "deep.h"), 3)


def test_a_read_may_give_less_than_was_asked_for(programs, monkeypatch):
    # Linux gives 2 GiB at most: see read(2).
    whole = os.pread
    monkeypatch.setattr(os, "pread", lambda fd, size, at: whole(fd, min(size, 3), at))
    result = ran(programs, 'fake_readback("abcdefgh", 8);')
    assert [r.data for r in result.readbacks] == [b"abcdefgh"] and result.verdict is Verdict.OK


def test_readbacks_that_were_changed_are_not_believed(programs):
    result = ran(programs, 'fake_readback("abcdefgh", 8); pwrite(5, "X", 1, 3);')
    assert result.state == "crashed" and result.verdict is Verdict.FAILED
    assert "not those that the runtime wrote" in result.findings[-1].message


def test_large_readbacks_are_views_of_their_file(programs):
    code = """std::string big(17 << 20, 'a');
fake_readback("xyz", 3); fake_readback(big.data(), big.size()); fake_readback("end", 3);"""
    result = ran(programs, code)
    small, large, last = (readback.data for readback in result.readbacks[:3])
    assert isinstance(large, memoryview) and len(large) == 17 << 20
    assert bytes(large[:2]) + bytes(large[-2:]) == b"aaaa" and large == b"a" * (17 << 20)
    assert (small, last) == (b"xyz", b"end") and result.verdict is Verdict.OK


def test_readbacks_keep_their_bytes(programs):
    code = """std::string big(3 << 20, char('a' + fake_rank()));
fake_readback(big.data(), big.size());
fake_readback("xyz", 3); fake_readback("", 0);"""
    result = ran(programs, code, RunOptions(ranks=2))
    assert result.verdict is Verdict.OK
    assert [(r.rank, r.seq, len(r.data)) for r in result.readbacks] == [
        (0, 0, 3 << 20), (0, 1, 3), (0, 2, 0), (1, 0, 3 << 20), (1, 1, 3), (1, 2, 0),
    ]  # fmt: skip
    assert set(result.readbacks[3].data) == {ord("b")} and result.readbacks[4].data == b"xyz"
    assert result.readbacks[0].line == 7 and result.readbacks[0].device_offset == 64


def test_unsupported_comes_first(programs):
    code = 'fake_finding("race"); fake_unsupported("cudaX"); fake_end("deadlock");'
    result = ran(programs, code)
    assert result.verdict is Verdict.UNSUPPORTED
    assert [(u.name, u.message, u.line) for u in result.unsupported] == [("cudaX", "why", 6)]


def test_deadlock_comes_before_defects(programs):
    result = ran(programs, 'fake_finding("race"); fake_end("deadlock");')
    assert (result.state, result.verdict) == ("deadlock", Verdict.DEADLOCK)


def test_an_exit_code_fails_the_run(programs):
    result = ran(programs, "return fake_rank();", RunOptions(ranks=3))
    assert result.verdict is Verdict.FAILED
    assert [(f.kind, f.rank) for f in result.findings] == [("exit_code", 1), ("exit_code", 2)]


def test_a_rank_that_never_ends_fails_the_run(programs):
    result = ran(programs, 'if (fake_rank() == 1) fake_end("finished");', RunOptions(ranks=3))
    assert result.verdict is Verdict.FAILED
    assert [(f.kind, f.rank) for f in result.findings] == [("crash", 1), ("crash", 2)]


def test_a_stopped_run_has_failed(programs):
    assert ran(programs, 'fake_end("stopped");').verdict is Verdict.FAILED


LIMITED = [
    ("for (;;) {}", "timeout"),
    ("for (;;) sleep(1);", "timeout"),
    ("for (;;) puts(std::string(1000, 'x').c_str());", "output_limit"),
    (
        "for (;;) { auto* p = (volatile char*)malloc(64 << 20); "
        "for (int i = 0; i < 64 << 20; i += 4096) p[i] = 1; }",
        "memory_limit",
    ),
]


@pytest.mark.parametrize(("code", "state"), LIMITED)
def test_limits(programs, code: str, state: str):
    limits = Limits(seconds=2 if state == "timeout" else 30, memory_mb=500, output_mb=1)
    result = ran(programs, code, RunOptions(ranks=1, limits=limits))
    assert (result.state, result.verdict) == (state, Verdict.FAILED)
    assert [f.kind for f in result.findings] == [state]
    assert result.memory_mb < 4000


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("raise(SIGSEGV);", "SIGSEGV"),
        ("abort();", "SIGABRT"),
        ("_exit(0);", "end mark is missing"),
        ("_exit(9);", "exit code 9"),
        ('fprintf(stderr, "last words\\n"); _exit(3);', "end mark"),
    ],
)
def test_crashes(programs, code: str, words: str):
    result = ran(programs, code)
    assert (result.state, result.verdict) == ("crashed", Verdict.FAILED)
    assert words in result.findings[0].message and result.findings[0].kind == "crash"
    if "last words" in code:
        assert "last words" in result.findings[0].hint


def announced(size: int, more: str = "") -> str:
    """Return code that tells of a read-back of `size` bytes which its file does not hold."""
    return (
        rf'fake_signed("{{\"ev\":\"readback\",\"rank\":0,\"thread\":0,\"order\":0,\"node\":0,'
        rf'\"bytes\":{size},\"offset\":0,\"device_offset\":0,\"frames\":[]{more}}}");'
    )


FORGERIES = [
    # Lines of the program's own, which does not know the nonce.
    r'fake_raw("{\"ev\":\"end\",\"state\":\"finished\"}"); _exit(0);',
    r'fake_raw("0123456789 {\"ev\":\"end\",\"state\":\"finished\"}"); _exit(0);',
    r'fake_raw(" {\"ev\":\"exit\",\"rank\":0,\"code\":0}");',
    r'fake_raw("");',
    # Lines that would be wrong from anybody.
    r'fake_signed("{\"ev\":\"begin\"}");',
    r'fake_signed("{\"ev\":\"applause\"}");',
    r'fake_signed("{\"ev\":\"trace\",\"seq\":1,\"rank\":0}");',
    r'fake_signed("{\"ev\":\"trace\",\"seq\":1,\"rank\":0,\"text\":\"no finding follows\"}");',
    r'fake_signed("not json");',
    r'fake_signed("[]");',
    r'fake_signed("{\"ev\":\"exit\",\"rank\":\"zero\",\"code\":0}");',
    announced(9),
    announced(-9),
    "close(4);",
]


@pytest.mark.parametrize("code", FORGERIES)
def test_forged_reports_are_failures(programs, code: str):
    result = ran(programs, code)
    assert (result.state, result.verdict) == ("crashed", Verdict.FAILED), result.findings


def test_more_read_back_than_a_file_may_hold_is_a_limit(programs):
    result = ran(programs, announced(5 << 30))
    assert (result.state, result.verdict) == ("output_limit", Verdict.FAILED)
    assert "read back less than 4096 MiB" in result.findings[0].message
    assert "but read back 5120 MiB" in result.findings[0].message


def test_a_full_disk_is_no_fault_of_the_program(programs):
    result = ran(programs, announced(9, r",\"lost\":1") + ' fake_end("stopped");')
    assert (result.state, result.verdict) == ("output_limit", Verdict.FAILED)
    assert "is full after 0 MiB" in result.findings[0].message
    assert "TMPDIR" in result.findings[0].hint


def test_the_nonce_cannot_be_read_again(programs):
    code = (
        "char b[64]; for (int fd = 0; fd < 64; fd++) if (fd != 4 && fd != 5) { "
        "lseek(fd, 0, 0); ssize_t n = read(fd, b, 64);"
        ' if (n > 0 && memmem(b, n, "nonce", 5)) puts("x"); }'
    )
    assert ran(programs, code).stdout == ""


def test_what_follows_the_end_mark_fails():
    good = b'n {"ev":"begin"}\nn {"ev":"end","state":"finished","stats":{}}\n'
    assert parse_report(good, "n").problem == ""
    for bad in (b"", good[:-1], good + b'n {"ev":"exit","rank":0,"code":0}\n', good[17:], good * 2,
                good.replace(b"finished", b"great"), b"\n" + good):  # fmt: skip
        report = parse_report(bad, "n")
        assert report.problem and report.state is None, bad
    assert parse_report(good, "other").state is None


def test_the_environment_is_ours_to_give(programs, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SECRET_API_KEY", "hunter2")
    code = "for (char** e = environ; *e; e++) puts(*e);"
    result = ran(programs, code, RunOptions(ranks=1, environment={"NCCL_DEBUG": "INFO"}))
    assert "hunter2" not in result.stdout and "NCCL_DEBUG=INFO" in result.stdout


def test_no_process_is_left(programs):
    code = "if (fork() == 0) { setsid(); for (;;) sleep(424242); }"
    ran(programs, code)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                assert bytes(programs.runtime) not in (entry / "cmdline").read_bytes()
            except OSError:
                continue


@pytest.mark.parametrize(
    "options",
    [RunOptions(ranks=0), RunOptions(ranks=513), RunOptions(ranks=-1),
     RunOptions(ranks=4, lsa_size=0), RunOptions(ranks=4, lsa_size=5),
     RunOptions(run=RunSpec(-1, Timing.LAZY)), RunOptions(limits=Limits(seconds=0)),
     RunOptions(args=("a\0b",))],
)  # fmt: skip
def test_options_out_of_range(programs, options: RunOptions):
    built = programs.build(body(""))
    with pytest.raises(BadInputError, match=r"got|zero byte"):
        run(built, options)
    with pytest.raises(BadInputError):
        run_many(built, [ONE, options])


def test_many_runs_keep_their_order(programs):
    built = programs.build(body('printf("%s", fake_config("seed"));'))
    seen: list[str] = []
    done = run_many(
        built,
        [RunOptions(run=RunSpec(s, Timing.EAGER), ranks=1) for s in range(6)],
        workers=3,
        on_done=lambda r: seen.append(r.stdout),
    )
    assert [r.stdout for r in done if r] == list("012345") and sorted(seen) == list("012345")


def test_many_runs_stop_on_request(programs):
    built = programs.build(body('if (atoi(fake_config("seed"))) for (;;) sleep(1);'))
    started = time.monotonic()
    done = run_many(
        built,
        [RunOptions(run=RunSpec(s, Timing.EAGER), ranks=1) for s in (1, 0, 1, 1)],
        workers=2,
        on_done=lambda r: True,
    )
    assert time.monotonic() - started < 15
    assert [r is None for r in done] == [True, False, True, True]


def test_a_run_can_be_cancelled(programs):
    cancel = threading.Event()
    threading.Timer(0.5, cancel.set).start()
    built = programs.build(body("for (;;) {}"))
    assert run(built, ONE, cancel=cancel).state == "cancelled"


def test_nothing_is_left_in_the_file_system(
    programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    assert ran(programs, 'fclose(fopen("left", "w"));').verdict is Verdict.OK
    assert list((tmp_path / "tmp").iterdir()) == [] and not Path("left").exists()


def test_a_library_folder_of_the_compilers_own_is_given(programs, tmp_path: Path):
    built = programs.build(
        body('puts(getenv("LD_LIBRARY_PATH") ? getenv("LD_LIBRARY_PATH") : "none");')
    )
    assert run(built, ONE).stdout == "none\n"
    runtime = tmp_path / "runtime" / "warploom-emu"
    runtime.parent.mkdir()
    shutil.copy(built.runtime, runtime)
    lib = tmp_path / "lib"
    lib.mkdir()
    runtime.with_name("library-folder").write_text(str(lib))
    assert run(dataclasses.replace(built, runtime=runtime), ONE).stdout == f"{lib}\n"
