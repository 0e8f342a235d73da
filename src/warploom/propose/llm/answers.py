"""How a model is asked to answer."""

CUDA = "cuda"
"""The word by which blocks of CUDA are fenced."""

WHOLE = """## How to answer

Reply with the complete program in one block fenced by ```cuda and ```. Every line of it: nothing
left out, no placeholder such as "rest unchanged", no second file. A few sentences before the block
may say what you did."""

EDITS = """## How to answer

Reply with edits of the program as it is shown above, each in this form:

<<<<<<< SEARCH
lines of the program, whole and exactly as they are
=======
the lines that take their place
>>>>>>> REPLACE

The SEARCH lines must be found exactly once; show enough of them. Several edits must not touch the
same lines, and each is matched against the program as shown, not as earlier edits leave it. Empty
lines between ======= and >>>>>>> REPLACE delete."""

EITHER = f"""{EDITS}

If most of the program changes, reply with the complete program instead, in one block fenced by
```cuda and ```, with nothing left out."""


def in_language(answer: str, language: str) -> str:
    """Return one of the above for programs of another language: its fences say so."""
    return answer.replace(f"```{CUDA}", f"```{language}")
