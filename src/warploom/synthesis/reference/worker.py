"""The process of the reference: reads requests as JSON lines, answers each with one.

Tensors go through files of plain bytes. What the reference prints goes to stderr.
"""

import json
import math
import os
import sys
from pathlib import Path
from typing import Any, TextIO

from warploom.synthesis.reference import judging, loading, ranks, timing, tracing, values
from warploom.synthesis.reference.failures import (
    ReferenceFailedError,
    TraceDiffersError,
    first_line,
    line_in,
)
from warploom.synthesis.reference.torch_module import DTYPES, dtype_name, is_tensor, torch

_EPS = {"float64": 2.0**-52}
_EPS_NARROW = 2.0**-23
_DRAWS = 3
_BETWEEN_RANKS = 1 << 52  # of seeds, which are below 2^48
Json = Any


class _Server:
    """Holds the loaded reference between requests."""

    def __init__(self) -> None:
        self.loaded: loading.Loaded | None = None
        self.domains: dict[int, values.Domain] = {}
        self.examples: list[tuple[Any, ...]] = []
        self.program: Any = None
        self.timer: timing.Timer | None = None

    def answer(self, request: dict[str, Json]) -> Json:
        """Do what one request asks."""
        return getattr(self, f"do_{request['do']}")(request)

    def do_load(self, request: dict[str, Json]) -> Json:
        """Import the reference, draw examples, and see that it is steady."""
        with ranks.in_step():
            self.loaded = loading.load(Path(request["file"]), request["name"])
            self.examples = [self.loaded.examples(seed) for seed in request["seeds"]]
            _check_examples(self.examples)
        example = self.examples[0]
        first, second = (judging.evaluate(self.loaded, list(example)) for _ in range(2))
        if not all(judging.same(a, b) for a, b in zip(first, second, strict=True)):
            raise ReferenceFailedError(
                "the reference must return the same for the same inputs, but varies",
                hint="random numbers must be inputs, and nothing of one call may reach the next",
            )
        names = [*self.loaded.names, *(f"input{n}" for n in range(len(example)))]
        return {
            "form": self.loaded.form,
            "doc": self.loaded.doc,
            "torch": torch.__version__,
            "inputs": [
                {"name": names[at], **values.describe(value)} for at, value in enumerate(example)
            ],
            "outputs": [values.describe(value) for value in first],
        }

    def do_trace(self, request: dict[str, Json]) -> Json:
        """Return the graph."""
        del request
        assert self.loaded is not None
        data, self.program = tracing.trace(self.loaded, self.examples[0])
        return data

    def do_domains(self, request: dict[str, Json]) -> Json:
        """Learn what values inputs may have; `indices` says what integers count below.

        `compared` are numbers that indices are compared with, and may be where the reference works.
        """
        for at, value in enumerate(self.examples[0]):
            if is_tensor(value):
                tensors = [example[at] for example in self.examples]
                index_of = request["indices"].get(str(at), "")
                compared = request["compared"].get(str(at), [])
                besides = [word for word in compared if self._takes(at, word)]
                self.domains[at] = values.domain_of(tensors, index_of, besides)
        return {
            str(at): {
                "low": d.low, "high": d.high, "index_of": d.index_of, "besides": d.besides,
            }
            for at, d in self.domains.items()
        }  # fmt: skip

    def _takes(self, at: int, word: int) -> bool:
        """Whether the reference works where some of its input `at` are `word`."""
        assert self.loaded is not None
        given = list(self.examples[0])
        given[at] = values.strewn_with(given[at], [word], torch.Generator().manual_seed(1))
        try:
            judging.evaluate(self.loaded, given)
        except ReferenceFailedError:
            return False
        return True

    def do_case(self, request: dict[str, Json]) -> Json:
        """Draw the inputs of one case and write them, with what is expected of their outputs."""
        assert self.loaded is not None
        request = {**request, "seed": request["seed"] + ranks.rank() * _BETWEEN_RANKS}
        generator = torch.Generator().manual_seed(request["seed"])
        with ranks.in_step():
            inputs = self._inputs(request, generator)
            self._check_trace(request)
        eps = _EPS.get(request["computed_in"], _EPS_NARROW)
        rounded = request.get("rounded", True)
        with timing.alone(request["lock"]), timing.placed(request["device"], inputs) as placed:
            if request["device"] != "cpu":
                generator = torch.Generator(request["device"]).manual_seed(request["seed"])
            said = judging.say(self.loaded, placed, eps, generator, rounded=rounded)
        stem = request["stem"]
        for at, value in enumerate(v for v in inputs if is_tensor(v)):
            _write(f"{stem}.in{at}", value)
        outputs: list[Json] = []
        for at, one in enumerate(said):
            for name, value in one.wide().items():
                _write(f"{stem}.out{at}.{name}", value.double())
            _write(f"{stem}.out{at}.native", one.eager)
            outputs.append({"shape": list(one.eager.shape), "dtype": dtype_name(one.eager.dtype)})
        shapes = [list(value.shape) for value in inputs if is_tensor(value)]
        scale = eps / judging.step_of(eps)
        return {"inputs": shapes, "outputs": outputs, "scale": scale}

    def do_agreement(self, request: dict[str, Json]) -> Json:
        """Say whether trace and reference do the same at some sizes."""
        with ranks.in_step():
            try:
                self._check_trace(request)
            except TraceDiffersError:
                return {"is": "differs"}
            except ReferenceFailedError:
                return {"is": "fails"}
        return {"is": "agrees"}

    def do_gpu(self, request: dict[str, Json]) -> Json:
        """Say what GPU is here."""
        del request
        return timing.gpu()

    def do_time(self, request: dict[str, Json]) -> Json:
        """Take the reference's times on the GPU, one call for each seed."""
        assert self.loaded is not None
        if self.timer is None:
            self.timer = timing.Timer(self.loaded.function)
        calls = [
            self._inputs(request, torch.Generator().manual_seed(seed)) for seed in request["seeds"]
        ]
        with timing.alone(request["lock"]):
            return self.timer.turn(calls, request["flush"], request["moved"])

    def _check_trace(self, request: dict[str, Json]) -> None:
        """Refuse sizes as `_check_draw` does; what differs for some values only is no size's."""
        for left in reversed(range(_DRAWS)):
            try:
                self._check_draw({**request, "seed": request["seed"] + left})
            except TraceDiffersError:
                if not left:
                    raise
            else:
                return

    def _check_draw(self, request: dict[str, Json]) -> None:
        """Refuse sizes at which the reference does something else than its trace.

        Where a size is one, PyTorch stretches it; where one is odd, halves are not alike. The
        specification is the trace's: it says nothing of such sizes.
        """
        assert self.loaded is not None
        kind = "example" if request["kind"] == "example" else "normal"
        generator = torch.Generator().manual_seed(request["seed"] + 1)
        inputs = self._inputs({**request, "kind": kind}, generator)
        right = judging.evaluate(self.loaded, inputs)
        shapes = ", ".join(str(list(v.shape)) for v in inputs if is_tensor(v))
        why = "returns something else than its trace"
        try:
            found = tracing.replay(self.program, inputs)
            if all(judging.alike(a, b) for a, b in zip(found, right, strict=True)):
                return
        except ReferenceFailedError as error:
            why = f"does something else than its trace ({error.message})"
        except Exception as error:  # noqa: BLE001 - whatever it is, the reference itself works
            why = f"works where its trace fails ({first_line(error)})"
        raise TraceDiffersError(
            f"the reference {why}, with inputs of {shapes}",
            hint="let it do the same for all sizes, or make a kernel for each of its cases",
            beyond=not request["distinct"],  # of equal values, places may be others
        )

    def _inputs(self, request: dict[str, Json], generator: Any) -> list[Any]:
        assert self.loaded is not None
        if request["kind"] == "example":
            return list(self.loaded.examples(request["seed"] % 2**31))
        found: list[Any] = []
        tensors = 0
        counts = [math.prod(entry["shape"]) for entry in request["inputs"]]
        for at, value in enumerate(self.examples[0]):
            if not is_tensor(value):
                found.append(value)
                continue
            entry = request["inputs"][tensors]
            elements = counts[tensors]
            among = values.Among(
                counts[:tensors].count(elements), counts.count(elements), request["seed"],
                request["pointwise"],
            )  # fmt: skip
            tensors += 1
            if entry.get("same_as") is not None:
                found.append([v for v in found if is_tensor(v)][entry["same_as"]].clone())
                continue
            found.append(
                values.draw(
                    entry["shape"], DTYPES[dtype_name(value.dtype)], self.domains[at],
                    request["kind"], generator, entry.get("bound", 0),
                    distinct=request["distinct"], subnormals=request["subnormals"],
                    strewn=request["values"], whole=entry.get("whole", False),
                    largest=elements == max(counts), among=among,
                )
            )  # fmt: skip
        return found


