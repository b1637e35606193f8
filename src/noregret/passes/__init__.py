"""The row loops: compiled passes of the learners over blocks of examples."""
