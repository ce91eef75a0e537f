"""How a typed function becomes a tool's name, description, JSON Schema and argument binding."""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo

from tools.context import ToolContext
from tools.json_schema import tidy

NAME = re.compile(r"^[a-zA-Z0-9_-]{1,64}$")  # what Chat Completions takes as a function's name
_LINE = re.compile(r"^(?P<name>\w+)\s*(?:\([^)]*\))?:\s+(?P<text>\S.*)$")
_HEADINGS = {"args:", "arguments:", "parameters:"}


class DeclarationError(TypeError):
    """A tool is declared wrongly; raised at import, with the function's name and the remedy."""


class MismatchError(ValueError):
    """Arguments do not fit the typed parameters; `str()` is written for the model."""


@dataclass(frozen=True, slots=True)
class Signature:
    """A tool function as read from its source."""

    name: str
    description: str
    schema: dict[str, Any]
    function: Callable[..., Any]
    wants_context: bool
    is_async: bool
    model: type[BaseModel]
    fields: Mapping[str, str]  # parameter → field of the model

    def bind(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the typed values by parameter name, defaults filled in. Raises MismatchError."""
        try:
            bound = self.model.model_validate(arguments)
        except ValidationError as error:
            raise MismatchError(_words(error)) from None
        return {parameter: getattr(bound, field) for parameter, field in self.fields.items()}

    def problem(self, arguments: dict[str, Any]) -> str | None:
        """Return what is wrong with the arguments, or None."""
        try:
            self.bind(arguments)
        except MismatchError as error:
            return str(error)
        return None


def read_signature(function: Callable[..., Any], name: str | None = None) -> Signature:
    """Read a function's annotations and docstring. Raises DeclarationError."""
    label = getattr(function, "__qualname__", repr(function))
    name = name or str(getattr(function, "__name__", ""))
    if not NAME.match(name):
        raise DeclarationError(f"{label}: {name!r} cannot be a tool's name; use letters, digits, _ and -, at most 64")
    description, documented = read_docstring(inspect.getdoc(function) or "")
    if not description:
        raise DeclarationError(f"{label}: the docstring is missing; its first paragraph tells the model what it does")
    parameters, hints, wants_context = _parameters(function, label)
    unknown = set(documented.strict) - parameters.keys()
    if unknown:
        raise DeclarationError(f"{label}: the docstring describes {sorted(unknown)}, which is no parameter")
    fields = {parameter: f"p{number}" for number, parameter in enumerate(parameters)}
    model = _model(label, name, parameters, hints, documented.texts, fields)
    return Signature(
        name=name,
        description=description,
        schema=_schema(label, model),
        function=function,
        wants_context=wants_context,
        is_async=inspect.iscoroutinefunction(function),
        model=model,
        fields=fields,
    )


@dataclass(frozen=True, slots=True)
class Documented:
    """Parameter texts of a docstring; `strict` are the names listed under an `Args:` heading."""

    texts: Mapping[str, str]
    strict: tuple[str, ...]


def read_docstring(text: str) -> tuple[str, Documented]:
    """Return the first paragraph as one line, and the texts of `name: text` lines after it."""
    first, _, rest = text.strip().partition("\n\n")
    texts: dict[str, str] = {}
    strict: list[str] = []
    current, under_heading = "", False
    for line in map(str.strip, rest.splitlines()):
        if line.lower() in _HEADINGS:
            current, under_heading = "", True
        elif not line or line.endswith(":"):
            current, under_heading = "", False
        elif match := _LINE.match(line):
            current = match["name"]
            texts[current] = match["text"]
            if under_heading:
                strict.append(current)
        elif current:
            texts[current] += f" {line}"
    return " ".join(first.split()), Documented(texts, tuple(strict))


def _parameters(function: Callable[..., Any], label: str) -> tuple[dict[str, inspect.Parameter], dict[str, Any], bool]:
    parameters = dict(inspect.signature(function).parameters)
    try:
        hints = get_type_hints(function, include_extras=True)
    except NameError as error:
        raise DeclarationError(f"{label}: an annotation cannot be read: {error}") from error
    wants_context = next(iter(parameters), None) == "context"
    if wants_context:
        if hints.get("context") is not ToolContext:
            raise DeclarationError(f"{label}: the parameter `context` must be annotated ToolContext")
        del parameters["context"]
    for name, parameter in parameters.items():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise DeclarationError(f"{label}: *args, **kwargs and positional-only parameters have no schema: {name}")
        if name not in hints:
            raise DeclarationError(f"{label}: the parameter {name!r} has no type")
        if hints[name] is ToolContext:
            raise DeclarationError(f"{label}: ToolContext belongs to a first parameter named `context`")
    return parameters, hints, wants_context


def _model(
    label: str,
    name: str,
    parameters: Mapping[str, inspect.Parameter],
    hints: Mapping[str, Any],
    texts: Mapping[str, str],
    fields: Mapping[str, str],
) -> type[BaseModel]:
    """Build the model under field names of our own: a parameter may be called `schema` or `_x`."""
    definitions: dict[str, Any] = {}
    for parameter, detail in parameters.items():
        annotation = hints[parameter]
        default: Any = ... if detail.default is detail.empty else detail.default
        text = _annotated_text(annotation) or texts.get(parameter)
        extra: dict[str, Any] = {"description": text} if text else {}
        definitions[fields[parameter]] = (annotation, Field(default, alias=parameter, **extra))
    try:
        return create_model(name, __config__=ConfigDict(extra="forbid"), **definitions)
    except (PydanticUserError, TypeError) as error:
        raise DeclarationError(f"{label}: a parameter's type has no schema: {error}") from error


def _annotated_text(annotation: Any) -> str | None:
    """Return the text in `Annotated[…, "text"]`; a pydantic Field's own description comes first."""
    if get_origin(annotation) is not Annotated:
        return None
    extras = get_args(annotation)[1:]
    described = [e.description for e in extras if isinstance(e, FieldInfo) and e.description]
    return next(iter(described + [e for e in extras if isinstance(e, str)]), None)


def _schema(label: str, model: type[BaseModel]) -> dict[str, Any]:
    try:
        schema = model.model_json_schema()
    except PydanticUserError as error:
        raise DeclarationError(f"{label}: a parameter's type has no JSON Schema: {error}") from error
    return tidy(schema)


def _words(error: ValidationError) -> str:
    problems = []
    for item in error.errors(include_url=False, include_input=False)[:3]:
        where = ".".join(str(part) for part in item["loc"]) or "arguments"
        problems.append(f"`{where}`: {item['msg']}")
    return "; ".join(problems)
