"""The only place that writes files.

Four promises, on which everything above stands:

- `replace` gives a file its new content whole or not at all, also through a power cut.
- `Appender.append` adds all of the bytes or none: a short write is cut off again before the error is raised.
- A `Draft` is written in any order by other libraries, and put in its place whole by `commit`.
- Every change passes `hook.before`, where tests install a hook that fails, shortens or kills at the n-th one.
"""

from playhead.disk.appender import Appender
from playhead.disk.changing import patch, truncate
from playhead.disk.draft import Draft
from playhead.disk.hook import Hook, StrPath, hooked
from playhead.disk.locking import PATIENCE, is_held, locked
from playhead.disk.naming import (
    TEMPORARY_SUFFIX,
    cannot_link,
    exchange,
    is_temporary,
    link_new,
    link_to,
    make_folder,
    make_folders,
    remove,
    remove_any,
    remove_empty,
    remove_tree,
    rename,
    share_file,
    sweep,
    take_away,
    temporary_beside,
    touch,
)
from playhead.disk.opening import HeldFolder, OpenFile, check_plain, open_to_read, read_file
from playhead.disk.syncing import sync, sync_contents, sync_file, sync_file_system, sync_folder
from playhead.disk.whole import clone, copy, create, link, replace, reserve, save, write_blocks

__all__ = [
    "PATIENCE",
    "TEMPORARY_SUFFIX",
    "Appender",
    "Draft",
    "HeldFolder",
    "Hook",
    "OpenFile",
    "StrPath",
    "cannot_link",
    "check_plain",
    "clone",
    "copy",
    "create",
    "exchange",
    "hooked",
    "is_held",
    "is_temporary",
    "link",
    "link_new",
    "link_to",
    "locked",
    "make_folder",
    "make_folders",
    "open_to_read",
    "patch",
    "read_file",
    "remove",
    "remove_any",
    "remove_empty",
    "remove_tree",
    "rename",
    "replace",
    "reserve",
    "save",
    "share_file",
    "sweep",
    "sync",
    "sync_contents",
    "sync_file",
    "sync_file_system",
    "sync_folder",
    "take_away",
    "temporary_beside",
    "touch",
    "truncate",
    "write_blocks",
]
