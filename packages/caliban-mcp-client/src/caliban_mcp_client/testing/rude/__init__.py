"""A server of bad manners, for tests: `program` is run by its path, with a behaviour per argument."""
