"""Transforms a program with a proposer of one's own: warploom's rules, and a line of its own."""

import tempfile
from dataclasses import replace
from pathlib import Path

import warploom
from warploom.propose import Proposal, ProposalContext
from warploom.propose.rules import RulesProposer
from warploom.transform import PreTransformPipeline

EXAMPLE = Path(__file__).parents[1] / "gemm_allgather"
BANNER = "// Made by examples/python/custom_proposer.py\n"


class BannerProposer:
    """Proposes what the rules propose, with a line on top; the judge believes neither."""

    name = "banner"

    def __init__(self) -> None:
        self._rules = RulesProposer()

    def propose(self, context: ProposalContext) -> Proposal | None:
        """Return a program, or None when nothing is left to try."""
        proposal = self._rules.propose(context)
        if proposal is None:
            return None
        return replace(proposal, text=BANNER + proposal.text, origin=self.name)


def main() -> None:
    """Transform the example to LSA."""
    pipeline = PreTransformPipeline(warploom.TransformConfig(api_type="lsa", nvcc=False, seeds=1))
    pipeline.transformer.proposer = BannerProposer()
    with tempfile.TemporaryDirectory() as folder:
        result = pipeline.run(EXAMPLE, Path(folder) / "out")
        print(f"verified: {result.verified}, +{result.added_lines} -{result.removed_lines} lines")
        if result.program is not None:
            print(result.program.read_text().splitlines()[0])


if __name__ == "__main__":
    main()
