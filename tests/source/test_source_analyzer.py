"""The analyzer on programs of many styles."""

import json
from pathlib import Path

import cuda_texts as texts
import pytest

from warploom.core.errors import SourceError
from warploom.core.records import to_json
from warploom.source import AnalysisReport, CUDAAnalyzer


def analyze(tmp_path: Path, text: str, **options: object) -> AnalysisReport:
    place = tmp_path / "program.cu"
    place.write_text(text)
    return CUDAAnalyzer(place, **options).analyze()  # type: ignore[arg-type]


def line_of(text: str, piece: str) -> int:
    assert text.count(piece) == 1, piece
    return text[: text.index(piece)].count("\n") + 1


def test_one_process_per_rank(tmp_path: Path) -> None:
    report = analyze(tmp_path, texts.MPI_PER_RANK)
    (call,) = report.collectives
    assert call.name == "ncclAllReduce"
    assert call.line == line_of(texts.MPI_PER_RANK, "NCCLCHECK(ncclAllReduce")
    assert (call.send, call.recv) == ("(const void*)d_send", "(void*)d_recv")
    assert (call.send_roots, call.recv_roots) == (("d_send",), ("d_recv",))
    assert (call.count, call.dtype, call.op) == ("n", "ncclFloat", "ncclSum")
    assert (call.root, call.peer, call.comm, call.stream) == (None, None, "comm", "stream")
    assert call.group is None
    assert call.producers == ("scale",)
    assert call.consumers == ("bias", "cudaMemcpy")
    assert not call.in_place
    assert report.setup.style == "mpi"
    assert report.main is not None and report.main.line == line_of(texts.MPI_PER_RANK, "int main(")
    assert report.has_host_communication() and not report.has_device_communication()


def test_a_sound_program_is_not_warned_about(tmp_path: Path) -> None:
    kinds = {w.kind for w in analyze(tmp_path, texts.MPI_PER_RANK).warnings}
    assert kinds <= {"unchecked_errors"}


def test_allocations_have_size_and_kind(tmp_path: Path) -> None:
    report = analyze(tmp_path, texts.MPI_PER_RANK)
    found = [(a.name, a.call, a.bytes, a.element) for a in report.allocations]
    assert found == [
        ("d_in", "cudaMalloc", "n * sizeof(float)", "float"),
        ("d_send", "cudaMalloc", "n * sizeof(float)", "float"),
        ("d_recv", "cudaMalloc", "n * sizeof(float)", "float"),
    ]


def test_launches_have_their_shape(tmp_path: Path) -> None:
    scale, bias = analyze(tmp_path, texts.MPI_PER_RANK).launches
    assert (scale.kernel, scale.grid, scale.block, scale.shared, scale.stream) == (
        "scale", "grid", "256", "0", "stream",
    )  # fmt: skip
    assert scale.roots == (("d_in",), ("d_send",), ())
    assert bias.roots == (("d_recv",), ())


def test_kernel_parameters_are_read_and_written(tmp_path: Path) -> None:
    kernels = {k.name: k for k in analyze(tmp_path, texts.MPI_PER_RANK).kernels}
    modes = [(p.name, p.reads, p.writes) for p in kernels["scale"].parameters]
    assert modes == [("in", True, False), ("out", False, True), ("n", False, False)]
    data = kernels["bias"].parameters[0]
    assert data.reads and data.writes


def test_spans_cut_the_exact_text(tmp_path: Path) -> None:
    text = texts.MPI_PER_RANK
    report = analyze(tmp_path, text)
    site = report.collectives[0].site
    assert text[site.call.start : site.call.end].startswith("ncclAllReduce((const void*)d_send")
    assert text[site.statement.start : site.statement.end].startswith("NCCLCHECK(ncclAllReduce(")
    assert text[site.statement.start : site.statement.end].endswith("stream));")
    cuts = [text[a.span.start : a.span.end] for a in site.arguments]
    assert cuts[2:6] == ["n", "ncclFloat", "ncclSum", "comm"]
    assert site.function == "main" and site.checked
    declared = report.collectives[0].send_buffers[0].declaration
    assert declared is not None
    assert text[declared.span.start : declared.span.end] == "float *d_in, *d_send, *d_recv;"
    assert text[declared.declarator.start : declared.declarator.end] == "*d_send"


def test_readback_has_its_element_type(tmp_path: Path) -> None:
    (back,) = analyze(tmp_path, texts.MPI_PER_RANK).readbacks
    assert (back.host, back.device, back.dtype) == ("h_out.data()", "d_recv", "float")
    assert (back.bytes, back.device_roots) == ("n * sizeof(float)", ("d_recv",))


