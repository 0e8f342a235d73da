"""The configuration that the runtime reads before a run, once: the program cannot."""

import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass

from warploom.emulator.building.build_records import EmulatorBuild
from warploom.emulator.building.unit_flags import version_code
from warploom.emulator.running.run_records import STRONG_LOADS, UPDATES, RunOptions


@dataclass(frozen=True, slots=True)
class Secrets:
    """What the runtime and the driver know of a run, and its program does not."""

    nonce: str
    key: str


def new_secrets() -> Secrets:
    """Return new ones."""
    return Secrets(secrets.token_hex(16), secrets.token_hex(16))


def configuration_pipe(build: EmulatorBuild, options: RunOptions, known: Secrets) -> int:
    """Return a descriptor to read the configuration from, once."""
    lines = (
        *_of_machine(options),
        *_of_run(build, options, known),
        *_of_memory(options),
        *(("denied_import", name) for name in sorted(build.denied)),
    )
    reader, writer = os.pipe()
    try:
        os.write(writer, "".join(f"{key}={value}\n" for key, value in lines).encode())
    finally:
        os.close(writer)
    return reader


def _of_machine(options: RunOptions) -> Iterator[tuple[str, object]]:
    """Yield how many devices there are, and what they share."""
    yield "ranks", options.ranks
    yield "lsa_size", options.lsa_size or options.node_size or options.ranks
    yield "node_size", options.node_size or options.ranks
    yield "processes", 0 if options.processes == "per_rank" else options.process_count
    yield "device_memory_mb", options.device_memory_mb
    yield "device_most_mb", options.device_most_mb
    if options.machine is not None:
        yield "timed", 1
        for name, value in options.machine.values.items():
            yield f"machine.{name}", f"{value!r}"


def _of_run(
    build: EmulatorBuild, options: RunOptions, known: Secrets
) -> Iterator[tuple[str, object]]:
    """Yield what the run does, records and tells."""
    yield "nonce", known.nonce
    yield "digest_key", known.key
    yield "seed", options.run.seed
    yield "timing", options.run.timing
    yield "nccl_version", version_code(build.spec.nccl)
    yield "library_objects", int(build.library_objects)
    yield "regions_in_turn", int(build.regions_in_turn)
    yield "race", int(options.race)
    yield "readbacks", int(options.readbacks)
    yield "whole_history_mb", options.whole_history_mb
    yield "max_findings", options.max_findings
    yield "sync_launches", int(options.sync_launches)
    yield "trace", options.trace
    yield "time_limit", f"{options.limits.seconds:g}"
    yield "input_to_first", int(options.stdin is not None)
    if options.looks:
        yield "looks", 1
    yield "stale", _looks_for_stale(build)


def _looks_for_stale(build: EmulatorBuild) -> int:
    """Return 1 where reads may be stale, 2 where only read-modify-writes may read so, else 0.

    These are looked at from the first one on that changes nothing: counters and sums pay nothing.
    """

    def takes(parts: tuple[str, ...]) -> bool:
        return any(part in name for name in build.imports for part in parts)

    return 1 if takes(STRONG_LOADS) else 2 if takes(UPDATES) else 0


def _of_memory(options: RunOptions) -> Iterator[tuple[str, object]]:
    """Yield what memory holds in place of what was written, or before it."""
    yield "fresh_word", options.fresh_word
    yield "fresh_other", options.fresh_other
    yield "stale_every", options.stale_every
    for site in options.fresh_sites:
        yield "fresh_site", site
    for site in options.stale_sites:
        yield "stale_site", site
    if options.spoil is not None:
        yield from options.spoil.settings()
    if options.vary:
        yield "vary", options.vary