def _check_examples(examples: list[tuple[Any, ...]]) -> None:
    first = examples[0]
    if not any(is_tensor(value) for value in first):
        raise ReferenceFailedError("example_inputs must return a tensor at least, got none")
    for value in first:
        if is_tensor(value):
            if value.device.type != "cpu":
                raise ReferenceFailedError(
                    f"example_inputs must return CPU tensors, got one on {value.device}"
                )
            if dtype_name(value.dtype) not in DTYPES:
                kind = dtype_name(value.dtype)
                raise ReferenceFailedError(f"inputs of type {kind} are beyond the rules")
        elif value is not None and not isinstance(value, bool | int | float):
            raise ReferenceFailedError(
                f"an input must be a tensor or a number, got {type(value).__name__}"
            )
    for other in examples[1:]:
        if len(other) != len(first):
            raise ReferenceFailedError("example_inputs must return as many inputs for each seed")
        for one, two in zip(first, other, strict=True):
            if not is_tensor(one) and one != two:
                raise ReferenceFailedError(
                    f"a number must be the same for each seed, got {one} and {two}",
                    hint="what varies must be a tensor (torch.tensor(x) has no dimensions)",
                )


def _write(path: str, value: Any) -> None:
    flat = torch.empty(value.numel(), dtype=value.dtype).copy_(value.reshape(-1))
    if flat.numel() == 0:
        Path(path).write_bytes(b"")
        return
    Path(path).write_bytes(flat.view(torch.uint8).numpy().tobytes())


def main() -> None:
    """Serve requests until the pipe ends."""
    out: TextIO = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    # One thread, so that a laptop stays usable; bench/kernels_on_gpu.py has a whole machine.
    torch.set_num_threads(int(os.environ.get("WARPLOOM_REFERENCE_THREADS", "1")))
    if sys.argv[1:]:
        rank, count, store = sys.argv[1:]
        ranks.join(int(rank), int(count), store)
    server = _Server()
    for line in sys.stdin:
        try:
            answer: Json = {"ok": server.answer(json.loads(line))}
        except ReferenceFailedError as failure:
            answer = {
                "error": failure.message, "line": failure.line, "hint": failure.hint,
                "beyond": failure.beyond, "echo": failure.echo,
            }  # fmt: skip
        except Exception as error:  # noqa: BLE001 - whatever it is, the user is told
            file = server.loaded.file if server.loaded else Path()
            answer = {
                "error": f"PyTorch failed on the reference: {first_line(error)}",
                "line": line_in(file, error),
                "hint": "",
                "beyond": False,
                "echo": False,
            }
        out.write(json.dumps(answer) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
