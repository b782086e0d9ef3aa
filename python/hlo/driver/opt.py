"""What `hlo-opt` does: read programs, run passes on them, print them."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hlo import ir
from hlo.diagnostics import CompileError
from hlo.driver import diagnostic_expectations as expectations
from hlo.driver.command_line import read_input, write_output
from hlo.driver.gpu_output import GpuOutput, gpu_output
from hlo.driver.late_phases import SPLIT_MARKER, late_phase_text
from hlo.driver.pass_pipeline import Instrumentation, PassTiming, PipelineElement, run_pipeline
from hlo.driver.phases import Phase
from hlo.driver.preconditions import depth_as_error
from hlo.driver.program_text import bytecode_of, text_of
from hlo.driver.reports import NO_REPORTS, Reports, report_text
from hlo.importers.program import is_bytecode, load_program
from hlo.passes.hlo_to_host.program import mark_donated

NOTE = "\n  note: "


@dataclasses.dataclass(frozen=True)
class OptOptions:
    """The choices of one run of `hlo-opt`. Pass names in the printing options are kebab-case.

    Attributes:
        late_phase: a phase from `Phase.HOST` on, to which the program is compiled after the passes.
        reports: what to print or draw in place of the program.
        gpu: what to print of the program compiled for a GPU.
    """

    input: str = "-"
    output: str = "-"
    pipeline: tuple[PipelineElement, ...] = ()
    split_input_file: bool = False
    verify_diagnostics: bool = False
    verify_each: bool = True
    check_changed: bool = False
    disabled_passes: frozenset[str] = frozenset()
    print_before: frozenset[str] = frozenset()
    print_after: frozenset[str] = frozenset()
    print_after_all: bool = False
    print_after_change: bool = False
    dump_dir: Path | None = None
    timing: bool = False
    generic: bool = False
    locations: bool = False
    elide_elements: int | None = None
    emit_bytecode: bool = False
    late_phase: Phase | None = None
    reports: Reports = NO_REPORTS
    gpu: GpuOutput | None = None


def run_opt(options: OptOptions) -> int:
    """Runs `hlo-opt`. The exit status: 0 when the program was printed, or every diagnostic was
    expected.

    Raises:
        CompileError: the program or a pass is at fault, unless `verify_diagnostics` expects it.
    """
    data = read_input(options.input)
    source_name = "-" if options.input == "-" else options.input
    chunks = split_chunks(data) if options.split_input_file else [data]
    if options.verify_diagnostics:
        return _verify_diagnostics(chunks, source_name, options)
    outputs: list[str | bytes] = []
    for index, chunk in enumerate(chunks):
        module = load_program(chunk, source_name=source_name)
        mark_donated(module, options.reports.donate)
        watch = _instrumentation(options, index, module)
        with depth_as_error():
            timings = run_pipeline(module, options.pipeline, watch)
            outputs.append(_printed(module, options))
        if options.timing:
            sys.stderr.write(timing_report(timings))
    write_output(options.output, _joined(outputs))
    return 0


def split_chunks(data: bytes) -> list[bytes]:
    """The parts of a file between `// -----` lines, each padded with blank lines so that line
    numbers stay.
    """
    if is_bytecode(data):
        return [data]
    chunks: list[bytes] = []
    current: list[bytes] = []
    start = 0
    lines = data.split(b"\n")
    for number, line in enumerate(lines):
        if line.rstrip() == SPLIT_MARKER.encode():
            chunks.append(b"\n" * start + b"\n".join(current))
            current, start = [], number + 1
        else:
            current.append(line)
    chunks.append(b"\n" * start + b"\n".join(current))
    return [chunk for chunk in chunks if chunk.strip()] or [b""]


def timing_report(timings: Sequence[PassTiming]) -> str:
    """A table of passes and their times, and the sum."""
    total = sum(timing.seconds for timing in timings)
    rows = [
        f"{timing.seconds:10.4f}  {100 * timing.seconds / total if total else 0:5.1f}%  "
        f"{timing.name}{'' if timing.changed else '  (no change)'}\n"
        for timing in timings
    ]
    return "   seconds   share  pass\n" + "".join(rows) + f"{total:10.4f}  100.0%  total\n"


def _joined(outputs: Sequence[str | bytes]) -> str | bytes:
    if len(outputs) == 1:
        return outputs[0]
    texts = [output for output in outputs if isinstance(output, str)]
    if len(texts) != len(outputs):
        raise CompileError(
            "--emit-bytecode writes one program: the input file was split into several"
        )
    return f"\n{SPLIT_MARKER}\n".join(texts)


def _printed(module: ir.Module, options: OptOptions) -> str | bytes:
    if options.reports.any:
        gpu = options.gpu
        return report_text(
            module, options.reports, options.disabled_passes, target=gpu.target if gpu else "",
            tf32=gpu is not None and gpu.tf32,
        )  # fmt: skip
    if options.gpu is not None:
        return gpu_output(module, options.gpu, options.reports)
    if options.late_phase is not None:
        if options.emit_bytecode:
            raise CompileError(
                f"--emit-bytecode writes one module: {options.late_phase.label} programs are two"
            )
        return late_phase_text(
            module, options.late_phase, options.reports.donate, options.reports.reuse
        )
    if options.emit_bytecode:
        return bytecode_of(module)
    return text_of(
        module,
        generic=options.generic,
        locations=options.locations,
        elide_elements=options.elide_elements,
    )


def _instrumentation(options: OptOptions, chunk: int, module: ir.Module) -> Instrumentation:
    dump = _dumper(options, chunk)
    if dump is not None:
        dump(0, "input", module)
    last = str(module) if options.print_after_change else ""

    def show(when: str, name: str, module: ir.Module) -> None:
        sys.stdout.flush()
        sys.stderr.write(f"// ----- IR {when} {name} ----- //\n{module}\n")

    def before(position: int, element: PipelineElement, module: ir.Module) -> None:
        if element.name in options.print_before:
            show("before", element.name, module)

    def after(position: int, element: PipelineElement, module: ir.Module, changed: bool) -> None:
        nonlocal last
        wanted = options.print_after_all or element.name in options.print_after
        if options.print_after_change and changed:
            text = str(module)
            wanted, last = wanted or text != last, text
        if wanted:
            show("after", element.name, module)
        if dump is not None:
            dump(position + 1, element.name, module)

    return Instrumentation(
        verify_each=options.verify_each,
        check_changed=options.check_changed,
        disabled=options.disabled_passes,
        before=before,
        after=after,
    )


def _dumper(options: OptOptions, chunk: int) -> Callable[[int, str, ir.Module], None] | None:
    if options.dump_dir is None:
        return None
    folder = options.dump_dir / f"program-{chunk}" if options.split_input_file else options.dump_dir
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CompileError(f"cannot make the folder {folder}: {error.strerror}") from error

    def dump(position: int, name: str, module: ir.Module) -> None:
        file_name = "".join(
            letter if letter.isalnum() or letter in "-_" else "_" for letter in name
        )
        (folder / f"{position:02d}-{file_name}.mlir").write_text(str(module))

    return dump


def _verify_diagnostics(chunks: Sequence[bytes], source_name: str, options: OptOptions) -> int:
    faults: list[str] = []
    for chunk in chunks:
        found = _diagnostics_of(chunk, source_name, options)
        text = chunk.decode("utf-8", "replace")
        faults.extend(expectations.unmet(expectations.parse_expectations(text), found))
    for fault in faults:
        sys.stderr.write(f"{source_name}: {fault}\n")
    return 1 if faults else 0


def _diagnostics_of(
    chunk: bytes, source_name: str, options: OptOptions
) -> list[expectations.FoundDiagnostic]:
    found: list[expectations.FoundDiagnostic] = []

    def collect(diagnostic: ir.Diagnostic) -> bool:
        found.append(_found(diagnostic))
        found.extend(_found(note) for note in diagnostic.notes)
        return True

    context = ir.make_context()
    handler: Any = context.attach_diagnostic_handler(collect)
    try:
        module = load_program(chunk, context=context, source_name=source_name)
        with depth_as_error():
            run_pipeline(module, options.pipeline, Instrumentation(verify_each=options.verify_each))
    except CompileError as error:
        found.extend(_raised(error))
    finally:
        handler.detach()
    return found


def _found(diagnostic: ir.Diagnostic) -> expectations.FoundDiagnostic:
    severity = str(diagnostic.severity).rpartition(".")[2].lower()
    line = expectations.line_of(str(diagnostic.location))
    return expectations.FoundDiagnostic(severity, line, diagnostic.message)


def _raised(error: CompileError) -> list[expectations.FoundDiagnostic]:
    """The diagnostics in an exception: its message, and the notes that `hlo.ir` adds as lines."""
    line = expectations.line_of(error.location)
    message, *notes = error.message.split(NOTE)
    what = "" if error.op is None else f"'{error.op}' op "
    found = [expectations.FoundDiagnostic("error", line, what + message)]
    for note in notes:
        own_line = expectations.line_of(note)
        found.append(
            expectations.FoundDiagnostic("note", line if own_line is None else own_line, note)
        )
    return found
