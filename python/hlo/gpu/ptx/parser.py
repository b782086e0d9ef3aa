"""Parser of PTX, the part of it that LLVM emits: a recursive descent over tokens.

Grammar, in short::

    module    = (".version" v | ".target" words | ".address_size" n | variable | function | debug)*
    function  = linkage? (".entry" | ".func" ("(" parameters ")")?) name ("(" parameters ")")?
                directive* (";" | "{" body "}")
    body      = (".reg" ... ";" | variable | label ":" | "{" body "}" | statement ";")*
    statement = ("@" "!"? register)? opcode operand ("," operand)*

Source: the PTX ISA manual, chapters "Syntax" and "State Spaces, Types, and Variables".
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass

from hlo.diagnostics import ParseError
from hlo.gpu.ptx.syntax import (
    Address,
    Call,
    Float,
    Function,
    Instruction,
    Integer,
    Label,
    Module,
    Name,
    Negated,
    Operand,
    Pair,
    Variable,
    Vector,
)

TYPE_BYTES = {
    "pred": 0,
    **dict.fromkeys(("b8", "u8", "s8", "e4m3", "e5m2"), 1),
    **dict.fromkeys(("b16", "u16", "s16", "f16", "bf16"), 2),
    **dict.fromkeys(("b32", "u32", "s32", "f32", "f16x2", "bf16x2"), 4),
    **dict.fromkeys(("b64", "u64", "s64", "f64"), 8),
    "b128": 16,
}
SPACES = ("global", "shared", "local", "const", "param")

_TOKEN = re.compile(
    r"""
    (?P<space>[ \t\r\n]+|//[^\n]*|/\*.*?\*/)
  | (?P<string>"[^"\n]*")
  | (?P<float>0[fF][0-9a-fA-F]{8}(?![\w.])|0[dD][0-9a-fA-F]{16}(?![\w.])|\d+\.\d+(?:[eE][+-]?\d+)?)
  | (?P<integer>0[xX][0-9a-fA-F]+U?|0[bB][01]+U?|\d+U?(?![\w]))
  | (?P<word>[.%$_A-Za-z][\w$.:]*)
  | (?P<mark>[{}()\[\];,:@!|+\-<>=*])
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    line: int


def parse(text: str) -> Module:
    """Parses a module.

    Raises:
        ParseError: the text is not PTX as this parser knows it; the message has the line.
    """
    return _Parser(text).module()


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    at, line = 0, 1
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ParseError(f"PTX line {line}: unexpected character {text[at]!r}")
        kind = match.lastgroup or ""
        value = match.group()
        if kind != "space":
            # A colon ends a label; inside a word it belongs to an opcode such as `L2::128B`.
            if kind == "word" and value.endswith(":"):
                found.append(_Token("word", value[:-1], line))
                found.append(_Token("mark", ":", line))
            else:
                found.append(_Token(kind, value, line))
        line += value.count("\n")
        at = match.end()
    found.append(_Token("end", "end of text", line))
    return found


class _Parser:
    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._tokens = _tokens(text.rstrip("\0"))
        self._at = 0
        self._scopes: list[dict[str, str]] = []
        self._renamed = 0

    # Tokens

    def _peek(self) -> _Token:
        return self._tokens[self._at]

    def _next(self) -> _Token:
        token = self._tokens[self._at]
        self._at += 1
        return token

    def _accept(self, text: str) -> bool:
        if self._tokens[self._at].text == text:
            self._at += 1
            return True
        return False

    def _expect(self, text: str) -> None:
        token = self._next()
        if token.text != text:
            raise self._error(token, f"expected {text!r}")

    def _word(self) -> str:
        token = self._next()
        if token.kind != "word":
            raise self._error(token, "expected a name")
        return token.text

    def _error(self, token: _Token, expected: str) -> ParseError:
        line = self._lines[min(token.line, len(self._lines)) - 1].strip()
        return ParseError(f"PTX line {token.line}: {expected}, found {token.text!r} in: {line}")

    def _integer(self) -> int:
        negative = self._accept("-")
        token = self._next()
        if token.kind != "integer":
            raise self._error(token, "expected an integer")
        value = int(token.text.rstrip("U"), 0)
        return -value if negative else value

    # Module scope

    def module(self) -> Module:
        module = Module()
        while self._peek().kind != "end":
            token = self._next()
            if token.text == ".version":
                module.version = self._next().text
            elif token.text == ".target":
                module.target = self._word()
                while self._accept(","):
                    self._word()
            elif token.text == ".address_size":
                if self._integer() != 64:
                    raise self._error(token, "expected 64-bit addresses")
            elif token.text in (".visible", ".extern", ".weak", ".common"):
                continue
            elif token.text in (".entry", ".func"):
                function = self._function(token)
                known = module.functions.get(function.name)
                if known is None or not known.is_defined:
                    module.functions[function.name] = function
            elif token.text.lstrip(".") in SPACES:
                variable = self._variable(token)
                module.variables[variable.name] = variable
            elif token.text in (".file", ".loc"):
                self._skip_line(token.line)
            elif token.text == ".section":
                self._skip_section()
            else:
                raise self._error(token, "expected a directive, a variable or a function")
        return module

    def _skip_line(self, line: int) -> None:
        while self._peek().line == line and self._peek().kind != "end":
            self._next()

    def _skip_section(self) -> None:
        while self._next().text != "{":
            pass
        while self._next().text != "}":
            pass

    def _variable(self, space: _Token) -> Variable:
        alignment, kind = 0, ""
        while self._peek().text.startswith("."):
            word = self._word()
            if word == ".align":
                alignment = self._integer()
            elif word == ".attribute":
                self._expect("(")
                while self._next().text != ")":
                    pass
            elif word == ".ptr":
                while self._peek().text in (".global", ".shared", ".const", ".local", ".align"):
                    if self._word() == ".align":
                        self._integer()
            else:
                kind = word[1:]
        if kind not in TYPE_BYTES:
            raise self._error(space, f"unknown type {kind!r} of a variable")
        name = self._word()
        count = 1
        while self._accept("["):
            count *= 0 if self._peek().text == "]" else self._integer()
            self._expect("]")
        size = TYPE_BYTES[kind]
        initial = self._initial(size, size * count) if self._accept("=") else None
        if space.text != ".param" or self._peek().text == ";":
            self._accept(";")
        return Variable(name, space.text[1:], alignment or size, size * count, initial, space.line)

    def _initial(self, size: int, total: int) -> bytes:
        values: list[bytes] = []
        depth = 0
        while True:
            if self._accept("{"):
                depth += 1
            elif self._accept("}"):
                depth -= 1
            elif not self._accept(","):
                token = self._peek()
                operand = self._operand()
                if isinstance(operand, Float):
                    values.append(operand.bits.to_bytes(operand.width, "little")[:size])
                elif isinstance(operand, Integer):
                    values.append((operand.value & (1 << 8 * size) - 1).to_bytes(size, "little"))
                else:
                    raise self._error(token, "expected a number in an initial value")
            if depth == 0:
                break
        return b"".join(values).ljust(total, b"\0")

    def _function(self, start: _Token) -> Function:
        results = self._parameters() if start.text == ".func" and self._peek().text == "(" else []
        function = Function(self._word(), start.text == ".entry", start.line, results=results)
        if self._peek().text == "(":
            function.parameters = self._parameters()
        while self._peek().text.startswith("."):
            word = self._word()
            if word in (".maxntid", ".reqntid", ".reqnctapercluster"):
                sizes = [self._integer()]
                while self._accept(","):
                    sizes.append(self._integer())
                if word == ".reqntid":
                    function.required_block = tuple(sizes)
                elif word == ".maxntid":
                    function.maximum_block = tuple(sizes)
            elif word in (".minnctapersm", ".maxnreg", ".maxclusterrank"):
                self._integer()
            elif word == ".pragma":
                self._next()
                self._accept(";")
            elif word not in (".noreturn", ".explicitcluster"):
                raise self._error(self._peek(), f"unknown directive {word} of a function")
        if self._accept(";"):
            return function
        self._expect("{")
        function.is_defined = True
        self._scopes = [{}]
        self._body(function)
        return function

    def _parameters(self) -> list[Variable]:
        self._expect("(")
        found: list[Variable] = []
        while not self._accept(")"):
            token = self._next()
            if token.text != ".param":
                raise self._error(token, "expected a .param")
            found.append(self._variable(token))
            self._accept(",")
        return found

    # Function scope

    def _body(self, function: Function) -> None:
        while not self._accept("}"):
            token = self._peek()
            if token.text == "{":
                self._next()
                self._scopes.append({})
                self._body(function)
                self._scopes.pop()
            elif token.text == ".reg":
                self._registers(function)
            elif token.text.lstrip(".") in SPACES and token.text.startswith("."):
                self._next()
                variable = self._variable(token)
                name = self._declare(variable.name, variable.name in function.variables)
                function.variables[name] = Variable(
                    name, variable.space, variable.alignment, variable.bytes,
                    variable.initial, variable.line,
                )  # fmt: skip
            elif token.text in (".loc", ".file") or token.text == ".pragma":
                self._skip_line(token.line)
            elif token.text == ";":
                self._next()
            elif token.kind == "word" and self._tokens[self._at + 1].text == ":":
                self._label(function)
            elif token.kind == "end":
                raise self._error(token, "expected '}'")
            else:
                function.body.append(self._statement(function))

    def _declare(self, name: str, taken: bool) -> str:
        """A name in the innermost scope; one that an outer scope has too is renamed."""
        unique = name
        if taken:
            self._renamed += 1
            unique = f"{name}#{self._renamed}"
        self._scopes[-1][name] = unique
        return unique

    def _resolve(self, name: str) -> str:
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        return name

    def _registers(self, function: Function) -> None:
        self._next()
        kind = self._word()[1:]
        if kind not in TYPE_BYTES:
            raise self._error(self._peek(), f"unknown type {kind!r} of a register")
        while True:
            name = self._word()
            if self._accept("<"):
                for i in range(self._integer()):
                    function.registers[f"{name}{i}"] = kind
                self._expect(">")
            else:
                function.registers[self._declare(name, name in function.registers)] = kind
            if not self._accept(","):
                break
        self._expect(";")

    def _label(self, function: Function) -> None:
        token = self._next()
        self._expect(":")
        if self._peek().text == ".branchtargets":
            self._next()
            targets = [self._word()]
            while self._accept(","):
                targets.append(self._word())
            self._expect(";")
            function.tables[token.text] = tuple(targets)
        elif self._peek().text == ".callprototype":
            while self._next().text != ";":
                pass
        else:
            function.body.append(Label(token.text, token.line))

    def _statement(self, function: Function) -> Instruction | Call:
        guard, negated = None, False
        start = self._peek()
        if self._accept("@"):
            negated = self._accept("!")
            guard = self._resolve(self._word())
        opcode = self._next()
        if opcode.kind != "word" or opcode.text.startswith((".", "%", "$")):
            raise self._error(opcode, "expected an instruction")
        words = tuple(w for w in opcode.text.split("."))
        if words[0] == "call":
            return self._call(guard, negated, start.line)
        operands: list[Operand] = []
        if self._peek().text != ";":
            operands.append(self._operand())
            while self._accept(","):
                operands.append(self._operand())
        self._expect(";")
        text = self._lines[start.line - 1].strip()
        return Instruction(words, tuple(operands), guard, negated, start.line, text)

    def _call(self, guard: str | None, negated: bool, line: int) -> Call:
        lists: list[tuple[str, ...]] = []
        name = ""
        while not self._accept(";"):
            if self._accept("("):
                names: list[str] = []
                while not self._accept(")"):
                    names.append(self._resolve(self._word()))
                    self._accept(",")
                lists.append(tuple(names))
            elif not self._accept(","):
                word = self._word()
                name = name or word
        results = lists.pop(0) if len(lists) > 1 else ()
        arguments = lists[0] if lists else ()
        return Call(name, results, arguments, guard, negated, line, self._lines[line - 1].strip())

    def _operand(self) -> Operand:
        token = self._next()
        if token.text == "{":
            elements: list[Operand] = []
            while not self._accept("}"):
                elements.append(self._operand())
                self._accept(",")
            return Vector(tuple(elements))
        if token.text == "[":
            return self._address()
        if token.text == "!":
            return Negated(Name(self._resolve(self._word())))
        if token.kind == "word":
            first = Name(self._resolve(token.text))
            if self._accept("|"):
                return Pair(first, Name(self._resolve(self._word())))
            if self._accept("+"):
                return Address(first, self._integer())
            return first
        if token.kind == "float":
            return _float(token.text)
        if token.kind == "integer":
            return Integer(int(token.text.rstrip("U"), 0))
        if token.text == "-" and self._peek().kind == "integer":
            return Integer(-int(self._next().text.rstrip("U"), 0))
        if token.text == "-" and self._peek().kind == "float":
            value = _float(self._next().text)
            return Float(value.bits ^ 1 << 8 * value.width - 1, value.width)
        raise self._error(token, "expected an operand")

    def _address(self) -> Address:
        base: Name | None = None
        offset = 0
        if self._peek().kind == "word":
            base = Name(self._resolve(self._word()))
            if self._accept("+") or self._peek().text == "-":
                offset = self._integer()
        else:
            offset = self._integer()
        coordinates: tuple[Operand, ...] = ()
        if self._accept(","):
            tile = self._operand()
            coordinates = tile.elements if isinstance(tile, Vector) else (tile,)
        self._expect("]")
        return Address(base, offset, coordinates)


def _float(text: str) -> Float:
    if text[:2] in ("0f", "0F"):
        return Float(int(text[2:], 16), 4)
    if text[:2] in ("0d", "0D"):
        return Float(int(text[2:], 16), 8)
    return Float(struct.unpack("<Q", struct.pack("<d", float(text)))[0], 8)
