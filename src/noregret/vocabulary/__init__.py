"""One vocabulary: the words for losses, maps, rates and learners."""
