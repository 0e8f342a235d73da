"""Configurations: groups, files, overrides; what is wrong is said by its key."""

from pathlib import Path

import pytest

from warploom.evolve.compose import ConfigError, compose, dump, group_names, load
from warploom.evolve.config import EvolutionConfig


def test_overrides_and_groups_are_composed_in_order(tmp_path: Path) -> None:
    config = compose(["evolution.num_generations=18", "database.num_islands=2"])
    assert (config.evolution.num_generations, config.database.num_islands) == (18, 2)
    file = tmp_path / "mine.yaml"
    file.write_text("database: {archive: {size: 7}}\nworkload: {defines: {TOKENS: 64}}\n")
    config = compose(["database=large", "database.max_islands=9"], file=file)
    assert config.database.num_islands == 4
    assert config.database.max_islands == 9
    assert config.database.archive.size == 7
    assert config.workload.defines == {"TOKENS": "64"}
    again = compose(["evolution.plateau=2"], base=config)
    assert again.database == config.database
    assert again.evolution.plateau == 2


def test_defaults_are_those_of_the_default_groups() -> None:
    assert compose(["evolution=default", "database=default"]) == EvolutionConfig() == compose()


@pytest.mark.parametrize("section", ["evolution", "database"])
def test_every_group_is_sound_and_survives_a_file(section: str, tmp_path: Path) -> None:
    assert len(group_names(section)) >= 3
    for name in group_names(section):
        config = compose([f"{section}={name}"])
        path = tmp_path / "config.yaml"
        path.write_text(dump(config))
        assert load(path) == config


@pytest.mark.parametrize(
    ("override", "message", "hint"),
    [
        ("evolution.num_generation=3", "there is no key evolution.num_generation",
         "did you mean evolution.num_generations?"),
        ("databse.num_islands=3", "there is no key databse", "did you mean database?"),
        ("num_islands=3", "there is no key num_islands", "did you mean database.num_islands?"),
        ("database.migration.intervall=3", "there is no key database.migration.intervall",
         "did you mean database.migration.interval?"),
        ("evolution.zzz=3", "there is no key evolution.zzz", "known here: num_generations"),
        ("database=huge", "database must be one of default, large, small, got 'huge'", ""),
        ("evolution.num_generations=many", "num_generations: must be a valid integer", ""),
        ("evolution.num_generations=0", "must be greater than or equal to 1, got 0", ""),
        ("database.num_islands=9", "num_islands must be at most max_islands .6., got 9", ""),
        ("phases.explore.selection.strategy=best", "must be 'power_law', 'weighted',", ""),
        ("phases.explore.operators={single: 0, several: 0, crossover: 0}", "weight above 0", ""),
        ("apis=[gin,gin]", "each once", ""),
        ("evaluation=3", "evaluation: must be a valid dictionary", ""),
        ("fast", "an override must be KEY=VALUE, got 'fast'", ""),
        ("=3", "an override must be KEY=VALUE", ""),
        ("evolution.plateau=[1", "cannot read the value of", ""),
    ],
)  # fmt: skip
def test_mistakes_are_told(override: str, message: str, hint: str) -> None:
    with pytest.raises(ConfigError, match=message) as failure:
        compose([override])
    assert hint in failure.value.hint


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    with pytest.raises(ConfigError, match="No such file"):
        compose(file=path)
    for text, message in (("a: [1", "is not valid YAML"), ("- 1\n", "must hold keys and values")):
        path.write_text(text)
        with pytest.raises(ConfigError, match=message):
            compose(file=path)
