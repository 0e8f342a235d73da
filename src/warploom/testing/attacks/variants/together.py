"""What lanes, threads and kernels must do together, where memory lies, and references to the host.

Each of these gives the right results here, were it not for the judge, and on a GPU some time.
"""

from warploom.testing.attacks.record import Attack
from warploom.testing.attacks.variants.base import REGIONS, Edit, helper, made, swap, then

_X = "  __shared__ float x[HIDDEN];\n"
_LOADED = "x[h] = in[row + h];\n  __syncthreads();\n"
_ALL = "0xffffffffu"
_PARAMETERS = "const float* w1, const float* w2,\n                           float* out) {"
_LAUNCH = "expert_mlp<<<grid, 32, 0, stream>>>"


def _behind_the_load(statements: str, shared: str = "") -> Edit:
    """Return the edit that adds statements of all 32 threads to the kernel of the experts."""
    return swap((_X, shared + _X), (_LOADED, f"{_LOADED}  {statements}\n"))


_USED = "if (pad > 1e30f) x[0] = pad;"
_LANES = {
    "two_shuffles": (
        f"float pad = threadIdx.x; pad = threadIdx.x < 16 ? __shfl_down_sync({_ALL}, pad, 1)"
        f" : __shfl_xor_sync({_ALL}, pad, 1);"
    ),
    "shuffle_and_barrier": (
        f"float pad = threadIdx.x; if (threadIdx.x < 8) pad = __shfl_sync({_ALL}, pad, 1);"
        f" else __syncwarp();"
    ),
    "ballot_and_shuffle": (
        f"float pad = threadIdx.x; if (threadIdx.x < 8) pad = __ballot_sync({_ALL}, pad > 3);"
        f" else pad = __shfl_sync({_ALL}, pad, 1);"
    ),
    "votes_of_a_loop": (
        "float pad = 0.0f; for (int k = threadIdx.x; k < 48; k += 32)"
        f" pad += __any_sync({_ALL}, k > 3); pad = __shfl_sync({_ALL}, pad, 0);"
    ),
}
_BARRIERS = {
    "of_20_threads": 'if (threadIdx.x < 20) asm volatile("bar.sync 1, 20;" ::: "memory");',
    "of_half_a_warp": 'if (threadIdx.x & 1) asm volatile("bar.sync 1, 32;" ::: "memory");'
    ' else asm volatile("bar.sync 1, 32;" ::: "memory");',
    "number_16": 'asm volatile("bar.sync 16, 32;" ::: "memory");',
    "two_on_a_line": "if (threadIdx.x < 16) __syncthreads(); else __syncthreads();",
}
_VECTOR = "const float4 four = reinterpret_cast<const float4*>(x)[0]; float pad = four.x + four.w; "
_PLACES = {
    "behind_three_floats": ("__shared__ float odd[3]; odd[threadIdx.x % 3] = 0.0f;\n", _VECTOR),
    "behind_a_flag": ("__shared__ char flag; if (threadIdx.x == 0) flag = 1;\n", _VECTOR),
}
_BEHIND = "float pad = 0.0f; room[threadIdx.x] = more[threadIdx.x] = pad; "


def _too_much(bytes_: int) -> Edit:
    """Return the edit with so much dynamic memory beside 20 KiB of variables."""
    shared = "  __shared__ float room[5120]; extern __shared__ float more[];\n"
    return then(
        _behind_the_load(_BEHIND + _USED, shared),
        swap((_LAUNCH, f"expert_mlp<<<grid, 32, {bytes_}, stream>>>")),
    )


def _by_reference(kind: str, before: str = "") -> Edit:
    taken = _PARAMETERS.replace("const float* w2", f"{kind} w2")
    return then(helper(before), swap((_PARAMETERS, taken)))


_CONSTANT = "__constant__ float bias[32];"
_STORES = {
    "stored_first": "float* own = bias; if (threadIdx.x == 0) own[3] = 0.0f; __syncthreads();"
    " float pad = bias[3];",
    "read_first": "float pad = bias[threadIdx.x % 32]; float* own = bias; __syncthreads();"
    " own[threadIdx.x % 32] = 0.0f * pad;",
    "by_atomics": "float* own = bias; atomicAdd(own + threadIdx.x % 32, 0.0f); __syncthreads();"
    " float pad = bias[(threadIdx.x + 1) % 32];",
}
_FLAG = (
    "__device__ unsigned turn, turns;\n"
    "__global__ void hold() { unsigned own = atomicAdd(&turns, 1u);"
    " while (atomicAdd(&turn, 0u) <= own) { } }\n"
    "__global__ void let_go() { atomicAdd(&turn, 1u); }"
)


def _at_once(hold: str, let_go: str) -> Edit:
    """Return the edit that launches a kernel which waits for one that comes later."""
    launches = (
        f"cudaStream_t aside; cudaStreamCreateWithFlags(&aside, cudaStreamNonBlocking); {hold} "
    )
    return then(helper(_FLAG), swap((_LAUNCH, f"{launches}{let_go} {_LAUNCH}")))


VARIANTS: tuple[Attack, ...] = (
    *(
        made(
            f"constant_{name}",
            "constants that a kernel stores to",
            then(helper(_CONSTANT), _behind_the_load(text + _USED)),
            (REGIONS,),
        )
        for name, text in _STORES.items()
    ),
    made(
        "held_aside",
        "kernels that must run at once",
        _at_once("hold<<<1, 1, 0, aside>>>();", "let_go<<<1, 1, 0, stream>>>();"),
        (REGIONS,),
    ),
    made(
        "held_in_front",
        "kernels that must run at once",
        _at_once("hold<<<1, 1, 0, stream>>>();", "let_go<<<1, 1, 0, aside>>>();"),
        (REGIONS,),
    ),
    *(
        made(f"lanes_{name}", "lanes of a mask", _behind_the_load(text + _USED), (REGIONS,))
        for name, text in _LANES.items()
    ),
    *(
        made(f"barrier_{name}", "barriers of a part", _behind_the_load(text), (REGIONS,))
        for name, text in _BARRIERS.items()
    ),
    *(
        made(
            f"vector_{name}",
            "places of shared memory",
            _behind_the_load(text + _USED, f"  {shared}"),
            (REGIONS,),
        )
        for name, (shared, text) in _PLACES.items()
    ),
    *(
        made(f"shared_memory_{bytes_}", "size of shared memory", _too_much(bytes_), (REGIONS,))
        for bytes_ in (29 << 10, 40 << 10)
    ),
    made(
        "reference_plain",
        "references to the host",
        _by_reference("const float* const&"),
        (REGIONS,),
    ),
    made(
        "reference_named",
        "references to the host",
        _by_reference("Weights", "using Weights = const float* const&;"),
        (REGIONS,),
    ),
)