def test_copies_of_any_direction_are_readbacks_where_they_leave_a_device(tmp_path: Path) -> None:
    text = """
int main() {
  float *d, *e, *h = (float*)malloc(128), *p, *unknown = other();
  cudaMalloc(&d, 128);
  cudaMallocAsync(&e, 128, 0);
  cudaMallocHost(&p, 128);
  cudaMemcpy(d, h, 128, cudaMemcpyDefault);
  cudaMemcpy(e, d, 128, cudaMemcpyDefault);
  cudaMemcpy2D(h, 32, d, 32, 32, 4, cudaMemcpyDefault);
  cudaMemcpy2DAsync(p, 32, e, 32, 32, 4, cudaMemcpyDefault, 0);
  cudaMemcpy2DAsync(h, 32, e, 32, 32, 4, cudaMemcpyDeviceToHost, 0);
  cudaMemcpy(p, h, 128, cudaMemcpyDefault);
  cudaMemcpy(h, unknown, 128, cudaMemcpyDefault);
}
"""
    backs = analyze(tmp_path, text).readbacks
    assert [(b.host, b.device) for b in backs] == [("h", "d"), ("p", "e"), ("h", "e")]


def test_one_process_for_all_devices(tmp_path: Path) -> None:
    report = analyze(tmp_path, texts.INIT_ALL)
    (call,) = report.collectives
    assert report.setup.style == "init_all"
    assert call.send_roots == ("sendbuff",) and call.recv_roots == ("recvbuff",)
    assert call.group == 1 and call.site.in_loop
    (group,) = report.groups
    assert group.line == line_of(texts.INIT_ALL, "ncclGroupStart")
    assert group.end_line == line_of(texts.INIT_ALL, "ncclGroupEnd")
    assert call.producers == ("cudaMemset",)
    assert [a.name for a in report.allocations] == ["sendbuff", "recvbuff"]
    kinds = {w.kind for w in report.warnings}
    # Only the teardown goes unchecked, which it may.
    assert {"constant_inputs", "no_readback", "unguarded_pass"} == kinds


def test_a_thread_per_device(tmp_path: Path) -> None:
    report = analyze(tmp_path, texts.THREADS)
    (call,) = report.collectives
    assert report.setup.style == "threads" and report.setup.uses_threads
    assert (call.send_roots, call.recv_roots) == (("jobs.in",), ("jobs.out",))
    (comm,) = report.communicators
    assert comm.destroyed == (line_of(texts.THREADS, "ncclCommDestroy"),)
    assert (comm.rank, comm.nranks) == ("job->rank", "ranks")


def test_helpers_and_struct_members(tmp_path: Path) -> None:
    report = analyze(tmp_path, texts.HELPERS)
    (call,) = report.collectives
    assert call.send == "buffer" and call.in_place
    assert call.send_roots == ("model.grads",)
    assert call.producers == ("fill",)
    assert call.consumers == ("update",)
    roots = {a.line: a.roots for a in report.allocations}
    assert set(roots.values()) == {("model.grads", "model.weights"), ("model.other",)}
    assert [x.template_arguments for x in report.launches] == ["", "float", "float"]
    update = next(k for k in report.kernels if k.name == "update")
    assert [(p.reads, p.writes) for p in update.parameters[:2]] == [(False, True), (True, False)]


def test_helper_is_one_entry_with_all_its_buffers(tmp_path: Path) -> None:
    send, recv = analyze(tmp_path, texts.SEND_RECV).collectives
    assert (send.name, recv.name) == ("ncclSend", "ncclRecv")
    assert send.send_roots == ("d_tokens", "d_expert") and send.recv is None
    assert recv.recv_roots == ("d_expert", "d_back") and recv.send is None
    assert send.group == recv.group == 1
    assert send.peer == "peer" and send.root is None
    assert send.producers == ("mlp",)
    assert recv.consumers == ("mlp",)


def test_classes_own_their_buffers(tmp_path: Path) -> None:
    report = analyze(tmp_path, texts.CLASSES)
    reduce, broadcast = report.collectives
    assert reduce.send_roots == ("ring.scratch_",) and reduce.in_place
    assert (reduce.producers, reduce.consumers) == (("twice",), ("cudaMemcpyAsync",))
    assert broadcast.send_roots == broadcast.recv_roots == ("input.data_",)
    assert report.launches[0].roots == (("input.data_",), ("ring.scratch_",))
    assert {a.roots for a in report.allocations} == {("input.data_",), ("ring.scratch_",)}


def test_code_elsewhere_is_named_as_a_neighbor(tmp_path: Path) -> None:
    text = """\
void launch_stencil(float* out, const float* in, int n);
int main() {
  float *a, *b;
  cudaMalloc(&a, 64); cudaMalloc(&b, 64);
  launch_stencil(a, b, 16);
  ncclSend(a, 16, ncclFloat, 1, comm, 0);
  ncclRecv(b, 16, ncclFloat, 1, comm, 0);
  thrust::reduce(thrust::device, b, b + 16);
}
"""
    send, recv = analyze(tmp_path, text).collectives
    assert send.producers == ("launch_stencil",)
    assert recv.consumers == ("thrust::reduce",)
    assert [u.kind for u in recv.flow] == ["call"]


