"""Products that are rounded by themselves: a sum or difference of two is none of a multiply-add.

nvcc makes `x * x - y * y` one product and one multiply-add, which does not round the other product:
where the two are equal it gives a rest of either sign, of which a root is NaN.
"""

import re

_DEFINED = re.compile(r"^( *const (float|double) (v\d+) = )(.*);$")
_PRODUCT = re.compile(r"\(([\w.]+(?:\([\w., ]*\))?) \* ([\w.]+(?:\([\w., ]*\))?)\)\Z")
_JOINED = re.compile(r"\((v\d+) [-+] (v\d+)\)\Z")
_NEGATED = re.compile(r"\(-(v\d+)\)\Z")
_FUNCTIONS = {"float": "__fmul_rn", "double": "__dmul_rn"}


def with_rounded_products(text: str) -> str:
    """Return a text in which products of which two are added or subtracted are rounded each."""
    lines = text.split("\n")
    products: dict[str, int] = {}  # the line of each value that is a product, or one negated
    chosen: set[int] = set()
    for at, line in enumerate(lines):
        found = _DEFINED.match(line)
        if found is None:
            continue
        name, value = found[3], found[4]
        products.pop(name, None)
        if _PRODUCT.match(value):
            products[name] = at
        elif (negated := _NEGATED.match(value)) and negated[1] in products:
            products[name] = products[negated[1]]
        elif (joined := _JOINED.match(value)) and {joined[1], joined[2]} <= products.keys():
            chosen |= {products[joined[1]], products[joined[2]]}
    for at in chosen:
        lines[at] = _rounded(lines[at])
    return "\n".join(lines)


def _rounded(line: str) -> str:
    found = _DEFINED.match(line)
    assert found is not None
    product = _PRODUCT.match(found[4])
    assert product is not None
    return f"{found[1]}{_FUNCTIONS[found[2]]}({product[1]}, {product[2]});"
