"""A forecast as a dispatcher states it, made into the payload that is signed.

Says in a few lines what `ledger.draft_vector` and `ledger.codec` say at length; tests
compare their bytes. Numbers come as the texts that stood in the JSON, so that no float
is in between. On the hook's start-up path.
"""

import time
from _collections_abc import Iterable, Mapping

from ledger.daemon.hook_text import DeniedError

# What a dispatcher may say of a forecast beside its probabilities.
FIELDS = (
    "adaptation_budget",
    "code_revision",
    "commitment",
    "evidence",
    "extensions",
    "failure_modes",
    "model_version",
    "quantities",
    "reason_codes",
    "reference_class",
)
_PROBABILITY = ("probabilities", "p")
_PLACES = 30
_ONE: int = 10**_PLACES
_PPM = 1_000_000
_PPM_ONE = _ONE // _PPM
# Rounding each of them to five places puts a vector this far off, for each answer.
_SLACK = 5 * _PPM_ONE
_TWO = 2


def instant(nanoseconds: int) -> str:
    """Return nanoseconds since 1970 as payloads spell an instant, to the microsecond.

    >>> instant(1_000_000_001_000), instant(60_000_000_000)
    ('1970-01-01T00:16:40.000001Z', '1970-01-01T00:01:00Z')
    """
    seconds, rest = divmod(nanoseconds // 1_000, _PPM)
    spelled = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{spelled}.{rest:06d}Z" if rest else f"{spelled}Z"


def forecast_fields(
    stated: object, answers: tuple[str, ...], positive: str, made_at: str
) -> dict[str, object]:
    """Return the fields of a forecast, each in its one spelling, absent where empty.

    `stated` is a probability of the positive answer, or an object with
    `probabilities` (or `p`) and any of `FIELDS`. Raises `DeniedError`.
    """
    said = stated if isinstance(stated, dict) else {"p": stated}
    strange = sorted(said.keys() - {*FIELDS, *_PROBABILITY})
    if strange:
        raise DeniedError(
            f"the forecast says {strange[0]!r}: it may have p or probabilities, "
            f"{', '.join(FIELDS)}"
        )
    fields = {name: said[name] for name in FIELDS if said.get(name)}
    evidence = fields.get("evidence")
    if isinstance(evidence, dict):
        at = {"cutoff_at": made_at} if evidence.get("cutoff_at") == "now" else {}
        fields["evidence"] = {k: v for k, v in {**evidence, **at}.items() if v}
    quantities = fields.get("quantities")
    if isinstance(quantities, dict):
        fields["quantities"] = {k: _quantity(k, v) for k, v in quantities.items()}
    if "commitment" not in fields:
        stated = next((said[name] for name in _PROBABILITY if name in said), None)
        fields["probabilities"] = vector(stated, answers, positive)
    return fields


def vector(stated: object, answers: tuple[str, ...], positive: str) -> dict[str, str]:
    """Return probabilities that sum to exactly 1, in millionths by largest remainder.

    A number alone is the positive answer's; of two answers the other takes the rest.
    Raises `DeniedError` for what is no probability, no answer, or misses 1 by more than
    rounding explains.

    >>> vector("0.8", ("pass", "fail"), "pass")
    {'pass': '0.8', 'fail': '0.2'}
    """
    said = stated if isinstance(stated, dict) else {positive: stated}
    given = {name: _share(name, value, answers) for name, value in said.items()}
    if len(given) == 1 and len(answers) == _TWO:
        [(name, share)] = given.items()
        given[answers[answers[0] == name]] = _ONE - share
    if len(given) != len(answers):
        missing = next(name for name in answers if name not in given)
        raise DeniedError(
            f"the forecast gives {missing} no probability: name each answer"
        )
    return {
        name: _decimal(share * _PPM_ONE)
        for name, share in _rounded({name: given[name] for name in answers}).items()
    }


def _share(name: str, value: object, answers: tuple[str, ...]) -> int:
    if name not in answers:
        known = " and ".join(answers)
        raise DeniedError(f"{name!r} is no answer of the question, which are {known}")
    share = _scaled(f"probabilities.{name}", value)
    if not 0 <= share <= _ONE:
        raise _no_number(f"probabilities.{name}", value, "from 0 to 1, such as 0.25")
    return share


def _rounded(given: Mapping[str, int]) -> dict[str, int]:
    off = sum(given.values()) - _ONE
    if abs(off) > _SLACK * len(given):
        summed = _decimal(_ONE + off)
        raise DeniedError(
            f"the probabilities of {', '.join(given)} sum to {summed}, not to 1"
        )
    whole = {name: _half_even(share) for name, share in given.items()}
    missing = _PPM - sum(whole.values())
    step = 1 if missing > 0 else -1
    # Who was rounded furthest the wrong way gives or takes first.
    order = sorted(
        whole, key=lambda name: step * (whole[name] * _PPM_ONE - given[name])
    )
    while missing:
        for name in order:
            if missing and whole[name] + step >= 0:
                whole[name] += step
                missing -= step
    return whole


def _half_even(share: int) -> int:
    whole, rest = divmod(share, _PPM_ONE)
    half = _PPM_ONE // 2
    return whole + (rest > half or (rest == half and whole % 2 == 1))


def _quantity(name: str, stated: object) -> dict[str, object]:
    """Return a quantity; a number alone is its point."""
    said = stated if isinstance(stated, dict) else {"point": stated}
    made: dict[str, object] = {}
    for part, value in said.items():
        place = f"quantities.{name}.{part}"
        if isinstance(value, dict):
            made[part] = {
                level: _decimal(_scaled(place, each)) for level, each in value.items()
            }
        elif isinstance(value, list):
            made[part] = [_decimal(_scaled(place, each)) for each in value]
        else:
            made[part] = _decimal(_scaled(place, value))
    return {part: value for part, value in made.items() if value}


def _scaled(place: str, value: object) -> int:
    """Return a number, or its text, in units of 1e-30."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value * _ONE
    if not isinstance(value, str):
        raise _no_number(place, value)
    mantissa, _, power = value.strip().lower().partition("e")
    sign, digits = (-1, mantissa[1:]) if mantissa[:1] == "-" else (1, mantissa)
    whole, _, places = digits.partition(".")
    try:
        shift = _PLACES - len(places) + int(power or "0")
    except ValueError:
        raise _no_number(place, value) from None
    if not _are_digits((whole, places)) or not 0 <= shift <= _TWO * _PLACES:
        raise _no_number(place, value)
    unit: int = 10**shift
    return sign * int(whole + places) * unit


def _are_digits(parts: Iterable[str]) -> bool:
    joined = "".join(parts)
    return joined.isascii() and joined.isdigit() and len(joined) <= _TWO * _PLACES


def _decimal(scaled: int) -> str:
    """Return a number of 1e-30 units as payloads spell decimals."""
    whole, rest = divmod(abs(scaled), _ONE)
    sign = "-" if scaled < 0 else ""
    places = f"{rest:0{_PLACES}d}".rstrip("0")
    return f"{sign}{whole}.{places}" if places else f"{sign}{whole}"


def _no_number(place: str, value: object, what: str = "") -> DeniedError:
    said = str(value)[:60]
    return DeniedError(f"{place} is {said!r}: write a number {what}".rstrip())
