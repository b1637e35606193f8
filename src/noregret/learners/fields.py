"""The fields of learners in model files: arrays, blocks of rows, whether the width was given."""

from __future__ import annotations

from typing import Any

from noregret.files.fields import Arrays, Field, Header


class Learnt(Field):
    """The arrays of a learner, stored in the file under the names that `_arrays` gives them."""

    def write(self, owner: Any, header: Header, arrays: Arrays) -> None:
        """Enter the arrays."""
        arrays.update(owner._arrays())

    def read(self, owner: Any, header: Header, arrays: Arrays) -> None:
        """Take the arrays over."""
        owner._restore(arrays)


class Blocks(Field):
    """Whether lines under blocks of rows are kept, and their arrays, the rows held back included.

    The bool is an argument of the constructor.
    """

    def get(self, owner: Any) -> Any:
        """Return the bool."""
        return owner.blocks

    def write(self, owner: Any, header: Header, arrays: Arrays) -> None:
        """Enter the bool, and the arrays under names that begin with `blocks/`."""
        header[self.name] = owner.blocks
        arrays.update(owner._block_arrays())

    def arguments(self, header: Header, arrays: Arrays) -> Header:
        """Return the argument of the constructor."""
        return {self.name: header[self.name]}

    def read(self, owner: Any, header: Header, arrays: Arrays) -> None:
        """Take the arrays over."""
        owner._restore_blocks(arrays)


class Fixed(Field):
    """Whether the number of features was given to the constructor, as a bool in the header."""

    def write(self, owner: Any, header: Header, arrays: Arrays) -> None:
        """Enter the bool."""
        header[self.name] = owner._fixed is not None

    def read(self, owner: Any, header: Header, arrays: Arrays) -> None:
        """Fix the number of features to the number of records in the state."""
        owner._fixed = len(arrays["state"]) if header[self.name] else None
