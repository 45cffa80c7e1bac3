"""Options that name a file: what is read of it, and what is not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytestmark = pytest.mark.fast


@pytest.mark.parametrize("path, why", [("/dev/zero", "not a regular file."), ("/tmp", "is a directory.")])
def test_a_file_option_reads_regular_files_alone(path, why):
    from tilewright.cli.parse import UsageError, text_file

    with pytest.raises(UsageError) as error:
        text_file("--space", Path(path))
    assert str(error.value) == f"--space: {path}: {why}"


def test_a_file_option_reads_no_more_than_such_files_have(tmp_path):
    from tilewright.cli.parse import UsageError, text_file

    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with pytest.raises(UsageError) as error:
        text_file("--space", fifo)
    assert str(error.value) == f"--space: {fifo}: not a regular file."
    large = tmp_path / "large"
    large.write_bytes(b"a" * ((1 << 20) + 1))
    with pytest.raises(UsageError) as error:
        text_file("--space", large)
    assert str(error.value) == f"--space: {large} has more than 1048576 bytes; such files have at most that many."
