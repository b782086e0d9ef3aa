"""A module as text or bytecode."""

from __future__ import annotations

import io

from hlo import ir


def text_of(
    module: ir.Module,
    *,
    generic: bool = False,
    locations: bool = False,
    elide_elements: int | None = None,
) -> str:
    """The module's assembly. Constants of more than `elide_elements` elements are left out when
    it is given.
    """
    return str(
        module.operation.get_asm(
            print_generic_op_form=generic,
            enable_debug_info=locations,
            large_elements_limit=elide_elements,
            large_resource_limit=elide_elements,
            assume_verified=True,
        )
    )


def name_of(module: ir.Module) -> str:
    """The module's name; `program` without one."""
    return ir.attributes.string(module.operation, "sym_name", "program")


def bytecode_of(module: ir.Module) -> bytes:
    """The module as MLIR bytecode."""
    stream = io.BytesIO()
    module.operation.write_bytecode(stream)
    return stream.getvalue()
