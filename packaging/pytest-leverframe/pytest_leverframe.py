"""The entry point of Leverframe's pytest plugin: the fixtures `twin`, `twin_factory` and `fleet`.

It is a distribution of its own because pytest rewrites the assertions of every module in the
distribution that holds an entry point: here that is this file, and not the whole of Leverframe.
"""

#: pytest registers it under this name, so a project that lists it too gets it once.
pytest_plugins = ["leverframe.testing.pytest_plugin"]
