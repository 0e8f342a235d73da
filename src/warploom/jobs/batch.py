"""The batch scripts of Slurm jobs: what they ask for, and what stands before the work."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warploom.core.errors import BadInputError, MissingToolError
from warploom.jobs.config import JobConfig, SlurmConfig
from warploom.jobs.environment import SECRET_WORDS, job_environment

if TYPE_CHECKING:
    from submitit import SlurmExecutor

_MINUTES = 60  # of a job where nobody says
_SPARE_MINUTES = 5  # of a job beside its work
_OF_JOBS = (
    "SUBMITIT_EXECUTOR", "SLURM_JOB_ID", "SLURM_JOBID", "SLURM_ARRAY_JOB_ID",
    "SLURM_ARRAY_TASK_ID", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_NTASKS",
    "SLURM_JOB_NUM_NODES", "SLURM_JOB_NODELIST", "SLURM_CPUS_PER_TASK", "CUDA_VISIBLE_DEVICES",
)  # fmt: skip
"""What submitit and the work read of a job's variables; a container gets no others."""
_JWT = "SLURM_JWT"
_SET_UP_FAILED = "warploom: a line of jobs.slurm's set-up failed"
_NAMED = ("partition", "account", "qos", "constraint", "gpus_per_node")
_WRONG = re.compile(r"\binvalid\b|unrecognized option", re.IGNORECASE)
_TRIED = 30.0  # seconds for sbatch to say
_PROGRAMS = ("sbatch", "squeue", "scancel", "srun")


def executor_for(config: JobConfig, folder: Path, name: str) -> "SlurmExecutor":
    """Return what submits jobs of a name.

    Raises:
        MissingToolError: submitit or Slurm's commands are not there.
        BadInputError: a parameter is wrong.
    """
    missing = [program for program in _PROGRAMS if shutil.which(program) is None]
    if missing:
        raise MissingToolError(
            f"jobs.engine=slurm needs Slurm's commands, but there is no {', '.join(missing)}",
            hint="run warploom on a login node of the cluster, or install Slurm's client commands",
        )
    try:
        from submitit import SlurmExecutor
    except ModuleNotFoundError:
        raise MissingToolError(
            "jobs.engine=slurm needs submitit", hint="install it: pip install 'warploom[slurm]'"
        ) from None
    executor = SlurmExecutor(folder, max_num_timeout=0, python=python_of(config, folder))
    try:
        executor.update_parameters(**parameters(config, folder, name))
    except (ValueError, TypeError) as error:
        raise BadInputError(f"jobs.slurm: {error}") from None
    return executor


