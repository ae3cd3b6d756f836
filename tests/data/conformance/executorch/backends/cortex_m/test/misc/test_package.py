import a_package_that_nobody_has  # noqa: F401


def test_never_seen():
    pass
