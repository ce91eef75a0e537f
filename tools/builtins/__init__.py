"""The built-in tools, in the order in which the model sees them. The memory tools are in `bot.memory.memory_tools`."""

from tools.builtins.file_tools import list_directory, read_file, search_files, write_file
from tools.builtins.slack_tools import post_message, read_thread
from tools.builtins.time_tools import current_time
from tools.tool_definition import Tool

BUILT_INS: tuple[Tool, ...] = (
    current_time,
    read_thread,
    post_message,
    list_directory,
    search_files,
    read_file,
    write_file,
)
