from driver.conftest import in_time, project  # noqa: F401
