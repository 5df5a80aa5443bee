"""The layout check's parts: the tree that is checked, the rules, and the rules' own tests."""
