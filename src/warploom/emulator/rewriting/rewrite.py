"""CUDA source into C++ for the shim headers, line by line: what the compiler reads instead.

Every file of the user's becomes a file of the overlay, a flat folder: includes of user files name
the overlay's copy, so that the text of the overlay (and the key of a build) holds no path. `#line`
gives each file a name relative to the program's folder, which messages and debug information carry.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tree_sitter import Node

from warploom.core.errors import SourceError
from warploom.core.records import BuildSpec
from warploom.emulator.metering.count import MARKS, device_marks, metering_edits
from warploom.emulator.ptx.template import Texts, text_macros
from warploom.emulator.rewriting.bare_returns import bare_return_edits
from warploom.emulator.rewriting.constant_parameters import constant_edits
from warploom.emulator.rewriting.device_variables import (
    find_variables,
    names_shared_by_files,
    variable_edits,
)
from warploom.emulator.rewriting.kernel_pointers import kernel_names, pointer_edits
from warploom.emulator.rewriting.launch_attributes import attribute_edits
from warploom.emulator.rewriting.launches import find_launches, launch_edits
from warploom.emulator.rewriting.linkage_words import linkage_edits, linkage_macros
from warploom.emulator.rewriting.names import name_edits
from warploom.emulator.rewriting.reference_parameters import reference_edits
from warploom.emulator.rewriting.shared_memory import (
    SharedDeclaration,
    read_shared,
    shared_variable,
)
from warploom.emulator.rewriting.shifts import shift_edits
from warploom.emulator.rewriting.unset import unset_edits
from warploom.emulator.rewriting.unsupported import MARK, asm_edits, library_of, refusal
from warploom.emulator.rewriting.unused_results import unused_edits
from warploom.emulator.tokens import Directive, Kind, Token, TokenStream, tokenize
from warploom.source.chevrons import joined_chevrons
from warploom.source.edits import TextEdit, apply_edits
from warploom.source.syntax import SourceFile, parse_source, spliced
from warploom.toolchain.folders import is_of_system
from warploom.toolchain.nvcc import user_contents

SHIM_DIR = Path(__file__).parents[1] / "include"
"""Headers that stand in for CUDA, NCCL and MPI."""

# What copies of the headers that ours stand for say of themselves.
_COPIED = re.compile(
    rb"NVIDIA C(?:orporation|ORPORATION)|\bMPI_VERSION\b|\bCUresult;|\bncclResult_t;|"
    rb"\bnamespace[ \t]+cooperative_groups\b"
)
_INCLUDE = re.compile(rb'#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)')
_HAS_INCLUDE = re.compile(rb'__has_include[ \t]*\([ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)[ \t]*\)')
_UNQUOTABLE = re.compile(r'[^ -~]|[\\"]')
_TOOLKIT_MARKS = ("cuda_runtime_api.h", "nccl_device/core.h", "nccl_device.h")
_BODIES = ("compound_statement", "field_initializer_list", "preproc_def", "preproc_function_def")


@dataclass(frozen=True, slots=True)
class UserFile:
    """One file of the program: `path` on disk, `name` in messages, `overlay` in the build."""

    path: Path
    name: str
    overlay: str


@dataclass(frozen=True, slots=True)
class Overlay:
    """All that the compiler reads of a program.

    `units` are the overlay files to compile, program first; `texts` holds each overlay file's
    content; `headers` are the system and shim headers that the program includes unconditionally.
    """

    files: tuple[UserFile, ...]
    units: tuple[str, ...]
    texts: Mapping[str, bytes]
    headers: tuple[str, ...]

    def file_named(self, name: str) -> UserFile | None:
        """Return the user's file that messages call `name`."""
        return file_named(self.files, name)


def file_named(files: tuple[UserFile, ...], name: str) -> UserFile | None:
    """Return the file of `files` that messages and debug information call `name`."""
    wanted = os.path.normpath(name)
    return next(
        (f for f in files if wanted in (os.path.normpath(f.name), f.overlay)),
        None,
    )


def _is_replaced(name: str, file: Path) -> bool:
    """Whether our header stands for `file` of the program, as it is a copy of what we replace."""
    if not name.startswith(("cuda", "nccl", "mpi.h", "nvtx3/", "cooperative_groups")):
        return False
    return _COPIED.search(_read(file, is_program=False)) is not None


def _is_toolkit(folder: Path) -> bool:
    """Whether `folder` holds real CUDA or NCCL headers, which the shims replace."""
    return any((folder / mark).exists() for mark in _TOOLKIT_MARKS)


