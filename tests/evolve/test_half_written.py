"""What a kill leaves of an attempt that was being written down, or removed."""

from pathlib import Path

from warploom.attempt import attempt_folder, keep_texts
from warploom.evolve.candidates import Candidate
from warploom.evolve.folder import RunFolder
from warploom.store.records import Lineage


def test_half_an_attempt_goes_and_a_whole_one_stays(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    whole = Candidate(3, "int main() {}\n", "gin", Lineage())
    folder.keep(whole)
    attempt_folder(folder.attempts, 1).mkdir()
    keep_texts(attempt_folder(folder.attempts, 2), {"candidate.cu": "int main() {}\n"})
    assert list(folder.kept()) == [whole]
    assert list(folder.attempts.iterdir()) == [attempt_folder(folder.attempts, 3)]
