"""What a pass is.

A pass is a frozen dataclass: its fields are the options that `hlo-opt --my-pass='key=value'` takes,
    its docstring says what
IR it needs, what it guarantees, and shows IR before `==>` after. One pass is one file of the same
name: `class FuseLoops` in `fuse_loops.py` is `--fuse-loops`."""

from __future__ import annotations

import abc
import dataclasses
import enum
import re
import shlex
import types
import typing
from typing import Any, ClassVar

from hlo import ir
from hlo.diagnostics import CompileError

_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_TRUE = frozenset({"true", "1", "yes", "on"})
_FALSE = frozenset({"false", "0", "no", "off"})


class PassOptionError(CompileError):
    """An option that a pass does not have, or a value that does not fit its type."""


@dataclasses.dataclass(frozen=True)
class Pass(abc.ABC):
    """A transformation of a module in place."""

    name: ClassVar[str] = "pass"

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" not in cls.__dict__:
            cls.name = kebab_case(cls.__name__)

    @abc.abstractmethod
    def run(self, module: ir.Module) -> bool:
        """Rewrites `module` and says whether it changed.

        Raises:
            CompileError: the module does not fit the pass.
        """

    @classmethod
    def options(cls) -> tuple[dataclasses.Field[Any], ...]:
        """The fields of the pass, which are its options."""
        return dataclasses.fields(cls)

    @classmethod
    def from_text(cls, options: dict[str, str]) -> Pass:
        """A pass from the text of its options, each converted to its field's type.

        Raises:
            PassOptionError: unknown option, bad value, or an option without default is missing.
        """
        hints = typing.get_type_hints(cls)
        known = {field.name.replace("_", "-"): field for field in cls.options()}
        values: dict[str, Any] = {}
        for key, text in options.items():
            field = known.get(key.replace("_", "-"))
            if field is None:
                offered = ", ".join(known) or "none"
                raise PassOptionError(
                    f"pass {cls.name!r} has no option {key!r}; its options are: {offered}"
                )
            values[field.name] = _convert(cls.name, key, text, hints[field.name])
        try:
            return cls(**values)
        except TypeError as error:
            raise PassOptionError(f"pass {cls.name!r}: {error}") from error

    def __str__(self) -> str:
        """The pass as a pipeline element, with the options that differ from their defaults."""
        changed = [
            f"{field.name.replace('_', '-')}={_option_text(getattr(self, field.name))}"
            for field in self.options()
            if getattr(self, field.name) != field.default
        ]
        return f"{self.name}{{{' '.join(changed)}}}" if changed else self.name


def kebab_case(name: str) -> str:
    """`FuseLoops` to `fuse-loops`."""
    return _WORD_START.sub("-", name).lower()


def _option_text(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, enum.Enum):
        return str(value.value)
    if isinstance(value, tuple):
        return ",".join(_option_text(item) for item in value)
    return shlex.quote(value) if isinstance(value, str) else str(value)


def _convert(pass_name: str, key: str, text: str, hint: Any) -> Any:
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        return _convert_optional(pass_name, key, text, typing.get_args(hint))
    if origin is tuple:
        item = typing.get_args(hint)[0]
        return tuple(_convert(pass_name, key, part, item) for part in text.split(",") if part)
    if origin is typing.Literal:
        return _convert_choice(
            pass_name, key, text, {str(choice): choice for choice in typing.get_args(hint)}
        )
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return _convert_choice(pass_name, key, text, {str(member.value): member for member in hint})
    if hint is bool:
        return _convert_boolean(pass_name, key, text)
    if hint in (int, float):
        try:
            return hint(text)
        except ValueError as error:
            raise PassOptionError(
                f"option {key!r} of pass {pass_name!r}: expected {hint.__name__}, found {text!r}"
            ) from error
    return text


def _convert_optional(pass_name: str, key: str, text: str, choices: tuple[Any, ...]) -> Any:
    if text == "none" and type(None) in choices:
        return None
    (hint,) = [choice for choice in choices if choice is not type(None)]
    return _convert(pass_name, key, text, hint)


def _convert_choice(pass_name: str, key: str, text: str, choices: dict[str, Any]) -> Any:
    if text not in choices:
        raise PassOptionError(
            f"option {key!r} of pass {pass_name!r}: expected one of {', '.join(choices)}, found "
            f"{text!r}"
        )
    return choices[text]


def _convert_boolean(pass_name: str, key: str, text: str) -> bool:
    lowered = text.lower()
    if lowered in _TRUE:
        return True
    if lowered in _FALSE:
        return False
    raise PassOptionError(
        f"option {key!r} of pass {pass_name!r}: expected true or false, found {text!r}"
    )
