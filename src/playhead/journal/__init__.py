"""A log of records in segments, checked by CRC: what a lane writes while it records.

A journal is a folder of its own with files `000000.seg`, `000001.seg`, …; `segment.py` has their bytes. Readers follow
a writer in another process without a lock between them. Four rules of the writer make that sound; the code names them
where it relies on them:

1. It appends, and it cuts off only bytes behind the last whole record: of an append that failed, or that a crash tore.
   So what lies before the end of any whole record never changes again. A frame that cannot be read is *damage* once a
   whole record is found behind it and a second look still fails; until then it is a record still being written, or one
   that the next writer will cut off and write over.
2. It never touches a segment again once it has made the next. So a segment that was seen to have a successor *before*
   its end was looked for has its last record, and bytes left over there are damage.
3. Segments are made in ascending order. So one that is missing below an existing one was made. A look at the folder may
   miss a name that is made meanwhile: the file is asked for again before it is called missing.
4. Segments are removed in ascending order. So one that is missing while a lower one exists is lost, any other removed.
"""

from playhead.journal.mending import cut_lost, is_lost
from playhead.journal.newest import newest
from playhead.journal.reader import Damage, JournalReader, Record
from playhead.journal.segment import Position
from playhead.journal.writer import SEGMENT_BYTES, JournalWriter

__all__ = [
    "SEGMENT_BYTES",
    "Damage",
    "JournalReader",
    "JournalWriter",
    "Position",
    "Record",
    "cut_lost",
    "is_lost",
    "newest",
]
