"""The `@tool` decorator: a typed function becomes a tool; its schema comes from annotations and docstring."""

import asyncio
import inspect
import json
import re
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, TypedDict, Unpack, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo

from storage.records import Decision, Effect
from tools.tool_context import ToolContext
from tools.tool_definition import TOOL_NAME, Tool, ToolError

_DESCRIBED = re.compile(r"^(?P<name>\w+)\s*(?:\([^)]*\))?:\s+(?P<text>\S.*)$")
_HEADINGS = {"args:", "arguments:", "parameters:"}


class DeclarationError(TypeError):
    """A tool's declaration is invalid. Raised at import, with the function's name and the remedy."""


class ToolOptions(TypedDict, total=False):
    """The fields of `Tool` that a declaration may set."""

    idempotent: bool
    timeout_s: float | None
    retries: int | None
    roles: tuple[str, ...]
    result_limit: int | None
    default_decision: Decision | None
    summary: tuple[str, str] | None
    asks_itself: bool


def tool(
    *,
    effect: Effect,
    name: str | None = None,
    precheck: Callable[..., Awaitable[None]] | None = None,
    **options: Unpack[ToolOptions],
) -> Callable[[Callable[..., Any]], Tool]:
    """Turn a typed function into a tool; a sync function runs in a thread.

    A first parameter `context: ToolContext` is passed by the executor and is not part of the schema. The first
    paragraph of the docstring tells the model what the tool does. `Annotated[int, "…"]` or a docstring line
    `parameter: …` describes a parameter. `precheck` takes the same parameters; see `Tool`. Raise DeclarationError.
    """

    def declare(function: Callable[..., Any]) -> Tool:
        label = getattr(function, "__qualname__", repr(function))
        tool_name = name or str(getattr(function, "__name__", ""))
        if not TOOL_NAME.match(tool_name):
            raise DeclarationError(f"{label}: {tool_name!r} is not a valid tool name; use 1-64 letters, digits, _, -")
        docstring = read_docstring(inspect.getdoc(function) or "")
        if not docstring.summary:
            raise DeclarationError(f"{label}: the docstring is missing; the model needs its first paragraph")
        typed = _read_function(function, label, tool_name, docstring)
        if precheck and list(inspect.signature(precheck).parameters) != list(inspect.signature(function).parameters):
            raise DeclarationError(f"{label}: its precheck must take the same parameters, in the same order")
        return Tool(
            name=tool_name,
            description=docstring.summary,
            parameters=_schema(label, typed.model),
            effect=effect,
            run=typed.run,
            check=typed.problem,
            precheck=replace(typed, function=precheck).run if precheck else None,
            **options,
        )

    return declare


