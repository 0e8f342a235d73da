"""What an agent printed last is often no error; the first line that tells of one is shown."""

import pytest

from warploom.propose.agent.complaint import NOTHING, first_complaint

NODE = """node:internal/modules/cjs/loader:1215
  throw err;
  ^

Error: Cannot find module 'left-pad'
    at Module._resolveFilename (node:internal/modules/cjs/loader:1212:15)
    at node:internal/main/run_main_module:28:49 {
  code: 'MODULE_NOT_FOUND'
}

Node.js v20.20.2
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (NODE, "Error: Cannot find module 'left-pad'"),
        ("starting\n\x1b[91m\x1b[1mError: \x1b[0mNo key\nbye\n", "Error: No key"),
        ("(node:7) Warning: error in a package\nInvalid API key\nsee the docs", "Invalid API key"),
        ('{"type":"result","is_error":true,"result":"API Error: 401"}', "API Error: 401"),
        ('{"type":"result","is_error":false,"result":"an error is mended"}\nlast', "last"),
        ('{"type":"error","error":{"message":"overloaded"}}', "error: overloaded"),
        ("please log in", "please log in"),
        ("one\ntwo\n", "two"),
        ("", NOTHING),
        ("{" * 100_000, "{" * 500),
    ],
)
def test_the_line_that_tells(text: str, said: str) -> None:
    assert first_complaint(text) == said


def test_standard_error_comes_first() -> None:
    assert first_complaint("quota exceeded", "an error of the program") == "quota exceeded"
    assert first_complaint("", "I tried") == "I tried"
