"""From an instruction as written to one of the interpreter: a table opcode -> rule.

A rule takes the instruction and the places of its operands and gives what to run. Modifiers that do
not change a result (cache hints, `.uni`, `.approx`, memory orders) are dropped.
"""

from __future__ import annotations

from collections.abc import Callable

from hlo.gpu.ptx.encoding import (
    ATOMICS,
    LOCAL_WINDOW,
    PARAMETER_WINDOW,
    SHARED_WINDOW,
    TYPES,
    UNWANTED,
    Control,
    Detail,
    Encoded,
    Flag,
    Space,
)
from hlo.gpu.ptx.hopper import bulk_copy, fence, memory_barrier, warpgroup
from hlo.gpu.ptx.places import Places, unknown
from hlo.gpu.ptx.syntax import (
    Address,
    Instruction,
    Integer,
    Name,
    Negated,
    Operand,
    Pair,
    Vector,
)

_WIDTHS = {"8": 1, "16": 2, "32": 4, "64": 8}
_DIRECTED = ("rz", "rm", "rp")
_ROUNDING_WORDS = ("rn", "rz", "rm", "rp", "rna")


Rule = Callable[[Instruction, Places], Encoded]


def encode(instruction: Instruction, places: Places) -> Encoded:
    """What to run for an instruction.

    Raises:
        UnsupportedError: the interpreter does not know it.
    """
    rule = RULES.get(instruction.opcode[0])
    if rule is None:
        raise unknown(instruction)
    return rule(instruction, places)


def width_of(kind: str) -> int:
    """Bytes of a value of a type in a register, 0 for a predicate."""
    if kind == "pred":
        return 0
    if kind in ("f16x2", "bf16x2", "u16x2", "s16x2", "tf32"):
        return 4
    if kind == "f32x2":
        return 8
    digits = kind.lstrip("bfsu")
    return max(_WIDTHS.get(digits, 4), 2)


def _flags(words: tuple[str, ...]) -> int:
    flags = 0
    if "ftz" in words:
        flags |= Flag.FLUSH_SUBNORMALS
    if "sat" in words or "satfinite" in words:
        flags |= Flag.SATURATE
    return flags


def _is_float(kind: str) -> bool:
    return kind.lstrip("b").startswith("f")


def _arithmetic(instruction: Instruction, places: Places) -> Encoded:
    """`op{.modifiers}.type d, a, ...` with all operands of one type, integers and floats."""
    words = instruction.opcode
    op, kind = words[0], words[-1]
    sources = instruction.operands[1:]
    flags = _flags(words)
    widths = [width_of(kind)] * len(sources)
    if _is_float(kind):
        name = op
        if "NaN" in words:
            name += ".NaN"
        directed = [w for w in words if w in _DIRECTED]
        if kind == "f64" and "approx" in words and "ftz" in words:
            name += ".approx.ftz"
            flags = 0
        elif directed:
            name += "." + directed[0]
        name += "." + kind
    elif op in ("add", "sub", "addc", "subc"):
        middle = ".cc" if "cc" in words else ".sat" if "sat" in words else ""
        flags = 0
        name = f"{op}{middle}." + (kind if middle == ".sat" or "x2" in kind else "i" + kind[1:])
    elif op in ("mul", "mad", "madc"):
        part = next((w for w in words if w in ("lo", "hi", "wide")), "lo")
        carry = ".cc" if "cc" in words else ""
        name = f"{op}.{part}{carry}." + ("i" + kind[1:] if part == "lo" else kind)
        if part == "wide" and op == "mad":
            widths[2] = 2 * width_of(kind)
    else:
        name = f"{op}.{kind}"
    return Encoded(
        name,
        (places.result(instruction.operands[0]), *map(places.value, sources, widths)),
        flags,
    )


