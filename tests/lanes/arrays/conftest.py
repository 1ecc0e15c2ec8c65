"""Let asserts of the model say what was found."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("tests.lanes.arrays.reels", "tests.lanes.arrays.marks", "tests.lanes.arrays.damage")
