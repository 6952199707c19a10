r"""Text whose characters may steer a terminal, or hide something from a reader.

Names come from strangers: of targets, of files. Journals and JSON on a terminal spell
what nobody would see as `\uNNNN`: programs read the same value.
"""

import json
import re
from unicodedata import category

import msgspec

# Controls, format characters, halves of surrogate pairs, separators of lines.
UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_NOT_ASCII = re.compile(r"[^ -~]")
_HALVES = re.compile("[\ud800-\udfff]")


def whole(text: str) -> str:
    r"""Return text that UTF-8 can hold, such as of a file's name with bytes that are none.

    >>> whole("n\udcff")
    'n\\udcff'
    """
    return text.encode("utf-8", "backslashreplace").decode()


def json_text(value: object) -> str:
    r"""Return a value as one line of JSON, keys in the order that they have.

    What steers a terminal or hides something is spelled `\uNNNN`: programs read the
    same value, and people who look at it are not deceived. Half a surrogate pair, which
    no strict reader takes, stands there as `whole` has it.
    """
    try:
        text = msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        # Of which text is not known here: all of it is gone through.
        loose = json.dumps(msgspec.to_builtins(value), ensure_ascii=False)
        text = _HALVES.sub(lambda half: "\\" + whole(half[0]), loose)
    return text if text.isprintable() else _NOT_ASCII.sub(_in_json, text)


def _in_json(found: re.Match[str]) -> str:
    char = found[0]
    return json.dumps(char)[1:-1] if category(char) in UNSEEN else char