def _bitwise(instruction: Instruction, places: Places) -> Encoded:
    """Instructions named by opcode and type, amounts and positions being 32 bits wide."""
    words = instruction.opcode
    op, kind = words[0], words[-1]
    sources = instruction.operands[1:]
    width = width_of(kind)
    if op in ("and", "or", "xor", "not", "cnot"):
        kind = kind if kind == "pred" else "b" + kind[1:]
        widths = [width] * len(sources)
    elif op == "shr":
        kind = kind.replace("b", "u")
        widths = [width, 4]
    elif op == "shl":
        kind = "b" + kind[1:]
        widths = [width, 4]
    elif op in ("bfe", "bfi"):
        widths = [width, *([width] if op == "bfi" else []), 4, 4]
    else:
        widths = [width] * len(sources)
    name = ".".join((*words[:-1], kind))
    return Encoded(
        name, (places.result(instruction.operands[0]), *map(places.value, sources, widths))
    )


def _dot_bytes(instruction: Instruction, places: Places) -> Encoded:
    result, *sources = instruction.operands
    values = (places.value(source, 4) for source in sources)
    return Encoded(".".join(instruction.opcode), (places.result(result), *values))


_UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}


def _compare(instruction: Instruction, places: Places) -> Encoded:
    words = instruction.opcode
    kind = words[-1]
    comparison = _UNSIGNED.get(words[1], words[1])
    if not _is_float(kind):
        kind = kind.replace("b", "u")
    flags = _flags(words)
    results, first, second, *more = instruction.operands
    if isinstance(results, Pair):
        flags |= Flag.SECOND_RESULT
        targets = (places.result(results.first), places.result(results.second))
    else:
        targets = (places.result(results),) * 2
    width = width_of(kind)
    operands = [*targets, places.value(first, width), places.value(second, width)]
    if more:
        combined = more[0]
        flags |= {
            "and": Flag.COMBINE_AND, "or": Flag.COMBINE_OR, "xor": Flag.COMBINE_XOR,
        }[words[2]]  # fmt: skip
        if isinstance(combined, Negated):
            flags |= Flag.COMBINE_NEGATED
            combined = combined.operand
        operands.append(places.value(combined, 0))
    return Encoded(f"setp.{comparison}.{kind}", tuple(operands), flags)


def _select(instruction: Instruction, places: Places) -> Encoded:
    width = width_of(instruction.opcode[-1])
    result, first, second, choice = instruction.operands
    return Encoded(
        f"selp.{8 * width}",
        (
            places.result(result),
            places.value(first, width),
            places.value(second, width),
            places.value(choice, 0),
        ),
    )


def _move(instruction: Instruction, places: Places) -> Encoded:
    kind = instruction.opcode[-1]
    result, source = instruction.operands
    if isinstance(result, Vector):
        parts = tuple(places.result(element) for element in result.elements)
        return Encoded("unpack", (places.value(source, width_of(kind)), *parts))
    if isinstance(source, Vector):
        part = width_of(kind) // len(source.elements)
        values = tuple(places.value(element, part) for element in source.elements)
        return Encoded("pack", (places.result(result), *values))
    if isinstance(source, Name) and source.text in ("%clock", "%clock64", "%globaltimer"):
        return Encoded("clock", (places.result(result),))
    width = width_of(kind)
    name = "mov.pred" if kind == "pred" else f"mov.{8 * width}"
    if isinstance(source, Address):
        base, offset = places.address(source)
        return Encoded("cvta", (places.result(result), base), immediate=offset)
    return Encoded(name, (places.result(result), places.value(source, width)))


def _convert(instruction: Instruction, places: Places) -> Encoded:
    words = instruction.opcode
    to, source = words[-2], words[-1]
    flags = _flags(words) & ~(Flag.SATURATE if "satfinite" in words else 0)
    if "relu" in words:
        flags |= Flag.RELU
    if "satfinite" in words:
        flags |= Flag.FINITE_ONLY
    plain = next((w for w in words if w in _ROUNDING_WORDS), None)
    integral = next((w for w in words if w in ("rni", "rzi", "rmi", "rpi")), None)
    rounding = plain or (integral[:2] if integral else "rn")
    result, *sources = instruction.operands
    if to in TYPES[:12] and source in TYPES[:12]:
        detail = Detail(
            type=to, source=source, rounding=rounding,
            integral=integral is not None or (_is_float(source) and not _is_float(to)),
        )  # fmt: skip
        return Encoded(
            "cvt", (places.result(result), places.value(sources[0], width_of(source))),
            flags, detail,
        )  # fmt: skip
    width = 2 if source.startswith("e") else 4
    return Encoded(
        f"cvt.{to}.{source}",
        (places.result(result), *(places.value(s, width) for s in sources)),
        flags,
        Detail(rounding=rounding),
    )


