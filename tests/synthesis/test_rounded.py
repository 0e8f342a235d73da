"""Products of which two are added or subtracted are rounded each, as PyTorch rounds them."""

from warploom.synthesis.codegen.rounded import with_rounded_products


def _body(*lines: str) -> str:
    return "\n".join(f"    {line}" for line in lines)


def test_a_difference_of_two_products_rounds_both() -> None:
    text = _body("const float v1 = (v0 * v0);", "const float v3 = (v2 * 0.5f);",
                 "const float v4 = (v1 - v3);")  # fmt: skip
    assert with_rounded_products(text) == _body(
        "const float v1 = __fmul_rn(v0, v0);", "const float v3 = __fmul_rn(v2, 0.5f);",
        "const float v4 = (v1 - v3);",
    )  # fmt: skip


def test_a_sum_with_a_negated_product_too_and_in_double() -> None:
    text = _body("const double v1 = (v0 * v0);", "const double v2 = (-v1);",
                 "const double v4 = (v3 * v3);", "const double v5 = (v4 + v2);")  # fmt: skip
    assert with_rounded_products(text).count("__dmul_rn") == 2


def test_one_product_alone_may_be_a_multiply_add() -> None:
    text = _body("const float v1 = (v0 * v0);", "const float v3 = (v1 - v2);",
                 "const float v1 = v7;", "const float v8 = (v9 * v9);",
                 "const float v9 = (v1 + v8);")  # fmt: skip
    assert with_rounded_products(text) == text
