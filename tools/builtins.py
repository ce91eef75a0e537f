"""The tools that Hermes brings along, in the order in which a model sees them; those of memory live with memory."""

from tools.builtin_files import list_directory, read_file, search_files, write_file
from tools.builtin_slack import post_message, read_thread
from tools.builtin_time import current_time
from tools.declaration import Tool

BUILT_INS: tuple[Tool, ...] = (
    current_time,
    read_thread,
    post_message,
    list_directory,
    search_files,
    read_file,
    write_file,
)
