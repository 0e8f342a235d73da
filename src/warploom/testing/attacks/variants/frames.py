"""Programs that store to frames of the runtime, or to registers that it goes on with."""

from warploom.testing.attacks.record import Attack
from warploom.testing.attacks.variants.base import (
    FREE,
    UNTRUSTED,
    Edit,
    headers,
    helper,
    in_pipeline,
    made,
    then,
)

_KIND = "the runtime's frames"
_ONCE = "  if (static bool once = false; !once) {{\n    once = true;\n{}  }}\n"
_WORDS = (
    "  volatile unsigned long own = 0;\n  volatile unsigned long* at = &own;\n"
    "  for (int k = FROM; k < 60; k++) if (at[k] == WHAT) at[k] = WITH;\n"
)
_ADD = (
    "static float elsewhere[64];\n"
    "static void add(void* in, void* inout, int* count, MPI_Datatype*) {\n"
    "  float *a = static_cast<float*>(inout), *b = static_cast<float*>(in);\n"
    "  float x = a[0], y = b[0], z = a[1];\n"
    "  for (int i = 0; i < *count; i++) a[i] += b[i], x = x * y + z, y += x, z -= y;\n"
    + _WORDS.replace("FROM", "-24")
    .replace("WHAT", "reinterpret_cast<unsigned long>(inout)")
    .replace("WITH", "reinterpret_cast<unsigned long>(elsewhere)")
    + "  a[0] += 0 * x;\n}\n"
)
_REDUCE = _ONCE.format(
    "    MPI_Op op;\n    float mine[4] = {1, 2, 3, 4}, all[4] = {0};\n"
    "    MPI_Op_create(add, 1, &op);\n    CALL\n    MPI_Op_free(&op);\n"
)
_SPILL = (
    "static __device__ __noinline__ long step(long v) { return v * 3 + 1; }\n"
    "static __device__ __noinline__ long deep(long v) {\n"
    "  volatile long own[2] = {v, 2};\n"
    "  long a = step(v), b = step(a), c = step(b), d = step(c), e = step(d);\n"
    "  for (int n = 0; n < 3; ++n) a += step(b), b += step(c), c += step(d), d += step(e);\n"
    "  for (int k = 2; k < 96; k++) (&own[0])[k] = 0x10;\n"
    "  return a + b + c + d + e;\n}\n"
    "static __global__ void spill(float* out) { if (deep(threadIdx.x) == 12345) out[0] = 1; }\n"
)
_ORDER = (
    "static int order(const void* a, const void* b) {\n"
    "  volatile unsigned long own = 0;\n"
    "  for (int k = 1; k < 48; k++) (&own)[k] = 0;\n"
    "  return *static_cast<const int*>(a) - *static_cast<const int*>(b);\n}\n"
)
_SORT = _ONCE.format("    int v[4] = {3, 1, 2, 0};\n    CALL\n")
_COPY = "    float here[8];\n    cudaMemcpy(PLACE, layer.output, 160, cudaMemcpyDeviceToHost);\n"

_EDITS: dict[str, Edit] = {
    "operation_local": then(
        helper(_ADD),
        in_pipeline(_REDUCE.replace("CALL", "MPI_Reduce_local(mine, all, 4, MPI_FLOAT, op);")),
    ),
    "operation_of_all": then(
        helper(_ADD),
        in_pipeline(
            _REDUCE.replace("CALL", "MPI_Allreduce(mine, all, 4, MPI_FLOAT, op, MPI_COMM_WORLD);")
        ),
    ),
    "kernel": then(helper(_SPILL), in_pipeline("  spill<<<1, 32, 0, stream>>>(layer.output);\n")),
    "sort": then(
        headers("cstdlib"),
        helper(_ORDER),
        in_pipeline(_SORT.replace("CALL", "qsort(v, 4, sizeof(int), order);")),
    ),
    "copy": in_pipeline(_ONCE.format(_COPY.replace("PLACE", "here"))),
    "copy_below": in_pipeline(
        _ONCE.format(_COPY.replace("PLACE", "reinterpret_cast<char*>(here) - 256"))
    ),
}
_FREE = {name: edit for name, edit in _EDITS.items() if name != "sort"}

VARIANTS: tuple[Attack, ...] = (
    *(
        made(
            f"frames_{name}",
            _KIND,
            edit,
            UNTRUSTED if name in _FREE else UNTRUSTED[1:],
            row="the runtime's own state is kept apart",
        )
        for name, edit in _EDITS.items()
    ),
    *(
        made(f"frames_free_{name}", _KIND, edit, (FREE,), free=True)
        for name, edit in _EDITS.items()
    ),
)