def _space(words: tuple[str, ...]) -> Space:
    for word in words:
        if word in ("global", "const"):
            return Space.GLOBAL
        if word.startswith("shared"):
            return Space.SHARED
        if word == "local":
            return Space.LOCAL
        if word.startswith("param"):
            return Space.PARAMETER
    return Space.GENERIC


def _transfer(instruction: Instruction, places: Places) -> Encoded:
    words = instruction.opcode
    kind = words[-1]
    is_load = words[0] in ("ld", "ldu")
    first, second = instruction.operands[:2]
    where, data = (second, first) if is_load else (first, second)
    elements = data.elements if isinstance(data, Vector) else (data,)
    space = _space(words)
    if space is Space.PARAMETER:
        space = places.parameter_space(where)
    base, offset = places.address(where)
    size = 1 if kind in ("b8", "u8", "s8") else width_of(kind)
    moved = [places.result(e) if is_load else places.value(e, width_of(kind)) for e in elements]
    return Encoded(
        "ld" if is_load else "st", (base, *moved),
        detail=Detail(bytes=size, is_signed=kind[0] == "s", space=space), immediate=offset,
    )  # fmt: skip


def _atomic(instruction: Instruction, places: Places) -> Encoded:
    words = instruction.opcode
    kind = words[-1]
    operation = next((w for w in words[1:] if w in ATOMICS), None)
    if operation is None or kind not in TYPES or any(w in ("v2", "v4", "v8") for w in words):
        raise unknown(instruction)
    result = places.result(instruction.operands[0]) if words[0] == "atom" else UNWANTED
    where, *values = instruction.operands[1 if words[0] == "atom" else 0 :]
    base, offset = places.address(where)
    return Encoded(
        "atom",
        (result, base, *(places.value(v, width_of(kind)) for v in values)),
        detail=Detail(
            bytes=width_of(kind), space=_space(words), type=kind, operation=operation
        ),
        immediate=offset,
    )  # fmt: skip


def _convert_address(instruction: Instruction, places: Places) -> Encoded:
    words = instruction.opcode
    window = {
        Space.SHARED: SHARED_WINDOW,
        Space.LOCAL: LOCAL_WINDOW,
        Space.PARAMETER: PARAMETER_WINDOW,
    }.get(_space(words), 0)
    result, source = instruction.operands
    return Encoded(
        "cvta", (places.result(result), places.value(source, 8)),
        immediate=-window if words[1] == "to" else window,
    )  # fmt: skip


def _is_space(instruction: Instruction, places: Places) -> Encoded:
    result, source = instruction.operands
    return Encoded(
        "isspacep",
        (places.result(result), places.value(source, 8)),
        detail=Detail(space=_space(instruction.opcode)),
    )


def _branch(instruction: Instruction, places: Places) -> Encoded:
    target = instruction.operands[0]
    if not isinstance(target, Name):
        raise unknown(instruction)
    return Encoded("", control=Control.BRANCH, target=target.text)


def _branch_table(instruction: Instruction, places: Places) -> Encoded:
    index, table = instruction.operands
    if not isinstance(table, Name):
        raise unknown(instruction)
    return Encoded(
        "", (places.value(index, 4),), control=Control.BRANCH_TABLE, table=table.text
    )  # fmt: skip


