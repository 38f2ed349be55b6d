"""`python -m iodyno ARGUMENTS`: the program, in the place of this process."""

import os
import sys

from ._program import ProgramMissing, find_program


def main() -> None:
    try:
        program = find_program()
    except ProgramMissing as missing:
        sys.exit(f"error: {missing}")
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
