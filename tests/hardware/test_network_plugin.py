"""The network that carries GIN where there is no card: what NCCL asks of plugins, and no more.

Two ranks, threads of one process, and a CUDA driver of our own in place of the real one.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

from warploom.core.records import BuildSpec
from warploom.hardware import network
from warploom.hardware.network import build_network, serves, timings, wants_network
from warploom.toolchain.compilers import find_compiler

ROUNDS = 60
DRIVER = r"""
#include <cstdint>
#include <cstring>
static int context;
extern "C" {
int cuCtxGetCurrent(void** current) { return *current = &context, 0; }
int cuCtxSetCurrent(void* current) { return current != &context; }
int cuStreamCreate(void** stream, unsigned) { return *stream = &context, 0; }
int cuStreamDestroy_v2(void*) { return 0; }
int cuThreadExchangeStreamCaptureMode(int*) { return 0; }
int cuStreamSynchronize(void*) { return 0; }
int cuMemcpyAsync(uint64_t to, uint64_t from, unsigned long bytes, void*) {
  std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes);
  return 0;
}
}
"""
PROGRAM = r"""
#include <dlfcn.h>

#include <atomic>
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "nccl_rma.h"

using Words = std::atomic<uint64_t>[8];
constexpr int kWeak = 5, kStrong = 6;
const RmaPlugin* plugin;
char handles[2][kHandleBytes];
std::barrier together(2);
int own = 0, earlier_at_weak = 0, all_at_strong = 0, kept = 0, overwritten = 0, gets = 0;

void check(NcclResult result) {
  if (result != kSuccess) std::abort();
}

struct Rank {
  Words source{}, window{};
  void *comm, *context, *source_memory, *window_memory;

  explicit Rank(int rank) {
    void *instance, *listener, *all[] = {handles[0], handles[1]};
    check(plugin->init(&instance, 1, nullptr));
    check(plugin->listen(instance, 0, handles[rank], &listener));
    together.arrive_and_wait();
    check(plugin->connect(instance, all, 2, rank, listener, &comm));
    check(plugin->close_listener(listener));
    RmaConfig config{1, 0, 1};
    check(plugin->create_context(comm, &config, &context));
    check(plugin->register_memory(comm, source, sizeof source, kCudaMemory, 0, &source_memory));
    check(plugin->register_memory(comm, window, sizeof window, kCudaMemory, 0, &window_memory));
  }
  void* put(int word, int signal, bool strong) {
    void* request;
    check(plugin->put_signal(context, 0, word * 8, source_memory, 8, word * 8, window_memory, 1,
                             signal * 8, window_memory, 1, signal ? kSignalIncrement : kNoSignal,
                             strong, &request));
    return request;
  }
  void finish(void* request) {
    for (int done = 0; !done;) check(plugin->test(comm, request, &done));
  }
  void await(int signal, uint64_t value) {
    while (window[signal] < value) std::this_thread::yield();
  }
  void close() {
    check(plugin->deregister_memory(comm, source_memory));
    check(plugin->deregister_memory(comm, window_memory));
    together.arrive_and_wait();
    check(plugin->destroy_context(context));
    check(plugin->close(comm));
  }
};

void sender(int rounds) {
  Rank rank(0);
  for (uint64_t round = 1; round <= uint64_t(rounds); round++) {
    for (auto& word : rank.source) word = round;
    void* requests[] = {rank.put(0, 0, false), rank.put(1, kWeak, false), rank.put(2, 0, false),
                        rank.put(3, kStrong, true)};
    if (round % 2) rank.source[2] = 0;  // too early: it may not have been read
    for (void* request : requests) rank.finish(request);
    for (auto& word : rank.source) word = 0;  // late enough
    together.arrive_and_wait();
    void* request;
    check(plugin->get(rank.context, 0, 56, rank.window_memory, 8, 56, rank.source_memory, 1,
                      &request));
    rank.finish(request);
    gets += rank.source[7] == round * 3;
    together.arrive_and_wait();
  }
  rank.close();
}