@dataclass(slots=True)
class _Rewriter:
    spec: BuildSpec
    folders: tuple[Path, ...]
    files: dict[Path, UserFile] = field(default_factory=dict[Path, UserFile])
    texts: dict[str, bytes] = field(default_factory=dict[str, bytes])
    headers: dict[str, None] = field(default_factory=dict[str, None])
    # Shared variables that were declared outside of functions, in any file read so far.
    outer_shared: dict[str, bool] = field(default_factory=dict[str, bool])
    marks: frozenset[str] = MARKS  # words of device functions: macros of any file read so far
    kernels: set[bytes] = field(default_factory=set[bytes])  # named in any file read so far
    linkages: set[bytes] = field(default_factory=set[bytes])  # macros for `extern "C"`, so far
    templates: Texts = field(default_factory=dict[bytes, tuple[tuple[Token, ...], ...]])  # so far
    shared_by_files: frozenset[bytes] | None = None  # device variables with `extern` somewhere

    def add(self, path: Path, *, always: bool) -> UserFile:
        """Rewrite `path` and what it includes; `always`: its includes are unconditional."""
        key = path.resolve()
        known = self.files.get(key)
        if known is not None:
            return known
        relative = os.path.relpath(path.absolute(), self.spec.program.absolute().parent)
        name = _UNQUOTABLE.sub("_", relative)
        file = UserFile(
            path.absolute(), name, f"u{len(self.files)}_{_UNQUOTABLE.sub('_', path.name)}"
        )
        self.files[key] = file
        text = spliced(_read(path, is_program=path in (self.spec.program, *self.spec.sources)))
        stream = tokenize(text)
        if renames := name_edits(stream):
            text = apply_edits(text, renames).encode("utf-8", "surrogateescape")
            stream = tokenize(text)
        edits = self._includes(stream, file, always=always)
        edits += self._constructs(stream, file)
        rewritten = apply_edits(text, edits).encode("utf-8", "surrogateescape")
        self.texts[file.overlay] = f'#line 1 "{name}"\n'.encode() + rewritten
        return file

    def _resolve(self, name: str, folder: Path, *, quoted: bool) -> Path | None:
        """Return the user's file that an include means, None for a system or shim header."""
        beside = folder / name
        if (
            quoted
            and beside.is_file()
            and not _is_replaced(name, beside)
            and not _is_toolkit(folder)
        ):
            return beside  # a file of the user's that has the name of a header
        if (SHIM_DIR / name).is_file():
            return None
        for place in (folder, *self.folders) if quoted else self.folders:
            candidate = place / name
            if candidate.is_file():
                return candidate
        return None

    def _includes(self, stream: TokenStream, file: UserFile, *, always: bool) -> list[TextEdit]:
        folder = file.path.parent
        edits: list[TextEdit] = []
        depths = _conditional_depths(stream)
        for directive, depth in zip(stream.directives, depths, strict=True):
            line = stream.text[directive.start : directive.end]
            pattern = _INCLUDE if directive.keyword == b"include" else _HAS_INCLUDE
            for match in pattern.finditer(line):
                group = 1 if match.group(1) is not None else 2
                name = os.fsdecode(match.group(group))
                found = self._resolve(name, folder, quoted=group == 1)
                if found is not None and not self.spec.roots.hold(found):
                    if pattern is _INCLUDE and not is_of_system(found):
                        raise self._outside(found, file, stream, directive)
                    found = None
                unconditional = always and depth == 0
                if found is not None:
                    header = self.add(found, always=unconditional)
                    start, end = match.span(group)
                    edits.append(
                        TextEdit(
                            directive.start + start - 1,
                            directive.start + end + 1,
                            f'"{header.overlay}"',
                        )
                    )
                elif library_of(f"<{name}>") and not (SHIM_DIR / name).is_file():
                    # Whether it is installed must not matter: it is refused, and not asked for.
                    text = f"#error {MARK} <{name}>" if pattern is _INCLUDE else "0"
                    start, end = match.span()
                    edits.append(TextEdit(directive.start + start, directive.start + end, text))
                elif unconditional and pattern is _INCLUDE:
                    self.headers[name] = None
        return edits

    def _outside(
        self, found: Path, file: UserFile, stream: TokenStream, directive: Directive
    ) -> SourceError:
        """Return the refusal of an include that reaches out of the program's folders."""
        return SourceError(
            f"what a program includes must lie below its folders ({self.spec.roots}) and not be "
            f"hidden, but this is {os.path.normpath(found)}",
            file=str(file.path),
            line=stream.text[: directive.start].count(b"\n") + 1,
            hint="name its folder with -I, or in include_dirs, if you want it to be read",
        )

    def _constructs(self, stream: TokenStream, file: UserFile) -> list[TextEdit]:
        tag = file.overlay.partition("_")[0]
        launches = find_launches(stream)
        shared = [
            found
            for at, token in enumerate(stream.tokens)
            if token.kind is Kind.NAME and token.text == b"__shared__"
            if (found := read_shared(stream, at)) is not None
        ]
        # A statement with the word twice is read twice.
        shared = [d for at, d in enumerate(shared) if not at or d.start >= shared[at - 1].end]
        variables = find_variables(stream)
        tree = None
        shifts = b"<<" in stream.text or b">>" in stream.text
        as_cuda = file.path.suffix == ".cu"
        has_places = launches or shared or variables or self.outer_shared
        if has_places or self.spec.timed or shifts or as_cuda or b"__device__" in stream.text:
            tree = _parse(stream.text, file, self.spec.defines)
            if tree is not None:
                self.marks = device_marks(tree, self.marks)
        self.kernels |= kernel_names(stream)
        self.linkages |= linkage_macros(stream)
        edits = attribute_edits(stream)  # its statement comes before others that begin the body
        edits += reference_edits(stream)
        edits += constant_edits(stream)
        self.templates = text_macros(stream, self.templates)
        edits += asm_edits(stream, tag, self.templates)
        edits += linkage_edits(stream, self.linkages)
        edits += pointer_edits(stream, self.kernels)
        for first, end in variables:
            if tree is not None and _is_at_namespace_scope(tree, stream.tokens[first].start):
                edits += variable_edits(stream, first, end, tag, self.shared_by_files)
        for at in launches:
            guard = ""
            if tree is not None and _is_in_device_code(tree, stream.tokens[at].start):
                reason = "a kernel launch in device code (dynamic parallelism)"
                guard = refusal(reason, f"launch_{tag}_{at}") + "; "
            edits += launch_edits(stream, at, guard)
        for declaration in shared:
            local = tree is None or _is_in_function(tree, declaration.start)
            edits.append(declaration.edit(stream.text, with_variables=local))
            if not local:
                self.outer_shared.update(dict.fromkeys(declaration.names, declaration.dynamic))
        if tree is not None and self.outer_shared:
            edits += self._outer_variables(stream, tree, shared)
        edits += bare_return_edits(tree, file.path)
        if tree is not None:
            for insertions in self._insertions(tree, file, shifts=shifts):
                edits += _outside(insertions, edits)
        return edits

    def _insertions(
        self, tree: SourceFile, file: UserFile, *, shifts: bool
    ) -> Iterator[list[TextEdit]]:
        """Yield what goes between the words of a program, kind by kind."""
        if shifts:
            yield shift_edits(tree, self.marks)
        yield [one for one in unused_edits(tree) if _is_in_device_code(tree, one.start)]
        units = (self.spec.program, *self.spec.sources)
        host = file.path.suffix == ".cu" and file.path in [unit.absolute() for unit in units]
        yield unset_edits(tree, self.marks, host=host)
        if self.spec.timed:
            yield metering_edits(tree, self.marks)

    def _outer_variables(
        self, stream: TokenStream, tree: SourceFile, shared: list[SharedDeclaration]
    ) -> list[TextEdit]:
        """Make shared variables of file scope known in each device function that uses them."""
        edits: list[TextEdit] = []
        for function in tree.nodes("function_definition"):
            body = function.child_by_field_name("body")
            if body is None or not _is_device_function(tree, function):
                continue
            used = {
                stream.tokens[at].text.decode("latin-1")
                for at in stream.between(body.start_byte, body.end_byte)
                if stream.tokens[at].kind is Kind.NAME
            }
            own = _local_names(tree, function)
            for declaration in shared:
                if body.start_byte <= declaration.start < body.end_byte:
                    own |= set(declaration.names)
            statements = [
                shared_variable(name, dynamic)
                for name, dynamic in self.outer_shared.items()
                if name in used - own
            ]
            if statements:
                inside = body.start_byte + 1
                edits.append(TextEdit(inside, inside, " ".join(["", *statements])))
        return edits


