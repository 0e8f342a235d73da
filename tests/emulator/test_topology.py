"""Topology profiles: every packaged one is whole, and a wrong one is told by its key."""

from pathlib import Path

import pytest

from warploom.core.errors import BadInputError
from warploom.emulator.running.topology import (
    DEFAULT_TOPOLOGY,
    check_fit,
    constant_names,
    find_topology,
    topology_names,
)


@pytest.mark.parametrize("name", topology_names())
def test_packaged_profile_gives_every_number_and_its_source(name: str):
    profile = find_topology(name)
    assert set(profile.values) == set(profile.sources) == set(constant_names())
    assert profile.description
    assert all(source.strip() for source in profile.sources.values())


def test_the_machines_of_the_documentation_are_there():
    wanted = {"a100-8", "a100-2x8-roce", "h100-8", "h100-2x8", "h200-8", "h200-2x8", "gb200-nvl72"}
    assert wanted <= set(topology_names())
    assert DEFAULT_TOPOLOGY in topology_names()


def test_own_file_changes_what_it_names(tmp_path: Path):
    own = tmp_path / "mine.toml"
    own.write_text('base = "h100-8"\nnic_gbs = { value = 100, source = "two adapters" }\n')
    mine, base = find_topology(str(own)), find_topology("h100-8")
    assert mine.name == "mine"
    assert mine.values["nic_gbs"] == 100 and mine.sources["nic_gbs"] == "two adapters"
    assert {k for k in base.values if base.values[k] != mine.values[k]} == {"nic_gbs"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("not toml", "is not valid TOML"),
        ('base = "h300"\n', "base must be one of"),
        ("base = 3\n", "base must be one of"),
        ('base = "h200-8"\nspeed = { value = 1, source = "x" }\n', "speed: unknown key"),
        ('base = "h200-8"\nnic_gbs = 50\n', "nic_gbs must be { value"),
        ('base = "h200-8"\nnic_gbs = { value = "50", source = "x" }\n', "nic_gbs.value must be a"),
        ('base = "h200-8"\nnic_gbs = { value = nan, source = "x" }\n', "nic_gbs.value must be a"),
        ('base = "h200-8"\nnic_gbs = { value = 0, source = "x" }\n', "nic_gbs.value must be more"),
        ('base = "h200-8"\nnic_gbs = { value = -1, source = "x" }\n', "nic_gbs.value must be more"),
        ('base = "h200-8"\nnic_gbs = { value = 50 }\n', "nic_gbs.source must say"),
        ('base = "h200-8"\nnic_gbs = { value = 5, source = "x", u = 1 }\n', "nic_gbs.u: unknown"),
        ('nic_gbs = { value = 50, source = "x" }\n', "sm_count: this key is required"),
        ("description = 3\n", "description must be text"),
    ],
)
def test_wrong_file_is_told_by_its_key(tmp_path: Path, text: str, words: str):
    file = tmp_path / "wrong.toml"
    file.write_text(text)
    with pytest.raises(BadInputError) as caught:
        find_topology(str(file))
    assert words in caught.value.message and caught.value.file == str(file)


def test_unknown_name_lists_the_profiles():
    with pytest.raises(BadInputError, match="h900") as caught:
        find_topology("h900")
    assert "h200-8" in caught.value.hint


def test_ranks_that_share_memory_must_fit_one_domain():
    check_fit(find_topology("h200-2x8"), 16, 8)
    check_fit(find_topology("gb200-nvl72"), 32, None)
    with pytest.raises(BadInputError, match="LSA team of 16") as caught:
        check_fit(find_topology("h200-2x8"), 16, None)
    assert "--lsa-size 8" in caught.value.hint