def test_endless_nesting_is_an_error_not_a_traceback(tmp_path: Path) -> None:
    text = "int main() { ncclBcast(d" + " + 1" * 20000 + ", 1, ncclInt, 0, c, s); }\n"
    with pytest.raises(SourceError, match="nest"):
        analyze(tmp_path, text)


def test_extended_launches(tmp_path: Path) -> None:
    plain, cooperative, extended = analyze(tmp_path, texts.EXTENDED_LAUNCHES).launches
    assert (plain.kernel, plain.grid, plain.block, plain.shared, plain.stream) == (
        "step", "dim3(4)", "dim3(64)", "128", "stream",
    )  # fmt: skip
    assert plain.arguments == ("buf", "n") and not plain.cooperative
    assert cooperative.cooperative and cooperative.api == "cudaLaunchCooperativeKernel"
    assert (extended.grid, extended.block, extended.shared, extended.stream) == (
        "dim3(2)", "dim3(16)", "256", "stream",
    )  # fmt: skip
    assert extended.roots == (("buf",), ())


def test_what_cannot_be_read_is_named_and_the_rest_is_kept(tmp_path: Path) -> None:
    report = analyze(tmp_path, texts.BROKEN)
    assert [c.name for c in report.collectives] == ["ncclBroadcast"]
    assert [x.kernel for x in report.launches] == ["fine"]
    bad = line_of(texts.BROKEN, "@@@")
    (skipped,) = report.skipped
    assert any(lines.first <= bad <= lines.last for lines in skipped.lines)
    assert any(w.kind == "skipped_lines" for w in report.warnings)


@pytest.mark.parametrize("suffix", [".h", ".cuh", ".hpp"])
def test_what_cannot_be_read_of_a_header_is_one_warning(tmp_path: Path, suffix: str) -> None:
    broken = "@@@ this is not C++ ((;\nint fine_%d();\n"
    (tmp_path / f"other{suffix}").write_text("".join(broken % i for i in range(9)))
    text = f'#include "other{suffix}"\nint main() {{ return 0; }}\n'
    report = analyze(tmp_path, text, include_dirs=[tmp_path])
    (found,) = (w for w in report.warnings if w.kind == "skipped_lines")
    assert found.file.endswith(suffix) and found.line == 1
    assert " places of this header could not be read" in found.message
    (skipped,) = report.skipped
    assert len(skipped.lines) > 1  # all of them are in the report


def test_both_arms_are_seen_and_dead_ones_are_not(tmp_path: Path) -> None:
    names = [c.name for c in analyze(tmp_path, texts.BRANCHES).collectives]
    assert names == ["ncclReduce", "ncclAllReduce", "ncclRecv"]
    report = analyze(tmp_path, texts.BRANCHES, defines={"USE_REDUCE": "1"})
    assert [c.name for c in report.collectives] == ["ncclReduce", "ncclRecv"]
    assert report.collectives[0].site.conditions == ("ifdef USE_REDUCE",)


def test_quoted_headers_are_part_of_the_program(tmp_path: Path) -> None:
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc" / "comm.cuh").write_text(
        "#pragma once\n"
        "inline void share(float* x, ncclComm_t c) {\n"
        "  ncclBcast(x, 8, ncclFloat, 0, c, 0);\n}\n"
    )
    text = '#include "comm.cuh"\nint main() { float* d; cudaMalloc(&d, 8); share(d, comm); }\n'
    report = analyze(tmp_path, text, include_dirs=[tmp_path / "inc"])
    (call,) = report.collectives
    assert Path(call.file).name == "comm.cuh" and call.line == 3
    assert call.send_roots == call.recv_roots == ("d",) and call.root == "0"
    assert len(report.files) == 2


def test_calls_in_macros_and_lambdas(tmp_path: Path) -> None:
    text = """\
#define REDUCE(buf, n) \\
  do { \\
    ncclAllReduce(buf, buf, n, ncclFloat, ncclSum, comm, stream); \\
  } while (0)
int main() {
  float *d_a, *d_b;
  cudaMalloc(&d_a, 4); cudaMalloc(&d_b, 4);
  REDUCE(d_a, 1);
  auto gather = [&](float* x) { ncclAllGather(x, d_b, 1, ncclFloat, comm, stream); };
  gather(d_a);
}
"""
    first, second = analyze(tmp_path, text).collectives
    assert (first.name, first.line, first.send_roots) == ("ncclAllReduce", 3, ("d_a",))
    assert (second.name, second.send_roots, second.recv_roots) == (
        "ncclAllGather", ("d_a",), ("d_b",),
    )  # fmt: skip