def parameters(config: JobConfig, folder: Path, name: str) -> dict[str, Any]:
    """Return submitit's parameters."""
    slurm, srun = config.slurm, _srun(config, folder)
    minutes = slurm.minutes
    if minutes is None:
        limit = config.timeout_s
        minutes = _MINUTES if limit is None else int(limit // 60) + 1 + _SPARE_MINUTES
    found: dict[str, Any] = {
        "job_name": name,
        "time": minutes,
        "nodes": slurm.nodes,
        "ntasks_per_node": 1,
        "cpus_per_task": config.cpus,
        "signal_delay_s": 5,
        "array_parallelism": 10_000,
        "setup": [_forgets(config.environment), *_watched(setup_lines(slurm))],
        # Only containers of srun's need it; without it the work itself may start steps.
        "use_srun": bool(srun),
        "srun_args": srun,
        "additional_parameters": {
            "export": exported(config),
            **{name.replace("_", "-"): value for name, value in slurm.parameters.items()},
        },
    }
    if config.gpus:
        found["gpus_per_node"] = config.gpus
    if config.memory_gb is not None:
        found["mem"] = f"{max(1, round(config.memory_gb * 1024))}MB"
    named = ("partition", "account", "qos", "constraint")
    found |= {key: value for key in named if (value := getattr(slurm, key)) is not None}
    return found


def require_known(found: dict[str, Any]) -> None:
    """Ask sbatch whether it knows what jobs name, without a job: seeds take minutes to make.

    Only what will never be right is refused: nodes may be away, or taken, for a while.

    Raises:
        BadInputError: there is no such partition, account, feature, option and so on.
    """
    named = {key: found[key] for key in _NAMED if key in found} | found["additional_parameters"]
    words = [
        f"--{key.replace('_', '-')}" + ("" if value is True else f"={value}")
        for key, value in named.items()
        if value is not False and key != "export"
    ]
    try:
        with kept_from_sbatch():
            done = subprocess.run(
                ["sbatch", "--test-only", *words, "--wrap=true"], capture_output=True, text=True,
                check=False, timeout=_TRIED, stdin=subprocess.DEVNULL,
            )  # fmt: skip
    except subprocess.TimeoutExpired:
        return  # it is busy: whoever submits waits for it
    said = [line.strip() for line in done.stderr.splitlines() if _WRONG.search(line)]
    if done.returncode != 0 and said:
        raise BadInputError(
            f"sbatch does not take jobs of this kind: {said[0]}",
            hint=f"try it yourself: {shlex.join(['sbatch', '--test-only', *words, '--wrap=true'])}",
        )


@contextmanager
def kept_from_sbatch() -> Generator[None]:
    """Keep from sbatch what it would hand on unasked: all our variables of Slurm's.

    It needs SLURM_JWT itself, where that is how its cluster knows us; `_forgets` drops that.
    """
    away = {name for name in os.environ if name.startswith("SLURM")} - set(job_environment())
    kept = {name: os.environ.pop(name) for name in away - {_JWT}}
    try:
        yield
    finally:
        os.environ.update(kept)


def _forgets(spared: Sequence[str]) -> str:
    """Return the line that drops what sounds like a key, but for names that the user vouches for.

    sbatch needs SLURM_JWT; and where it is told names to hand on, Slurm reads the user's login
    profile on the node, which may export keys.
    """
    spare = f"{'|'.join(map(shlex.quote, spared))}) ;; " if spared else ""
    secret = "|".join(f"*{word}*" for word in SECRET_WORDS)
    drop = f'{secret}) unset "$name" 2>/dev/null ;;'
    each = f"for name in $(compgen -e); do case $name in {spare}{drop} esac; done"
    return f"shopt -s nocasematch; {each}; shopt -u nocasematch; unset name"


def setup_lines(slurm: SlurmConfig) -> list[str]:
    """Return the lines of shell before the job's Python."""
    lines = [f"module load {shlex.quote(name)}" for name in slurm.modules]
    if slurm.conda is not None:
        lines += [
            'eval "$(conda shell.bash hook)"',
            f"conda activate {shlex.quote(slurm.conda)}",
        ]
    return [*lines, *slurm.setup]


def _watched(lines: list[str]) -> list[str]:
    """Return set-up lines of which the first one that fails ends the job, and is told.

    Else a module that is not there would be noticed by nobody. Only the lines themselves count:
    what a file that they source does on its way is its own affair (`BASH_SOURCE` is longer there).
    """
    if not lines:
        return []
    told = shlex.quote(_SET_UP_FAILED)
    failed = f'{{ printf "%s: %s\\n" {told} "$BASH_COMMAND" >&2; exit 1; }}'
    trap = f"[ ${{#BASH_SOURCE[@]}} -gt 1 ] || {failed}"
    return [f"trap {shlex.quote(trap)} ERR", *lines, "trap - ERR"]


def python_of(config: JobConfig, folder: Path) -> str:
    """Return the words that start the job's Python."""
    slurm = config.slurm
    python = slurm.python or ("python3" if slurm.foreign else sys.executable)
    return shlex.join([*_container(config, folder), python])


def _container(config: JobConfig, folder: Path) -> list[str]:
    """Return the words that start the job's container; pyxis is srun's."""
    slurm = config.slurm
    if slurm.image is None or slurm.container == "pyxis":
        return []
    seen = [str(folder), *slurm.mounts]
    if slurm.container == "apptainer":
        gpus = ["--nv"] if config.gpus else []
        return ["apptainer", "exec", *gpus, "--bind", ",".join(seen), slurm.image]
    words = ["docker", "run", "--rm", "--init", f"--user={os.getuid()}:{os.getgid()}"]
    words += ["--gpus=all"] if config.gpus else []
    words += [f"--volume={place}:{place}" for place in seen]
    words += [f"--env={name}" for name in (*_OF_JOBS, *config.environment)]
    return [*words, slurm.image]


def _srun(config: JobConfig, folder: Path) -> list[str]:
    """Return srun's arguments where it starts the job's container; else nothing."""
    slurm = config.slurm
    if slurm.image is None or slurm.container != "pyxis":
        return []
    mounts = ",".join(f"{place}:{place}" for place in (str(folder), *slurm.mounts))
    return [f"--container-image={slurm.image}", f"--container-mounts={mounts}", "--export=ALL"]


def exported(config: JobConfig) -> str:
    """Return the names of the variables that a job gets of ours: none could be a key."""
    ours = job_environment(further=config.environment)
    return ",".join(sorted(name for name in ours if not name.startswith(("SLURM", "SUBMITIT"))))
