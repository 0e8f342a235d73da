# ruff: noqa: E501 - attacks are written as they would be
"""Level 0 and the object against text that gives the frame's names another meaning."""

from pathlib import Path

import pytest
from test_legality_classes import added, inside

from warploom.core.records import BuildSpec
from warploom.emulator.building.build import build
from warploom.evaluation.legality.object_rules import replaced_findings

OWN = "template <class U> struct Mine { using type = U; };\nenum class Kind { a, b };\n"
REFUSED = [
    "struct A { friend cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return cudaSuccess; } };",
    "struct A { inline friend int expected(int) { return 0; } };",
    "struct A { int friend rand() noexcept { return 0; } };",
    "template <class T> struct A { friend int fprintf(FILE*, const char*, ...) { return 0; } };",
    "using A = struct B { friend int rand() { return 0; } };",
    "template <int N> struct Z {};\nstruct B : Z<(1)> { friend int rand() { return 0; } };",
    "struct A { friend bool operator!=(cudaError_t, cudaError_t) { return false; } };",
    OWN + "inline bool operator!=(Mine<cudaError_t>::type, Mine<cudaError_t>::type) { return false; }",
    "template <class T> using Same = T;\ninline bool operator!=(Same<cudaError_t>, Same<cudaError_t>) { return false; }",
    "struct Row {};\ntemplate <class Row> bool operator!=(Row, Row) { return false; }",
    "struct Box { struct cudaError_t {}; };\ninline bool operator!=(cudaError_t, cudaError_t) { return false; }",
    "typedef enum cudaError Row;\ninline bool operator!=(Row, Row) { return false; }",
    "struct Row {};\ninline bool operator!=(Row*, cudaError_t) { return false; }",
    "namespace sx = std;\ntemplate <> struct sx::allocator<float> { using value_type = float; };",
    "namespace sx = std;\ntemplate <> inline double sx::abs<double>(double x) { return x; }",
    "namespace sx = ::std;\ntemplate <class T> struct [[maybe_unused]] sx::allocator<T*> {};",
    "struct Bag { enum class E { cudaSuccess = 99 }; };\nusing enum Bag::E;",
    "struct Bag { enum class E { cudaSuccess = 99, other }; };\nusing Bag::E::cudaSuccess, Bag::E::other;",
]  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_another_meaning_is_refused(text: str) -> None:
    assert [item for item in added(text) if item[0] == "redefinition"]


HONEST = [
    "struct Row { int a; friend bool operator==(const Row& x, const Row& y) { return x.a == y.a; } };",
    "struct Row { int a; friend bool operator==(const Row&, const Row&) = default; };",
    "struct Row { friend struct Other; friend int total(const Row&); int a; };\ninline int total(const Row& r) { return r.a; }",
    "typedef struct { int a; } Row;\ninline bool operator<(Row x, Row y) { return x.a < y.a; }",
    "template <class T> struct Pair { T a, b; };\ntemplate <class T> __device__ Pair<T> operator+(const Pair<T>& x, const Pair<T>& y) { return {x.a + y.a, x.b + y.b}; }",
    "struct Grid { struct Cell { int a; }; };\ninline bool operator==(const Grid::Cell& x, Grid::Cell const& y) { return x.a == y.a; }",
    "namespace mine { struct Row { int a; }; }\ninline bool operator==(mine::Row x, mine::Row y) { return x.a == y.a; }",
    "__device__ inline float4 operator+(float4 a, const float4& b) { return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w}; }",
    "template <class T> struct Buf { T* p; T* at(int i); };\ntemplate <class T> T* Buf<T>::at(int i) { return p + i; }",
    "namespace mine { struct Row { static const int kSize; int size() const; }; }\nint mine::Row::size() const { return 3; }\nconst int mine::Row::kSize = 4;",
    "template <class T> struct Size;\ntemplate <> struct Size<float> { static constexpr int value = 4; };",
    "enum class Kind { left, right };\nstatic int pick(Kind k) { using enum Kind; return k == left ? 1 : 2; }",
]  # fmt: skip


@pytest.mark.parametrize("text", HONEST)
def test_own_operators_and_members_are_not(text: str) -> None:
    assert added(text) == []


def test_enumerators_in_the_frames_function() -> None:
    kept = "struct Bag { enum class E { cudaSuccess = 99 }; };"
    assert added(kept) == []
    text = "  struct Bag { enum class E { cudaSuccess = 99 }; };\n  using enum Bag::E;"
    assert ("redefinition", 2) in inside(text)


@pytest.mark.parametrize("count", [11, 40, 90])
def test_no_world_is_left_out(count: int) -> None:
    opens = "".join(f"#if NCCL_VERSION_CODE < {i}\n#else\n" for i in range(1, count + 1))
    hidden = "  auto cudaGetLastError = [](auto...) { return cudaError_t(0); };\n"
    found = inside(opens + hidden + "#endif\n" * count)
    assert [kind for kind, _ in found][:1] in (["redefinition"], ["hidden_text"])


def test_versions_are_asked_for_once_each() -> None:
    text = "".join(
        f"#if NCCL_VERSION_CODE >= NCCL_VERSION(2, {minor}, {patch})\n#else\n#endif\n"
        for minor in (28, 29, 30)
        for patch in range(9)
    )
    assert inside(text) == []


PROGRAM = "#include <cuda_runtime.h>\n%s\nint main() { cudaEvent_t e; return cudaEventCreate(&e) + cudaEventRecord(e, nullptr); }\n"


def test_the_object_has_the_last_word(tmp_path: Path) -> None:
    # What is inlined everywhere leaves no name: of that, the text alone tells.
    friend = "struct A { __attribute__((noinline)) friend cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return cudaSuccess; } };"
    seen: list[frozenset[str]] = []
    for name, text in (("plain", "#include <string>\nstd::string s;"), ("other", friend)):
        source = tmp_path / f"{name}.cu"
        source.write_text(PROGRAM % text)
        seen.append(build(BuildSpec(source)).replaced)
    assert seen == [frozenset(), frozenset({"cudaEventRecord"})]
    [finding] = replaced_findings(seen[1], seen[0], "c.cu")
    assert "cudaEventRecord" in finding.message


KEPT = [
    "static cudaEvent_t moved = nullptr;",
    "static cudaEvent_t moved;",
    "static cudaStream_t side = nullptr, *other = &side;",
    "static const cudaEvent_t* moved = nullptr;",
    "const size_t bytes = 4;",
]


@pytest.mark.parametrize("text", KEPT)
def test_the_type_of_what_a_region_keeps_is_not_what_it_declares(text: str) -> None:
    assert [item for item in inside(text) if item[0] == "redefinition"] == []
