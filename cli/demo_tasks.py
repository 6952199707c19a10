"""The demo's dozen tasks: small real programs, and what was thought of each before.

Every program is its own acceptance test: exit status 0 is a pass, 77 says that the
test could not be run at all (as automake's tests do), anything else is a failure.
"""

from typing import Literal

import msgspec

SUITE, TEMPLATE, HORIZON = "tasks@v1", "task-pass", "1m"
SKIPPED = 77


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One program, the forecast of its passing, and what is done to it.

    `revised` are later forecasts, each with its reason. `fate` is what befalls it:
    `late` is sealed after the cut-off, `unasked` never forecast, `stopped` cancelled
    by its operator; the others just run, for at most `seconds`.
    """

    name: str
    task_type: str
    program: str
    passes: str | None
    revised: tuple[tuple[str, str], ...] = ()
    fate: Literal["runs", "late", "unasked", "stopped"] = "runs"
    seconds: int = 20


TASKS = (
    Task(
        name="merge-sort",
        task_type="algorithm",
        passes="0.95",
        program="""\
from random import Random

def merge_sort(items):
    if len(items) < 2:
        return items
    half = len(items) // 2
    left, right = merge_sort(items[:half]), merge_sort(items[half:])
    merged = []
    while left and right:
        merged.append((left if left[0] <= right[0] else right).pop(0))
    return merged + left + right

for seed in range(50):
    items = [Random(seed).randrange(100) for _ in range(seed)]
    assert merge_sort(items) == sorted(items), items
""",
    ),
    Task(
        name="prime-test",
        task_type="algorithm",
        passes="0.9",
        program="""\
def is_prime(n):
    if n < 2 or n % 2 == 0:
        return n == 2
    odd, twos = n - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for base in (2, 3, 5, 7):
        x = pow(base, odd, n)
        if base % n and x not in (1, n - 1):
            if not any((x := x * x % n) == n - 1 for _ in range(twos - 1)):
                return False
    return True

sieve = [n > 1 for n in range(5000)]
for n in range(2, 71):
    sieve[2 * n :: n] = [False] * len(sieve[2 * n :: n])
assert [is_prime(n) for n in range(5000)] == sieve
""",
    ),
    Task(
        name="binary-search",
        task_type="algorithm",
        passes="0.8",
        program="""\
def find(items, wanted):
    low, high = 0, len(items) - 1
    while low < high:  # one step too few
        middle = (low + high) // 2
        if items[middle] < wanted:
            low = middle + 1
        elif items[middle] > wanted:
            high = middle - 1
        else:
            return middle
    return None

items = list(range(0, 40, 2))
for place, wanted in enumerate(items):
    assert find(items, wanted) == place, wanted
""",
    ),
    Task(
        name="json-round-trip",
        task_type="format",
        passes="0.97",
        program="""\
import json

for value in ({}, [1, -2.5, None, True], {"a": {"b": ["\\u2028", "\\\\", "\\U0001f600"]}}):
    assert json.loads(json.dumps(value)) == value
""",
    ),
    Task(
        name="roman-numerals",
        task_type="format",
        passes="0.85",
        program="""\
SIGNS = [(1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"),
         (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")]

def roman(n):
    text = ""
    for value, sign in SIGNS:
        text, n = text + sign * (n // value), n % value
    return text

def number(text):
    values = [{"M": 1000, "D": 500, "C": 100, "L": 50, "X": 10, "V": 5, "I": 1}[c]
              for c in text] + [0]
    return sum(-a if a < b else a for a, b in zip(values, values[1:]))

assert roman(1994) == "MCMXCIV"
assert all(number(roman(n)) == n for n in range(1, 4000))
""",
    ),
    Task(
        name="sum-of-cents",
        task_type="numeric",
        passes="0.6",
        program="""\
total = 0.0
for _ in range(10):
    total += 0.1
assert total == 1.0, f"ten dimes are {total!r}"
""",
    ),
    Task(
        name="copy-a-file",
        task_type="file",
        passes="0.9",
        program="""\
import os, shutil, tempfile
from hashlib import sha256
from pathlib import Path

with tempfile.TemporaryDirectory() as folder:
    one, other = Path(folder, "one"), Path(folder, "other")
    one.write_bytes(os.urandom(1_000_000))
    shutil.copyfile(one, other)
    assert sha256(one.read_bytes()).digest() == sha256(other.read_bytes()).digest()
""",
    ),
    Task(
        name="flaky-upload",
        task_type="network",
        passes="0.7",
        # What was learnt between two forecasts moves them; the first one stands.
        revised=(
            ("0.45", "the service had two outages this week"),
            ("0.3", "a retry of the same upload just failed"),
        ),
        program="""\
from random import Random

dice = Random(11)
for part in range(4):
    attempts = [dice.random() < 0.5 for _ in range(2)]
    assert any(attempts), f"part {part} failed twice"
""",
    ),
    Task(
        name="collatz-search",
        task_type="algorithm",
        passes="0.5",
        seconds=1,
        program="""\
n = 1
while True:
    n += 1
    x = n
    while x != 1:
        x = x // 2 if x % 2 == 0 else 3 * x + 1
""",
    ),
    Task(
        name="nightly-rebuild",
        task_type="file",
        passes="0.75",
        fate="stopped",
        program="""\
import time

print("rebuilding", flush=True)
time.sleep(60)
""",
    ),
    Task(
        name="locale-table",
        task_type="format",
        passes="0.65",
        program=f"""\
import sys
from pathlib import Path

table = Path("fixtures/locales.csv")
if not table.exists():
    print(f"{{table}} is not part of this checkout", file=sys.stderr)
    sys.exit({SKIPPED})
assert table.read_text().startswith("locale,")
""",
    ),
    Task(
        name="base64-padding",
        task_type="format",
        passes="0.99",
        fate="late",
        program="""\
from base64 import b64decode, b64encode

for length in range(50):
    content = bytes(range(length))
    assert b64decode(b64encode(content)) == content
""",
    ),
    Task(
        name="word-count",
        task_type="file",
        passes=None,
        fate="unasked",
        program="""\
from collections import Counter

text = "the cat and the dog and the bird"
assert Counter(text.split()).most_common(1) == [("the", 3)]
""",
    ),
)