def _outside(insertions: list[TextEdit], edits: list[TextEdit]) -> list[TextEdit]:
    """Return the insertions that lie in no text which another edit replaces."""
    return [item for item in insertions if not any(e.start < item.start < e.end for e in edits)]


def _read(path: Path, *, is_program: bool) -> bytes:
    """Read a file of the user's; the program and its sources must be text."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise SourceError("the source file must exist, but there is none", file=str(path)) from None
    except OSError as error:
        raise SourceError(
            f"the source file must be readable, got: {error.strerror}", file=str(path)
        ) from None
    data = data.removeprefix(b"\xef\xbb\xbf")  # a byte order mark would follow our #line
    if is_program and not data.strip():
        raise SourceError("a program must have text, but the file is empty", file=str(path))
    if b"\0" in data:
        raise SourceError(
            "a program must be text, but the file holds a zero byte",
            file=str(path),
            hint="pass the .cu source, not the compiled program",
        )
    return joined_chevrons(data)


def _parse(text: bytes, file: UserFile, defines: Mapping[str, str]) -> SourceFile | None:
    return parse_source(text, file.path, defines) if text.strip() else None


def _conditional_depths(stream: TokenStream) -> list[int]:
    """Return for each directive how many conditionals are around it, include guards apart."""
    depths: list[int] = []
    stack: list[int] = []
    for number, directive in enumerate(stream.directives):
        if directive.keyword in (b"if", b"ifdef", b"ifndef"):
            depths.append(sum(stack))
            stack.append(0 if _is_guard(stream, number) else 1)
            continue
        if directive.keyword == b"endif" and stack:
            stack.pop()
        depths.append(sum(stack))
    return depths


def _is_guard(stream: TokenStream, number: int) -> bool:
    """Whether directive `number` is the file's include guard."""
    first, *rest = stream.directives[number : number + 2]

    def macro(directive: Directive) -> bytes:
        return stream.tokens[directive.tokens.start].text if directive.tokens else b""

    opens = first.keyword == b"ifndef" and first.tokens.start == 2
    return bool(opens and rest and rest[0].keyword == b"define" and macro(first) == macro(rest[0]))