void receiver(int rounds) {
  Rank rank(1);
  for (uint64_t round = 1; round <= uint64_t(rounds); round++) {
    rank.window[7] = round * 3;
    rank.await(kWeak, round);
    own += rank.window[1] == round;
    earlier_at_weak += rank.window[0] == round;
    rank.await(kStrong, round);
    all_at_strong += rank.window[0] == round && rank.window[1] == round && rank.window[3] == round;
    (round % 2 ? overwritten : kept) += round % 2 ? rank.window[2] == 0 : rank.window[2] == round;
    together.arrive_and_wait();
    together.arrive_and_wait();
  }
  rank.close();
}

int main(int, char** arguments) {
  void* library = dlopen(arguments[1], RTLD_NOW);
  if (!library) return std::puts(dlerror()), 1;
  plugin = static_cast<RmaPlugin*>(dlsym(library, "ncclRmaPlugin_v14"));
  const int rounds = std::atoi(arguments[2]);
  std::thread first(sender, rounds), second(receiver, rounds);
  first.join(), second.join();
  std::printf("{\"own\": %d, \"earlier_at_weak\": %d, \"all_at_strong\": %d, \"kept\": %d, "
              "\"overwritten\": %d, \"gets\": %d}\n",
              own, earlier_at_weak, all_at_strong, kept, overwritten, gets);
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("network")
    compiler = find_compiler()
    headers = Path(network.__file__).with_name("network")
    (folder / "driver.cpp").write_text(DRIVER)
    (folder / "program.cpp").write_text(PROGRAM)
    command = [*compiler.command, "-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror"]
    for more in (
        ["-fPIC", "-shared", "driver.cpp", "-o", "libcuda.so.1"],
        ["-I", str(headers), "program.cpp", "-o", "program", "-ldl", "-lpthread"],
        ["-fsyntax-only", *map(str, headers.glob("*.cpp"))],
    ):
        subprocess.run([*command, *more], cwd=folder, check=True)
    return folder / "program"


def run(program: Path, timing: str) -> dict[str, int]:
    done = subprocess.run(
        [program, build_network(), str(ROUNDS)],
        env={**os.environ, "LD_LIBRARY_PATH": str(program.parent), "WARPLOOM_NETWORK": timing},
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert done.stderr == ""
    return json.loads(done.stdout)


@pytest.mark.parametrize("timing", ["eager", "lazy", "random:1", "random:2"])
def test_keeps_what_is_promised(program: Path, timing: str) -> None:
    seen = run(program, timing)
    assert seen["own"] == ROUNDS  # a weak signal comes after its own put
    assert seen["all_at_strong"] == ROUNDS  # a strong one after all before it
    assert seen["kept"] == ROUNDS // 2  # a source may be used again when its request is done
    assert seen["gets"] == ROUNDS


def test_orders_nothing_more_than_that(program: Path) -> None:
    seen = run(program, "random:3")
    assert 0 < seen["earlier_at_weak"] < ROUNDS  # a weak signal overtakes an earlier put
    assert seen["overwritten"] > 0  # a source that is used again too early is sent as it is then


def test_an_eager_network_keeps_the_order(program: Path) -> None:
    assert run(program, "eager")["earlier_at_weak"] == ROUNDS


def test_each_run_has_a_timing() -> None:
    assert timings(1) == ("random:1",)
    assert timings(3) == ("eager", "lazy", "random:1")
    assert len(set(timings(10))) == 10


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("ncclGin gin{devComm, 0};", True),
        ("reqs.ginSignalCount = 1;", True),
        ("ncclPutSignal(buffer, 1, ncclFloat, 1, window, 0, 0, 0, 0, comm, stream);", True),
        ("ncclLsaBarrierSession<ncclCoopCta> barrier{};", False),
    ],
)
def test_tells_who_wants_a_network(text: str, wanted: bool, tmp_path: Path) -> None:
    file = tmp_path / "program.cu"
    file.write_text(text)
    assert wants_network(BuildSpec(file)) is wanted


def test_older_nccl_takes_no_such_plugin() -> None:
    assert not serves("2.29.7")
    assert serves("2.30.7")
    assert serves("2.32.3")
