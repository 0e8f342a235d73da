"""Inline assembly that nvcc may drop, repeat or move: refused in candidates, by instruction."""

import pytest

from warploom.evaluation.legality.assembly_rules import loose_assembly
from warploom.evaluation.legality.identifiers import Identifiers
from warploom.evaluation.legality.tokens import Token, scan

BOTH = 'volatile and the clobber "memory"'
LOOSE = {
    'asm("atom.global.add.u32 %0, [%1], 1;" : "=r"(old) : "l"(p));': BOTH,
    'asm volatile("st.global.f32 [%0], %1;" :: "l"(p), "f"(x));': 'the clobber "memory"',
    'asm("st.global.f32 [%0], %1;" :: "l"(p), "f"(x) : "memory");': "volatile",
    'asm("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p));': BOTH,
    'asm("ld.global.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(a) : "l"(p));': "volatile",
    'asm volatile("bar.warp.sync 0xff;");': 'the clobber "memory"',
    'asm volatile("fence.acq_rel.gpu;" ::);': 'the clobber "memory"',
    'asm volatile("{ .reg .pred q; setp.ne.u32 p, %1, 0; @q st.u32 [%0], %1; }"'
    ' :: "l"(p), "r"(x));': 'the clobber "memory"',
    'asm volatile("mov.u32 %0, 1;\\n" "red.global.add.u32 [%1], %0;" : "=r"(x) : "l"(p));': (
        'the clobber "memory"'
    ),
    'asm("membar.gl;");': BOTH,
}
HELD = [
    'asm volatile("st.global.f32 [%0], %1;" :: "l"(p), "f"(x) : "memory");',
    '__asm__ __volatile__("red.global.add.u32 [%0], 1;" :: "l"(p) : "memory");',
    'asm volatile("ld.global.f32 %0, [%1];" : "=f"(x) : "l"(p));',
    'asm("ld.global.nc.v2.f32 {%0, %1}, [%2];" : "=f"(x), "=f"(y) : "l"(p));',
    'asm("ld.const.f32 %0, [%1];" : "=f"(x) : "l"(p));',
    'asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(x) : "f"(a), "f"(b), "f"(c));',
    'asm("{ .reg .u32 t; add.u32 t, %1, 1; mov.u32 %0, t; }" : "=r"(x) : "r"(y));',
    'asm("cvt.rn.f16.f32 %0, %1;" : "=h"(x) : "f"(y));',
    'asm volatile("barrier.cluster.arrive.release;" ::: "memory");',
]


def loose(statement: str) -> list[tuple[Token, str, str]]:
    tokens = scan(f"void f() {{\n{statement}\n}}").tokens
    return list(loose_assembly(tokens, Identifiers(tokens).match))


@pytest.mark.parametrize("statement", LOOSE)
def test_what_may_be_moved_is_named(statement: str) -> None:
    [(token, _, lacks)] = loose(statement)
    assert (token.line, lacks) == (2, LOOSE[statement])


@pytest.mark.parametrize("statement", HELD)
def test_what_stays_is_not(statement: str) -> None:
    assert not loose(statement)