def test_one_sided_calls(tmp_path: Path) -> None:
    text = """\
int main() {
  float* src; ncclMemAlloc((void**)&src, 64);
  ncclWindow_t win;
  ncclCommWindowRegister(comm, src, 64, &win, NCCL_WIN_COLL_SYMMETRIC);
  ncclPutSignal(src, 4, ncclFloat, peer, win, 128, 0, 0, 0, comm, stream);
  ncclSignal(peer, 0, 0, 0, comm, stream);
  ncclWaitSignal(1, &desc, comm, stream);
}
"""
    report = analyze(tmp_path, text)
    put, signal, wait = report.collectives
    assert (put.send, put.peer, put.window, put.window_offset) == ("src", "peer", "win", "128")
    assert (signal.name, signal.peer, signal.comm) == ("ncclSignal", "peer", "comm")
    assert (wait.name, wait.stream) == ("ncclWaitSignal", "stream")
    assert report.allocations[0].kind == "symmetric"
    (window,) = report.windows
    assert window.roots == ("src",)


def test_device_initiated_programs_are_told(tmp_path: Path) -> None:
    text = """\
__global__ void k(ncclDevComm dev, ncclWindow_t w) {
  ncclGin gin(dev, 0);
  gin.put(ncclTeamWorld(dev), 1, w, 0, w, 0, 64);
}
int main() { ncclDevCommCreate(comm, &reqs, &dev); k<<<1, 32>>>(dev, w); }
"""
    report = analyze(tmp_path, text)
    assert report.has_device_communication() and not report.has_host_communication()
    assert report.device_communicators[0].comm == "comm"
    assert report.kernels[0].device_api == ("ncclGin",)


def test_swapped_buffers_and_aliases(tmp_path: Path) -> None:
    text = """\
__global__ void stencil(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }
int main() {
  float *a, *b;
  cudaMalloc(&a, 64); cudaMalloc(&b, 64);
  for (int i = 0; i < 9; ++i) {
    stencil<<<1, 16>>>(a, b);
    float* edge = &b[8];
    ncclSend(edge, 8, ncclFloat, 1, comm, 0);
    std::swap(a, b);
  }
}
"""
    (call,) = analyze(tmp_path, text).collectives
    assert set(call.send_roots) == {"a", "b"}
    assert call.producers == ("stencil",)


def test_repeated_and_replaced_producers(tmp_path: Path) -> None:
    text = """\
__global__ void first(float* p) { p[threadIdx.x] = threadIdx.x; }
int main() {
  float *d, *other;
  cudaMalloc(&d, 64); cudaMalloc(&other, 64);
  first<<<1, 16>>>(d);
  cudaMemcpy(d, other, 64, cudaMemcpyDeviceToDevice);
  ncclAllReduce(d, other, 16, ncclFloat, ncclSum, comm, 0);
}
"""
    (call,) = analyze(tmp_path, text).collectives
    assert call.producers == ("cudaMemcpy",), "the copy overwrites all that the kernel wrote"


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"", "empty"), (b"  \n", "empty"), (b"\x7fELF\0\0", "zero byte")],
)
def test_bad_files_are_refused(tmp_path: Path, content: bytes, said: str) -> None:
    place = tmp_path / "bad.cu"
    place.write_bytes(content)
    with pytest.raises(SourceError, match=said):
        CUDAAnalyzer(place).analyze()


def test_missing_file_and_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="must exist"):
        CUDAAnalyzer(tmp_path / "none.cu").analyze()
    with pytest.raises(SourceError, match="readable"):
        CUDAAnalyzer(tmp_path).analyze()


def test_bytes_that_are_not_utf8_do_no_harm(tmp_path: Path) -> None:
    place = tmp_path / "latin.cu"
    place.write_bytes(b"// caf\xe9\nint main() { ncclBcast(d, 1, ncclInt, 0, c, s); /* \xff */ }\n")
    report = CUDAAnalyzer(place).analyze()
    assert report.collectives[0].line == 2


@pytest.mark.parametrize("name", [n for n in dir(texts) if n.isupper() and n != "CHECKS"])
def test_report_is_json_and_text(tmp_path: Path, name: str) -> None:
    report = analyze(tmp_path, getattr(texts, name))
    data = json.loads(json.dumps(to_json(report)))
    for call in data["collectives"]:
        assert {
            "name", "line", "send", "recv", "count", "dtype", "op", "root", "comm", "stream",
            "group", "producers", "consumers",
        } <= set(call)  # fmt: skip
    said = report.format_for_llm()
    for call in report.collectives:
        assert f"L{call.line} {call.name}" in said
    for launch in report.launches:
        assert f"L{launch.line} {launch.kernel}" in said