def _ancestors(tree: SourceFile, offset: int) -> list[Node]:
    """Return the nodes around the byte at `offset`, innermost first."""
    node = tree.root.descendant_for_byte_range(offset, offset + 1)
    found: list[Node] = []
    while node is not None:
        found.append(node)
        node = node.parent
    return found


def _is_in_function(tree: SourceFile, offset: int) -> bool:
    """Whether `offset` is in a function's body or a macro; where nothing tells, it is."""
    around = _ancestors(tree, offset)
    if any(node.type in _BODIES for node in around):
        return True
    return any(node.type == "ERROR" for node in around)


def _is_at_namespace_scope(tree: SourceFile, offset: int) -> bool:
    """Whether a declaration at `offset` is outside of functions, classes and templates."""
    inside = ("field_declaration_list", "template_declaration", "ERROR", *_BODIES)
    return not any(node.type in inside for node in _ancestors(tree, offset))


def _is_device_function(tree: SourceFile, function: Node) -> bool:
    body = function.child_by_field_name("body")
    end = body.start_byte if body is not None else function.end_byte
    words = re.findall(r"\w+", tree.slice(function.start_byte, end))
    return "__global__" in words or ("__device__" in words and "__host__" not in words)


def _is_in_device_code(tree: SourceFile, offset: int) -> bool:
    for node in _ancestors(tree, offset):
        if node.type == "lambda_expression":
            return False
        if node.type == "function_definition":
            # Where the parser stumbled, functions may seem nested; the runtime refuses then.
            return not node.has_error and _is_device_function(tree, node)
    return False


def _local_names(tree: SourceFile, function: Node) -> set[str]:
    """Return the parameters of `function` and the variables that its outermost block declares."""
    names: set[str] = set()
    declarator = function.child_by_field_name("declarator")
    body = function.child_by_field_name("body")
    places = [*tree.nodes("parameter_declaration", within=declarator)] if declarator else []
    if body is not None:
        places += [child for child in body.children if child.type == "declaration"]
    for place in places:
        for part in place.children_by_field_name("declarator"):
            names.update(tree.node_text(name) for name in tree.nodes("identifier", within=part))
    return names


def rewrite(spec: BuildSpec) -> Overlay:
    """Rewrite the program of `spec`, its sources, and every user header that they include.

    Include folders that hold real CUDA or NCCL headers are passed over: the shims stand for them.

    Raises:
        SourceError: a source is missing, unreadable, empty or binary.
    """
    folders = tuple(f.absolute() for f in spec.include_dirs if not _is_toolkit(f))
    rewriter = _Rewriter(spec, folders)
    rewriter.templates = {name.encode(): () for name in spec.defines}  # they may be text
    if spec.sources:
        rewriter.shared_by_files = names_shared_by_files(user_contents(spec).values())
    units = tuple(
        rewriter.add(path, always=at == 0).overlay
        for at, path in enumerate((spec.program, *spec.sources))
    )
    files = tuple(rewriter.files.values())
    return Overlay(files, units, rewriter.texts, tuple(rewriter.headers))
