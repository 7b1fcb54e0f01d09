"""Every error this package raises on purpose.

    TreeBuilderError
    ├── ConfigError                wrong settings or use; exit code 4
    ├── IngestError                one file; never stops a run
    │   └── UnreadableDocument
    ├── ProviderError              a model or its service
    │   ├── ProviderUnavailable    retry may help
    │   ├── ProviderRejected       retry will not help: wrong key, unknown model, exhausted quota
    │   ├── BadModelOutput         empty, refused, cut off or nonsense, after being asked again
    │   └── BudgetExceeded         the run's limit of money or time is reached
    ├── StoreError                 the database
    │   ├── StoreUnavailable       retry may help
    │   ├── SchemaOutOfDate
    │   ├── MigrationEdited
    │   ├── NotFound
    │   └── Conflict
    └── BuildError                 growing or publishing
        ├── LevelDidNotShrink
        ├── LawBroken              a law of the tree does not hold
        ├── NothingPublished       exit code 5
        └── RunInProgress          exit code 75

Messages name the thing and the next step; facts are attributes, given as keywords.
Errors of drivers and SDKs are caught in the store and the providers, never above.
"""

from __future__ import annotations

from typing import Any


class TreeBuilderError(Exception):
    """Any error this package raises on purpose.

    Keyword arguments become attributes, so that callers read facts instead of parsing messages.
    """

    exit_code = 5

    def __init__(self, message: str, **facts: Any) -> None:
        super().__init__(message)
        self.message = message
        self.facts = facts

    def __getattr__(self, name: str) -> Any:
        facts = self.__dict__.get("facts", {})
        if name in facts:
            return facts[name]
        raise AttributeError(f"{type(self).__name__} has no attribute or fact {name!r}")


class ConfigError(TreeBuilderError):
    """Settings or arguments which cannot be used as they are."""

    exit_code = 4


class IngestError(TreeBuilderError):
    """A file which cannot become a document; the run goes on without it."""


class UnreadableDocument(IngestError):
    """A file whose text cannot be had. Facts: `status` (a `DocumentStatus`), `doc_path`."""


class ProviderError(TreeBuilderError):
    """A model, or the service behind it, did not give a usable answer."""


class ProviderUnavailable(ProviderError):
    """The service did not answer in spite of retries; a later run may succeed."""


class ProviderRejected(ProviderError):
    """The service refused for good: wrong key, unknown model, exhausted quota. Stops the run."""

    exit_code = 4


class BadModelOutput(ProviderError):
    """An answer which is empty, refused, cut off or nonsense, also when asked again. Fails one document."""


class BudgetExceeded(ProviderError):
    """The run's limit of money or time is reached; no further call is made."""


class StoreError(TreeBuilderError):
    """The database did not do what was asked."""


class StoreUnavailable(StoreError):
    """The database cannot be reached, or went away; trying again may help."""


class SchemaOutOfDate(StoreError):
    """The database's schema and the program's do not fit: migrate, or update the program."""

    exit_code = 4


class MigrationEdited(StoreError):
    """A migration which was already applied differs from the file shipped now."""

    exit_code = 4


class NotFound(StoreError):
    """No corpus, path, node or run by that name."""

    exit_code = 4


class Conflict(StoreError):
    """What is stored contradicts what was asked, as another embedding model for the same corpus."""

    exit_code = 4


class BuildError(TreeBuilderError):
    """Growing or publishing could not be done as the laws ask."""


class LevelDidNotShrink(BuildError):
    """Growing would not end: a level has as many items as the one below, or took more calls than allowed."""


class LawBroken(BuildError):
    """A law of the tree does not hold; nothing is published."""


class NothingPublished(BuildError):
    """The run ended without a tree to show."""


class RunInProgress(BuildError):
    """Another run has the corpus. Fact: `holder`."""

    exit_code = 75
