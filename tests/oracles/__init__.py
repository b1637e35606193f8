"""The numbers of the papers: every run and every bound against values computed elsewhere."""
