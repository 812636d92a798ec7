"""The mutations that `python -m tools.mutations run` applies are mutations of today's files."""

from tools.mutations import MUTATIONS, ROOT


def test_each_mutation_changes_one_line_that_is_there():
    for mutation in MUTATIONS:
        text = (ROOT / mutation.file).read_text(encoding="utf-8")
        assert text.count(mutation.old) == 1, mutation
        assert mutation.applied(text).count("\n") == text.count("\n"), mutation
        assert mutation.applied(text) != text, mutation


def test_each_mutation_has_a_name_of_its_own_and_tests_that_are_there():
    assert len({mutation.name for mutation in MUTATIONS}) == len(MUTATIONS)
    for mutation in MUTATIONS:
        assert 1 <= len(mutation.tests) <= 3, mutation
        assert all((ROOT / path).is_file() for path in mutation.tests), mutation
