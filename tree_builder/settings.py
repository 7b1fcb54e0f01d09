"""Settings: one name everywhere. File, environment, command line or Python; later ones win, unknown names are refused."""

from __future__ import annotations

import difflib
import math
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from tree_builder.errors import ConfigError

SETTINGS_FILE = "tree-builder.toml"
ENV_PREFIX = "TREE_BUILDER_"

Models = Literal["local", "openai"]
Cut = Literal["sentence", "fixed"]
Boundaries = Literal["each", "window", "embedding"]
Scope = Literal["group", "pair"]


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens."""

    input: float
    output: float = 0.0


PRICES_DATE = "2026-04-22"
PRICES: Mapping[str, Price] = {
    "gpt-4.1-mini": Price(0.40, 1.60),
    "gpt-4.1-nano": Price(0.10, 0.40),
    "gpt-4.1": Price(2.00, 8.00),
    "gpt-5.4-mini": Price(0.75, 4.50),
    "gpt-5.4-nano": Price(0.20, 1.25),
    "text-embedding-3-small": Price(0.02),
    "text-embedding-3-large": Price(0.13),
}
"""Announced list prices as of PRICES_DATE; `[prices]` in the settings file adds to them and overrides them."""


def _setting(default: Any, help_text: str, *, secret: bool = False) -> Any:
    return field(default=default, metadata={"help": help_text, "secret": secret})


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings with their defaults. Checked when made; see `Settings.load` for where they come from."""

    # where
    database_url: str | None = _setting(None, "PostgreSQL to use; without one, the embedded server", secret=True)
    data_dir: Path | None = _setting(None, "folder of the embedded server; default: the user's data folder")
    # which models
    models: Models = _setting("local", "local: no key, no network; openai: the OpenAI API, there or at OPENAI_BASE_URL")
    embedding_model: str | None = _setting(
        None, "default: text-embedding-3-small (openai), use-multilingual-v3 (local)"
    )
    embedding_dimensions: int | None = _setting(None, "asked of models which can shorten their vectors")
    summary_model: str | None = _setting(None, "default: gpt-4.1-mini (openai), extract (local)")
    local_workers: int | None = _setting(None, "processes of the local models, 170 MB each; default: one a core")
    # how documents are read and cut
    chunk_size: int = _setting(1000, "characters of a chunk, at most")
    chunk_overlap: int = _setting(100, "characters of a chunk which repeat the previous one")
    cut: Cut = _setting("sentence", "sentence: at ends of sentences, edit-stable; fixed: plain windows")
    follow_symlinks: bool = _setting(False, "whether symbolic links inside the folder are followed")
    max_file_mb: int = _setting(500, "larger files end as too_large")
    read_timeout_s: float = _setting(120.0, "seconds for reading one file")
    read_memory_mb: int = _setting(2048, "address space of a reading process")
    read_workers: int | None = _setting(None, "reading processes; default: one a core")
    # how trees grow
    boundaries: Boundaries | None = _setting(
        None, "each, window or embedding; default: each (openai), embedding (local)"
    )
    window_size: int = _setting(12, "items shown at once by boundaries = window")
    summary_scope: Scope = _setting("group", "group: the summary covers its whole group; pair: the first two items")
    summary_chars: int = _setting(900, "length of a summary, about, in characters")
    max_group_items: int | None = _setting(
        None, "a group closes when it has so many items; default: when a prompt is full"
    )
    prompt_tokens: int | None = _setting(
        None, "tokens of document text in one prompt; default: 16000 for gpt models, 3000 for others"
    )
    verify: bool = _setting(True, "check numbers and names of a summary against what it covers")
    speculation: float = _setting(0.25, "extra calls allowed for speed on one long document, as a share; 0 for none")
    # calls
    concurrency: int = _setting(32, "model calls in flight")
    requests_per_minute: int | None = _setting(None, "limit besides the one which the service announces")
    tokens_per_minute: int | None = _setting(None, "limit besides the one which the service announces")
    call_timeout_s: float = _setting(60.0, "seconds for one model call")
    max_attempts: int = _setting(6, "attempts for a call whose errors may pass")
    # runs
    max_usd: float | None = _setting(None, "no call starts once a run has cost so much")
    max_minutes: float | None = _setting(None, "no call starts once a run has taken so long")
    keep: int = _setting(7, "published runs which are kept")
    # what is printed
    log_format: Literal["text", "json"] = _setting("text", "text or json lines, on stderr")
    log_level: Literal["debug", "info", "warning", "error"] = _setting("warning", "least level which is logged")
    prices: Mapping[str, Price] = field(
        default_factory=lambda: dict(PRICES), metadata={"help": "US dollars a million tokens"}
    )

    def __post_init__(self) -> None:
        for f in fields(self):
            object.__setattr__(self, f.name, _checked(f.name, getattr(self, f.name)))
        _require(self.chunk_size >= 50, "chunk_size", self.chunk_size, "at least 50")
        _require(
            0 <= self.chunk_overlap < self.chunk_size,
            "chunk_overlap",
            self.chunk_overlap,
            "at least 0, below chunk_size",
        )
        _require(
            self.chunk_overlap <= self.chunk_size // 2,
            "chunk_overlap",
            self.chunk_overlap,
            "at most half of chunk_size",
        )
        _require(3 <= self.window_size <= 50, "window_size", self.window_size, "3 to 50")
        cap = self.max_group_items
        _require(cap is None or cap >= 2, "max_group_items", cap, "at least 2")
        _require(self.summary_chars >= 100, "summary_chars", self.summary_chars, "at least 100")
        _require(0 <= self.speculation <= 2, "speculation", self.speculation, "0 to 2")
        for name in ("concurrency", "max_attempts", "keep", "max_file_mb", "read_memory_mb"):
            _require(getattr(self, name) >= 1, name, getattr(self, name), "at least 1")
        for name in (
            "requests_per_minute",
            "tokens_per_minute",
            "prompt_tokens",
            "read_workers",
            "local_workers",
            "embedding_dimensions",
        ):
            value = getattr(self, name)
            _require(value is None or value >= 1, name, value, "at least 1")
        for name in ("read_timeout_s", "call_timeout_s"):
            _require(getattr(self, name) > 0, name, getattr(self, name), "more than 0")
        for name in ("max_usd", "max_minutes"):
            value = getattr(self, name)
            _require(value is None or value >= 0, name, value, "0 or more")
        if self.boundaries in ("each", "window") and self.models == "local":
            raise ConfigError(
                f"boundaries = {self.boundaries!r} asks a language model, which models = 'local' has not; "
                "use boundaries = 'embedding', or models = 'openai'",
                name="boundaries",
            )

    @property
    def boundary_method(self) -> Boundaries:
        return self.boundaries or ("each" if self.models == "openai" else "embedding")

    @property
    def embedding_model_name(self) -> str:
        return self.embedding_model or ("text-embedding-3-small" if self.models == "openai" else "use-multilingual-v3")

    @property
    def summary_model_name(self) -> str:
        return self.summary_model or ("gpt-4.1-mini" if self.models == "openai" else "extract")

    @classmethod
    def load(
        cls,
        overrides: Mapping[str, Any] | None = None,
        *,
        folder: Path | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> Settings:
        """Gather settings from the file in `folder` (default: the working folder), the environment and `overrides`.

        Values of None in `overrides` count as not given.

        Raises:
            ConfigError: an unknown name (the nearest known one is told), or a value which cannot be used.
        """
        environ = os.environ if environ is None else environ
        values: dict[str, Any] = {}
        values.update(_from_file((folder or Path.cwd()) / SETTINGS_FILE))
        values.update(_from_environment(environ))
        values.update({k: v for k, v in (overrides or {}).items() if v is not None})
        _refuse_unknown(values)
        return cls(**values)

    def but(self, **changes: Any) -> Settings:
        """Give the same settings with some changed, checked again."""
        _refuse_unknown(changes)
        return replace(self, **changes)

    def public(self) -> dict[str, Any]:
        """Give the settings as JSON-serializable values, secrets left out."""
        out: dict[str, Any] = {}
        for f in fields(self):
            if f.metadata.get("secret") or f.name == "prices":
                continue
            value = getattr(self, f.name)
            out[f.name] = str(value) if isinstance(value, Path) else value
        return out


_HINTS = get_type_hints(Settings)
NAMES = tuple(f.name for f in fields(Settings))


def _from_file(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except FileNotFoundError:
        return {}
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}", path=str(path)) from error


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    if url := environ.get("DATABASE_URL"):
        values["database_url"] = url
    for key, text in environ.items():
        if key.startswith(ENV_PREFIX):
            values[key.removeprefix(ENV_PREFIX).lower()] = text
    return values


def _refuse_unknown(values: Mapping[str, Any]) -> None:
    for name in values:
        if name not in NAMES:
            near = difflib.get_close_matches(name, NAMES, n=1, cutoff=0.4)
            hint = f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(NAMES)}"
            raise ConfigError(f"there is no setting {name!r}{hint}", name=name)