def _barrier(instruction: Instruction, places: Places) -> Encoded:
    words = instruction.opcode
    if "warp" in words:
        members = places.value(instruction.operands[0], 4)
        return Encoded("bar.warp.sync", (members,), control=Control.COLLECTIVE, members=0)
    action = next((w for w in words[1:] if w in ("sync", "arrive")), None)
    if action is None or "cluster" in words:
        raise unknown(instruction)
    return Encoded(
        "",
        tuple(places.value(operand, 4) for operand in instruction.operands),
        control=Control.BARRIER if action == "sync" else Control.ARRIVE,
        aligned=words[0] == "bar" or "aligned" in words,
    )


def _shuffle(instruction: Instruction, places: Places) -> Encoded:
    result, value, lane, clamp, members = instruction.operands
    flags = 0
    if isinstance(result, Pair):
        flags = Flag.SECOND_RESULT
        results = (places.result(result.first), places.result(result.second))
    else:
        results = (places.result(result),) * 2
    sources = (places.value(o, 4) for o in (value, lane, clamp, members))
    return Encoded(
        f"shfl.{instruction.opcode[2]}", (*results, *sources), flags,
        control=Control.COLLECTIVE, members=5,
    )  # fmt: skip


def _vote(instruction: Instruction, places: Places) -> Encoded:
    result, asked, members = instruction.operands
    flags = 0
    if isinstance(asked, Negated):
        flags, asked = Flag.COMBINE_NEGATED, asked.operand
    return Encoded(
        f"vote.{instruction.opcode[2]}",
        (places.result(result), places.value(asked, 0), places.value(members, 4)),
        flags,
        control=Control.COLLECTIVE,
        members=2,
    )


def _match(instruction: Instruction, places: Places) -> Encoded:
    words = instruction.opcode
    result, value, members = instruction.operands
    flags = 0
    if isinstance(result, Pair):
        flags = Flag.SECOND_RESULT
        results = (places.result(result.first), places.result(result.second))
    else:
        results = (places.result(result),) * 2
    width = width_of(words[-1])
    return Encoded(
        f"match.{words[1]}.{words[-1]}",
        (*results, places.value(value, width), places.value(members, 4)),
        flags,
        control=Control.COLLECTIVE,
        members=3,
    )


def _reduce_lanes(instruction: Instruction, places: Places) -> Encoded:
    words = instruction.opcode
    result, value, members = instruction.operands
    return Encoded(
        f"redux.{words[2]}.{words[-1]}",
        (places.result(result), places.value(value, 4), places.value(members, 4)),
        control=Control.COLLECTIVE,
        members=2,
    )


def _elect(instruction: Instruction, places: Places) -> Encoded:
    result, members = instruction.operands
    if not isinstance(result, Pair):
        raise unknown(instruction)
    return Encoded(
        "elect",
        (places.result(result.first), places.result(result.second), places.value(members, 4)),
        control=Control.COLLECTIVE,
        members=2,
    )


def _active_mask(instruction: Instruction, places: Places) -> Encoded:
    return Encoded("activemask", (places.result(instruction.operands[0]),))


def _elements(operand: Operand) -> tuple[Operand, ...]:
    return operand.elements if isinstance(operand, Vector) else (operand,)


def _matrix_multiply(instruction: Instruction, places: Places) -> Encoded:
    words = instruction.opcode
    shape = words[3]
    types = words[-4:]
    d, a, b, c = instruction.operands
    kinds = {"f64": 8}
    sources = [
        places.value(element, kinds.get(types[0], 4))
        for operand in (a, b, c)
        for element in _elements(operand)
    ]
    return Encoded(
        f"mma.{shape}.{'.'.join(types)}",
        (*map(places.result, _elements(d)), *sources),
        _flags(words),
        control=Control.COLLECTIVE,
    )