@dataclass(frozen=True, slots=True)
class _TypedFunction:
    """A tool function and the pydantic model of its parameters."""

    function: Callable[..., Any]
    takes_context: bool
    model: type[BaseModel]
    fields: Mapping[str, str]  # parameter → field of the model

    def bind(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return typed values by parameter name, with defaults. Raise ToolError."""
        try:
            bound = self.model.model_validate(arguments)
        except ValidationError as error:
            raise ToolError("bad_arguments", _explain(error)) from None
        return {parameter: getattr(bound, field) for parameter, field in self.fields.items()}

    def problem(self, arguments: dict[str, Any]) -> str | None:
        """Return what is wrong with the arguments, or None."""
        try:
            self.bind(arguments)
        except ToolError as error:
            return error.message
        return None

    async def run(self, context: ToolContext, arguments: dict[str, Any]) -> Any:
        """Call the function with typed arguments. Raise ToolError when they do not fit."""
        values = self.bind(arguments)
        if self.takes_context:
            values["context"] = context
        if inspect.iscoroutinefunction(self.function):
            return await self.function(**values)
        return await asyncio.to_thread(self._call_in_thread, values)

    def _call_in_thread(self, values: dict[str, Any]) -> Any:
        try:
            return self.function(**values)
        except StopIteration as error:  # no future accepts it: the call would never end
            raise RuntimeError("the tool raised StopIteration") from error


@dataclass(frozen=True, slots=True)
class Docstring:
    """The first paragraph on one line, the parameter texts, and the names listed under an `Args:` heading."""

    summary: str
    texts: Mapping[str, str]
    listed: tuple[str, ...]


def read_docstring(text: str) -> Docstring:
    """Return the parts of a docstring; a line `name: text` after the first paragraph describes a parameter."""
    first, _, rest = text.strip().partition("\n\n")
    texts: dict[str, str] = {}
    listed: list[str] = []
    current, under_heading = "", False
    for line in map(str.strip, rest.splitlines()):
        if line.lower() in _HEADINGS:
            current, under_heading = "", True
        elif not line or line.endswith(":"):
            current, under_heading = "", False
        elif match := _DESCRIBED.match(line):
            current = match["name"]
            texts[current] = match["text"]
            if under_heading:
                listed.append(current)
        elif current:
            texts[current] += f" {line}"
    return Docstring(" ".join(first.split()), texts, tuple(listed))


def _read_function(function: Callable[..., Any], label: str, name: str, docstring: Docstring) -> _TypedFunction:
    parameters = _parameters(function, label)
    takes_context = next(iter(parameters), "") == "context"
    if takes_context:
        del parameters["context"]
    if unknown := set(docstring.listed) - parameters.keys():
        raise DeclarationError(f"{label}: the docstring describes {sorted(unknown)}, which is not a parameter")
    # Our own field names: a parameter may be called `schema` or `_x`, which pydantic does not accept as a field.
    fields = {parameter: f"p{number}" for number, parameter in enumerate(parameters)}
    definitions: dict[str, Any] = {}
    for parameter, detail in parameters.items():
        default: Any = ... if detail.default is detail.empty else detail.default
        text = _annotated_text(detail.annotation) or docstring.texts.get(parameter)
        extra: dict[str, Any] = {"description": text} if text else {}
        definitions[fields[parameter]] = (detail.annotation, Field(default, alias=parameter, **extra))
    try:
        model = create_model(name, __config__=ConfigDict(extra="forbid"), **definitions)
    except (PydanticUserError, TypeError) as error:
        raise DeclarationError(f"{label}: a parameter's type has no schema: {error}") from error
    return _TypedFunction(function, takes_context, model, fields)


def _parameters(function: Callable[..., Any], label: str) -> dict[str, inspect.Parameter]:
    """Return the checked parameters with their resolved annotations; a `context` is the first one."""
    try:
        hints = get_type_hints(function, include_extras=True)
    except NameError as error:
        raise DeclarationError(f"{label}: an annotation cannot be read: {error}") from error
    found: dict[str, inspect.Parameter] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        is_context = name == "context" and not found
        if is_context and hints.get(name) is not ToolContext:
            raise DeclarationError(f"{label}: the parameter `context` must be annotated ToolContext")
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise DeclarationError(f"{label}: *args, **kwargs and positional-only parameters have no schema: {name}")
        if name not in hints:
            raise DeclarationError(f"{label}: the parameter {name!r} has no type")
        if hints[name] is ToolContext and not is_context:
            raise DeclarationError(f"{label}: ToolContext is only allowed as a first parameter named `context`")
        found[name] = parameter.replace(annotation=hints[name])
    return found


def _annotated_text(annotation: Any) -> str | None:
    """Return the text in `Annotated[…, "text"]`; the description of a pydantic Field takes precedence."""
    extras = get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()
    described = [extra.description for extra in extras if isinstance(extra, FieldInfo)]
    return next((text for text in (*described, *extras) if text and isinstance(text, str)), None)


def _explain(error: ValidationError) -> str:
    problems = []
    for item in error.errors(include_url=False, include_input=False)[:3]:
        where = ".".join(str(part) for part in item["loc"]) or "arguments"
        problems.append(f"`{where}`: {item['msg']}")
    return "; ".join(problems)


# --- pydantic's JSON Schema in the form that models use best: no titles, few references, no additional properties

_BY_NAME = {"properties", "$defs", "definitions", "patternProperties", "dependentSchemas"}  # name → schema
_DATA = {"default", "const", "enum", "examples"}
_REFERENCE = re.compile(r'"\$ref": "#/\$defs/([^"]+)"')


def _schema(label: str, model: type[BaseModel]) -> dict[str, Any]:
    """Return the model's schema without titles, with definitions inlined and unknown properties refused.

    A recursive definition stays in `$defs`: it cannot be inlined.
    """
    try:
        schema = model.model_json_schema()
    except PydanticUserError as error:
        raise DeclarationError(f"{label}: a parameter's type has no JSON Schema: {error}") from error
    definitions: dict[str, Any] = schema.pop("$defs", {})
    recursive = _recursive(definitions)
    plain = {"type": "object", "properties": {}, **_inlined(schema, definitions, recursive)}
    plain["additionalProperties"] = False
    if recursive:
        plain["$defs"] = {name: _inlined(definitions[name], definitions, recursive) for name in sorted(recursive)}
    return plain


def _recursive(definitions: Mapping[str, Any]) -> set[str]:
    """Return the names of definitions that contain themselves."""
    inside = {
        name: definitions.keys() & set(_REFERENCE.findall(json.dumps(definition, ensure_ascii=False)))
        for name, definition in definitions.items()
    }
    for _ in inside:  # a chain of references is at most as long as their number
        inside = {name: found.union(*(inside[other] for other in found)) for name, found in inside.items()}
    return {name for name, found in inside.items() if name in found}


def _inlined(schema: Any, definitions: Mapping[str, Any], recursive: Collection[str]) -> Any:
    if isinstance(schema, list):
        return [_inlined(item, definitions, recursive) for item in schema]
    if not isinstance(schema, dict):
        return schema
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    if name in definitions and name not in recursive:
        others = {key: value for key, value in schema.items() if key != "$ref"}
        return _inlined({**definitions[name], **others}, definitions, recursive)
    plain: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _BY_NAME:
            plain[key] = {inner: _inlined(item, definitions, recursive) for inner, item in value.items()}
        elif key != "title":
            plain[key] = value if key in _DATA else _inlined(value, definitions, recursive)
    if "properties" in plain:
        plain.setdefault("additionalProperties", False)
    return plain
