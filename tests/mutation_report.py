"""Last step of `make mutation`: print how many mutants of each module the tests kill; fail below 95 %."""

import sys

from mutmut.mutation.data import SourceFileMutationData
from mutmut.stats import Stat, collect_stat
from mutmut.utils.file_utils import walk_mutatable_files

LEAST_KILLED = 0.95


def results() -> dict[str, Stat]:
    """Return the counts of each module whose mutants were run."""
    counts: dict[str, Stat] = {}
    for path in walk_mutatable_files():
        module = SourceFileMutationData(path=path)
        module.load()
        counts[str(path)] = collect_stat(module)
    return {path: stat for path, stat in counts.items() if stat.total > stat.not_checked}


def main() -> int:
    """Print one line for each module; return 1 if one is below the minimum or none was run."""
    shares = []
    sys.stdout.write(f"{'module':<48}{'mutants':>8}{'killed':>8}\n")
    for path, stat in sorted(results().items()):
        run = stat.total - stat.not_checked
        killed = stat.killed + stat.timeout + stat.segfault
        shares.append(killed / run)
        sys.stdout.write(f"{path:<48}{run:>8}{killed:>8} {killed / run:>7.1%}\n")
    sys.stdout.write("Survivors: .venv/bin/mutmut results; one of them: .venv/bin/mutmut show NAME\n")
    return int(not shares or min(shares) < LEAST_KILLED)


if __name__ == "__main__":
    raise SystemExit(main())
