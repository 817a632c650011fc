"""What is cut before it can be scrubbed is cut where no secret is halved."""

from __future__ import annotations

import io

from doctor.host.head_and_tail import HeadAndTail
from doctor.logs import reading
from doctor.redact import without_secrets
from tests.redact import corpus
from tests.redact.lines import made

_LINE = next(line for line in made(corpus.SECRETS) if line.name == "url-at")


def test_a_stream_is_kept_in_whole_lines() -> None:
    for limit in range(200, 420, 3):
        kept = HeadAndTail(limit)
        kept.add(
            "\n".join(
                ["a line"] * 12 + [f"at {_LINE.text} we fail"] * 40 + ["a line"] * 12
            ).encode()
        )
        shown = without_secrets(kept.content().decode())
        assert not _LINE.left(shown), shown
        assert "bytes left out" in shown


def test_bytes_that_are_left_out_are_counted() -> None:
    kept, content = HeadAndTail(100), b"".join(b"%05d and more\n" % number for number in range(100))
    kept.add(content)
    head, _, rest = kept.content().partition("\n[… ".encode())
    number, _, tail = rest.partition(" bytes left out …]\n".encode())
    assert content.startswith(head)
    assert content.endswith(tail)
    assert int(number) == len(content) - len(head) - len(tail)


def test_a_line_without_end_is_cut_between_words() -> None:
    for shift in range(0, 9000, 149):
        around = "x " * 40_000
        text = (
            f"{around}{_LINE.text} {'y' * shift} no kernel image is available {_LINE.text} "
            f"{around}\n{'z' * 80}\n" + "filler line\n" * 100_000
        )
        log = reading.read(io.BytesIO(text.encode()), "log", ["no kernel image is available"])
        assert not _LINE.left("\n".join(log.lines))
        if shift > 1500:
            break
