"""From the tape to the files that stay: packets into a plain MP4, times into the index of frames."""

from __future__ import annotations

import io
import itertools
import os
import zlib
from fractions import Fraction
from pathlib import Path

import numpy as np

from playhead import disk
from playhead.errors import PlayheadError
from playhead.lanes.video import index, mp4, payload
from playhead.lanes.video.encoder import Loss, Packet
from playhead.lanes.video.encoding import Encoding
from playhead.lanes.video.pictures import Shape
from playhead.lanes.video.pyav import av
from playhead.owner import Fields
from playhead.tape import Declaration, Sealed, Sealer

ELEMENTARY = {"h264": "h264", "hevc": "hevc"}
SETUP_BOX = {"h264": b"avcC", "hevc": b"hvcC"}
_TAG = {"h264": "avc1", "hevc": "hvc1"}  # the second is the one that Apple's players take
BLOCK = 1 << 20


class VideoSealer(Sealer):
    """Makes the MP4 and the index of frames of one signal.

    Without a frame there is no MP4, only the index, with no rows.

    Args:
        declaration: What the tape says of the signal.
        video_path: The MP4.
        frames_index_path: The index.
        owner: Whose files they are.
        durable: False if the caller syncs the files, together with others.
    """

    def __init__(
        self,
        declaration: Declaration,
        video_path: disk.StrPath,
        frames_index_path: disk.StrPath,
        *,
        owner: Fields | None = None,
        durable: bool = True,
    ) -> None:
        super().__init__()
        self._owner = owner
        self._durable = durable
        self._encoding = Encoding.from_facts(declaration.facts)
        self._video_path = Path(video_path)
        self._index_path = Path(frames_index_path)
        self._stamps: list[int] = []
        self._keys: list[int] = []
        self._losses: list[Loss] = []
        self._shape: Shape = ()
        self._movie: _Movie | None = None
        self._awaits_key = False

    def add(self, payload_bytes: memoryview) -> None:
        """Take encoded frames."""
        self._shape = payload.shape_of(payload_bytes)
        for sample in payload.unpack(payload_bytes):
            self._awaits_key &= not sample.packet.is_key
            if self._awaits_key:
                continue
            if self._movie is None:
                self._movie = _Movie(self._video_path, self._encoding, sample.packet)
            if sample.packet.is_key:
                self._keys.append(len(self._stamps))
            if sample.packet.loss is not None:
                self._losses.append(sample.packet.loss)
            self._movie.mux(sample.packet)
            self._stamps.append(sample.ts_ns)

    def interrupted(self) -> None:
        """Leave out frames up to the next one that needs none of those that were lost."""
        self._awaits_key = True

    def finish(self) -> None:
        """Put the MP4 and then the index in their places."""
        facts = None
        if self._movie is not None:
            video = self._movie.finish(self._keys, len(self._stamps))
            loss = None if self._encoding.lossless else index.mean_loss(self._losses)
            facts = index.Facts(self._encoding, self._shape, loss, video)
        draft = disk.Draft(self._index_path)
        try:
            index.write(draft, np.array(self._stamps, np.int64), facts, self._owner)
            drafts = [draft] if self._movie is None else [self._movie.draft, draft]
            if self._owner is not None:
                self.sealed += map(Sealed.of, drafts)
            for one in drafts:
                one.commit(durable=self._durable, named=False)
        except BaseException:
            draft.discard()
            raise

    def discard(self) -> None:
        """Remove what was written so far."""
        if self._movie is not None:
            self._movie.discard()


class _Movie:
    """An MP4 in the making."""

    def __init__(self, path: Path, encoding: Encoding, first: Packet) -> None:
        self._codec = encoding.codec
        self._tick = 1 / encoding.rate
        self._count = 0
        self.draft = disk.Draft(path)
        try:
            self._begin(encoding, first)
        except BaseException:
            self.draft.discard()
            raise

    def _begin(self, encoding: Encoding, first: Packet) -> None:
        self._container = av.open(self.draft, "w", format="mp4")
        # The first packet is a keyframe with all that describes the video; reading it as a file finds that.
        with av.open(io.BytesIO(first.data), format=ELEMENTARY[encoding.codec]) as source:
            self._track = self._container.add_stream_from_template(source.streams.video[0])
        self._track.time_base = Fraction(self._tick)
        self._track.codec_context.codec_tag = _TAG[encoding.codec]

    def mux(self, packet: Packet) -> None:
        sample = av.Packet(packet.data)
        sample.pts = sample.dts = self._count
        sample.duration = 1
        sample.time_base = Fraction(self._tick)
        sample.is_keyframe = packet.is_key
        sample.stream = self._track
        self._container.mux(sample)
        self._count += 1

    def finish(self, keys: list[int], count: int) -> index.VideoFile:
        """End the file, and read it again for its checksums."""
        self._container.close()
        size = self.draft.seek(0, os.SEEK_END)
        boxes = {box.kind: box for box in mp4.boxes_of(self.draft, size)}  # type: ignore[arg-type]
        packets, moov = boxes[b"mdat"], boxes[b"moov"]
        self.draft.seek(moov.start)
        content = self.draft.read(moov.stop - moov.start) or b""
        sizes = mp4.samples_of(content, SETUP_BOX[self._codec]).sizes
        if len(sizes) != count or sizes.sum() != packets.stop - packets.start:
            raise PlayheadError(f"{self.draft.target} was muxed with {len(sizes)} packets of {count}")
        ends = packets.start + np.cumsum(sizes)
        borders = [packets.start, *ends[np.array(keys[1:], int) - 1].tolist(), packets.stop]
        gops = [self._crc(*span) for span in itertools.pairwise(borders)]
        rest = self._crc(packets.stop, size, self._crc(0, packets.start))
        found = list(zip(keys, gops, strict=True))
        return index.VideoFile(size, (packets.start, packets.stop), rest, found)

    def _crc(self, start: int, stop: int, check: int = 0) -> int:
        self.draft.seek(start)
        while start < stop:
            block = self.draft.read(min(BLOCK, stop - start)) or b""
            if not block:
                raise PlayheadError(f"{self.draft.target} ends at {start}, before {stop}")
            check = zlib.crc32(block, check)
            start += len(block)
        return check

    def discard(self) -> None:
        self.draft.discard()
