"""`python -m doctor`."""

from __future__ import annotations

from doctor.cli import main

if __name__ == "__main__":
    main()
