"""What is computed of a program's text: hashes, complexity, an embedding. Pure and offline."""

import re
import time
from dataclasses import replace
from functools import lru_cache
from importlib import import_module
from typing import Any

from warploom.core.ids import digest
from warploom.llm.hashing import hash_vectors
from warploom.store.records import Complexity, StoredProgram, Vector

DIMENSIONS = 256
CUDA = "cuda"
_LIKE_C = frozenset((CUDA, "c", "cpp"))
_ENDINGS = {"python": "py", "java": "java", "javascript": "js", "go": "go", "rust": "rs"}
_ANALYZE: Any = import_module("lizard").analyze_file.analyze_source_code  # it has no types
_PARTS = re.compile(
    r"//(?:\\\r?\n|[^\n])*|/\*.*?\*/|"  # comments: no group, so they become ""
    r'("(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|'
    r"\n[ \t]*\#(?:\\\r?\n|[^\n])*|\w+|<<<|>>>|::|->|"
    r"[-+*/%&|^=<>!]=|<<|>>|&&|\|\||\+\+|--|[^\s\w])",
    re.DOTALL,
)


def code_hash(code: str) -> str:
    """Return a digest of the exact text."""
    return digest((code.encode("utf-8", "surrogateescape"),))


@lru_cache(maxsize=256)  # a text is looked up first, and recorded after that
def normal_hash(code: str, language: str = CUDA) -> str:
    """Return a digest of the tokens of a text: comments and blanks do not count.

    Where blanks may mean something, only those at the ends of lines and empty lines do not count.
    """
    if language not in _LIKE_C:
        lines = (line.rstrip() for line in code.splitlines())
        return code_hash("\n".join(line for line in lines if line))
    tokens = _PARTS.findall("\n" + code.replace("\r\n", "\n"))
    return code_hash(" ".join(token for token in tokens if token))


def complexity_of(code: str, language: str = CUDA) -> Complexity:
    """Return the size of a text; takes some 0.1 s for 700 lines of CUDA."""
    found: Any = _ANALYZE(f"program.{_ENDINGS.get(language, 'cpp')}", code)
    branches = (int(one.cyclomatic_complexity) for one in found.function_list)
    return Complexity(int(found.nloc), len(found.function_list), sum(branches))


def embedding_of(code: str) -> Vector:
    """Return the offline embedding of a text: shape (256,), float32, length 1."""
    return hash_vectors([code], DIMENSIONS)[0]


def described(program: StoredProgram) -> StoredProgram:
    """Return a program with its hashes, complexity and embedding."""
    code = program.code
    measured = program.complexity == Complexity()
    return replace(
        program,
        code_hash=program.code_hash or code_hash(code),
        normal_hash=program.normal_hash or normal_hash(code, program.language),
        complexity=complexity_of(code, program.language) if measured else program.complexity,
        embedding=embedding_of(code) if program.embedding is None else program.embedding,
        created=program.created or time.time(),
    )
