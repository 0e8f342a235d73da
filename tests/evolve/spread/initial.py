"""Places five points in the unit square."""


# EVOLVE-BLOCK-START
def points() -> list[tuple[float, float]]:
    return [(0.1 * at, 0.1 * at) for at in range(5)]


# EVOLVE-BLOCK-END


def main() -> list[tuple[float, float]]:
    return points()
