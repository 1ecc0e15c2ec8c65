"""Which steps are keyframes: all of the first 2B, every second one up to 4B, every fourth up to 8B and so on.

Tier n covers [B·2^n, B·2^(n+1)) with resolution 2^n, and tier 0 also what lies before. So N steps
have about B·log2(N / B) keyframes, and a step is at most its resolution − 1 steps behind one.
"""

from __future__ import annotations

from playhead.errors import WrongType

DEFAULT_BUCKET = 1563  # 100,032 steps in 10,941 keyframes


def check_bucket(b: int) -> int:
    """See that a bucket is one.

    Raises:
        WrongType: It is not.
    """
    if not isinstance(b, int) or isinstance(b, bool) or b < 1:
        raise WrongType(f"a bucket is a whole number of steps from 1, not {b!r}")
    return b


def check_step(step: int) -> int:
    """See that a step is one.

    Raises:
        WrongType: It is not.
    """
    if not isinstance(step, int) or isinstance(step, bool) or step < 0:
        raise WrongType(f"a step is a whole number from 0, not {step!r}")
    return step


def tier(step: int, b: int = DEFAULT_BUCKET) -> int:
    """Give the tier of a step."""
    return max(0, (check_step(step) // check_bucket(b)).bit_length() - 1)


def tier_start(tier: int, b: int = DEFAULT_BUCKET) -> int:
    """Give the first step of a tier."""
    return check_bucket(b) << tier if check_step(tier) else 0


def resolution(tier: int) -> int:
    """Give the distance between two keyframes of a tier."""
    return 1 << check_step(tier)


def is_keyframe(step: int, b: int = DEFAULT_BUCKET) -> bool:
    """Tell whether a step is kept."""
    return step % resolution(tier(step, b)) == 0


def nearest_keyframe(step: int, b: int = DEFAULT_BUCKET) -> int:
    """Give the last keyframe at or before a step."""
    return step - step % resolution(tier(step, b))


def keyframe_count(total: int, b: int = DEFAULT_BUCKET) -> int:
    """Count the keyframes of the first `total` steps."""
    if not check_step(total):
        return 0
    last = tier(total - 1, b)
    full = 0 if last == 0 else b * (last + 1)
    return full - (tier_start(last, b) - total) // resolution(last)


def bucket_for(total_steps: int, budget: int) -> int:
    """Find the largest bucket with which so many steps have at most `budget` keyframes.

    Raises:
        WrongType: Even a bucket of 1 has more.
    """
    least = keyframe_count(total_steps, 1)
    if check_step(budget) < max(1, least):
        raise WrongType(f"{total_steps:,} steps have at least {max(1, least)} keyframes; the budget is {budget}")
    low, high = 1, max(1, total_steps)  # a larger bucket keeps all that a smaller one keeps
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if keyframe_count(total_steps, middle) <= budget else (low, middle - 1)
    return low