def _require(ok: bool, name: str, value: object, rule: str) -> None:
    if not ok:
        raise ConfigError(f"{name} = {value!r} cannot be used: it must be {rule}", name=name, value=value)


def _checked(name: str, value: Any) -> Any:
    """Convert a value from text where needed, and refuse what is of the wrong type."""
    if name == "prices":
        return _prices(value)
    hint = _HINTS[name]
    options = [hint] if get_origin(hint) is Literal else list(get_args(hint) or (hint,))
    if value is None or (isinstance(value, str) and value == "" and type(None) in options):
        if type(None) in options:
            return None
        raise ConfigError(f"{name} needs a value", name=name)
    for option in options:
        if option is type(None):
            continue
        if get_origin(option) is Literal:
            allowed = get_args(option)
            if value in allowed:
                return value
            near = difflib.get_close_matches(str(value), [str(a) for a in allowed], n=1)
            hint_text = f"; did you mean {near[0]!r}?" if near else ""
            raise ConfigError(
                f"{name} = {value!r}: it must be one of {', '.join(map(str, allowed))}{hint_text}", name=name
            )
        return _converted(name, value, option)
    raise ConfigError(f"{name} = {value!r} cannot be used", name=name)  # pragma: no cover


_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


def _converted(name: str, value: Any, kind: type) -> Any:
    if kind is bool:
        if isinstance(value, bool):
            return value
        if str(value).lower() in _TRUE + _FALSE:
            return str(value).lower() in _TRUE
    elif kind in (int, float) and not isinstance(value, bool):
        try:
            number = kind(value)
        except (TypeError, ValueError):
            number = None
        if number is not None and not math.isnan(number) and (not isinstance(value, float) or number == value):
            return number
    elif kind is Path and isinstance(value, str | Path):
        return Path(value).expanduser()
    elif kind is str and isinstance(value, str):
        return value
    raise ConfigError(f"{name} = {value!r} cannot be used: it must be of type {kind.__name__}", name=name)


def _prices(table: Any) -> dict[str, Price]:
    if not isinstance(table, Mapping):
        raise ConfigError('prices must be a table: [prices."MODEL"] with input and output', name="prices")
    prices = dict(PRICES)
    for model, price in table.items():
        try:
            prices[model] = price if isinstance(price, Price) else Price(**{k: float(v) for k, v in price.items()})
        except (TypeError, ValueError, AttributeError) as error:
            raise ConfigError(
                f"prices.{model!r} must have numbers `input` and `output`: {error}", name="prices"
            ) from error
    return prices