def _matrix_transfer(instruction: Instruction, places: Places) -> Encoded:
    words = instruction.opcode
    is_load = words[0] == "ldmatrix"
    first, second = instruction.operands
    where, data = (second, first) if is_load else (first, second)
    base, offset = places.address(where)
    moved = [places.result(e) if is_load else places.value(e, 4) for e in _elements(data)]
    if "m8n8" not in words or words[-1] != "b16":
        raise unknown(instruction)
    space = _space(words)
    return Encoded(
        words[0], (base, *moved), Flag.TRANSPOSED if "trans" in words else 0,
        Detail(bytes=16, space=Space.SHARED if space is Space.SHARED else Space.GENERIC),
        offset, Control.COLLECTIVE,
    )  # fmt: skip


def _matrix_move(instruction: Instruction, places: Places) -> Encoded:
    result, source = instruction.operands
    return Encoded(
        "movmatrix", (places.result(result), places.value(source, 4)), control=Control.COLLECTIVE
    )


def _copy(instruction: Instruction, places: Places) -> Encoded:
    words = instruction.opcode
    if words[:3] == ("cp", "async", "commit_group"):
        return Encoded("cp.async.commit_group")
    if words[:3] == ("cp", "async", "wait_all"):
        return Encoded("cp.async.wait_all")
    if words[:3] == ("cp", "async", "wait_group"):
        pending = instruction.operands[0]
        if isinstance(pending, Integer):
            return Encoded("cp.async.wait_group", immediate=pending.value)
    if words[:2] == ("cp", "async") and words[2] in ("ca", "cg"):
        destination, source, size, *rest = instruction.operands
        base, offset = places.address(destination)
        origin, origin_offset = places.address(source)
        if isinstance(size, Integer):
            sizes = [places.value(rest[0], 4)] if rest else []
            return Encoded(
                "cp.async", (base, origin, *sizes),
                detail=Detail(bytes=size.value),
                immediate=origin_offset << 32 | offset & 0xFFFFFFFF,
            )  # fmt: skip
    if words[:3] == ("cp", "async", "bulk"):
        return bulk_copy(instruction, places)
    raise unknown(instruction)


def _nothing(instruction: Instruction, places: Places) -> Encoded:
    return Encoded("nop")


def _trap(instruction: Instruction, places: Places) -> Encoded:
    return Encoded("", control=Control.TRAP)


def _exit(instruction: Instruction, places: Places) -> Encoded:
    return Encoded("", control=Control.EXIT)


RULES: dict[str, Rule] = {
    **dict.fromkeys(
        (
            "add", "sub", "mul", "mad", "fma", "div", "rem", "min", "max", "abs", "neg", "rcp",
            "sqrt", "rsqrt", "ex2", "lg2", "sin", "cos", "tanh", "copysign", "addc", "subc",
            "madc", "sad",
        ),
        _arithmetic,
    ),
    **dict.fromkeys(
        (
            "and", "or", "xor", "not", "cnot", "shl", "shr", "shf", "bfe", "bfi", "bfind", "popc",
            "clz", "brev", "prmt", "lop3",
        ),
        _bitwise,
    ),
    "dp4a": _dot_bytes,
    "setp": _compare,
    "selp": _select,
    "mov": _move,
    "cvt": _convert,
    **dict.fromkeys(("ld", "ldu", "st"), _transfer),
    **dict.fromkeys(("atom", "red"), _atomic),
    "cvta": _convert_address,
    "isspacep": _is_space,
    "bra": _branch,
    "brx": _branch_table,
    "bar": _barrier,
    "barrier": _barrier,
    "shfl": _shuffle,
    "vote": _vote,
    "match": _match,
    "redux": _reduce_lanes,
    "elect": _elect,
    "activemask": _active_mask,
    "mma": _matrix_multiply,
    "ldmatrix": _matrix_transfer,
    "stmatrix": _matrix_transfer,
    "movmatrix": _matrix_move,
    "cp": _copy,
    "mbarrier": memory_barrier,
    "wgmma": warpgroup,
    **dict.fromkeys(("fence", "membar"), fence),
    **dict.fromkeys(
        ("nanosleep", "prefetch", "prefetchu", "griddepcontrol", "setmaxnreg"),
        _nothing,
    ),
    "trap": _trap,
    "exit": _exit,
}  # fmt: skip
