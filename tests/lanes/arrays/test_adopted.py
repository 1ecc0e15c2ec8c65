"""Which episodes a file of another program has."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.errors import Damaged
from playhead.lanes.arrays import adopted
from playhead.lanes.arrays.adopted import AdoptedEpisode

KNOWN = [AdoptedEpisode(2, 3, "terminated", {"episode_id": "a"}), AdoptedEpisode(5, 1, "truncated", {})]


def test_it_comes_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "run_a" / "episodes.json"
    assert adopted.load(path, 6) == []
    adopted.write(path, KNOWN)
    assert adopted.load(path, 6) == KNOWN
    with pytest.raises(Damaged, match="episodes within 5 steps"):
        adopted.load(path, 5)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", "7", '{"episodes": 7}', '{"episodes": [7]}', '{"episodes": [{"start": 0}]}',
     '{"episodes": [{"start": -1, "length": 2, "how": "closed", "facts": {}}]}',
     '{"episodes": [{"start": 0, "length": 0, "how": "closed", "facts": {}}]}',
     '{"episodes": [{"start": true, "length": 2, "how": "closed", "facts": {}}]}',
     '{"episodes": [{"start": 0, "length": 2, "how": 5, "facts": {}}]}',
     '{"episodes": [{"start": 0, "length": 2, "how": "closed", "facts": []}]}',
     '{"episodes": [{"start": 3, "length": 2, "how": "x", "facts": {}}, {"start": 4, "length": 2, "how": "x", "facts": {}}]}'],
)  # fmt: skip
def test_what_cannot_be_is_damage(tmp_path: Path, text: str) -> None:
    path = tmp_path / "episodes.json"
    path.write_text(text)
    with pytest.raises(Damaged, match="episodes"):
        adopted.load(path, 100)


@given(data=st.data(), length=st.integers(0, 60))
def test_every_step_is_in_one_episode_and_known_ones_stay(data: st.DataObject, length: int) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(0, length))))
    pieces = [AdoptedEpisode(low, high - low, "terminated") for low, high in pairwise(cuts)]
    known = [piece for piece in pieces if data.draw(st.booleans())]
    starts = sorted(data.draw(st.sets(st.integers(0, length + 5))))
    found = list(adopted.completed(known, starts, length))
    assert [place for one in found for place in range(one.start, one.stop)] == list(range(length))
    assert [one for one in found if one in known] == known
    inside = {place for one in known for place in range(one.start + 1, one.stop)}
    assert {one.start for one in found} >= {start for start in starts if start < length} - inside
