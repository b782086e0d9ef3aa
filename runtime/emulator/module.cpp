// The Python module `hlo_native._emulator`: machine.h for hlo.gpu, which decodes programs and checks preconditions.

#include "fibers.h"
#include "machine.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>

namespace nb = nanobind;
using namespace hlo::emulator;

namespace {

template <typename T, size_t N> using Table = nb::ndarray<const T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;

/// Columns of the instruction table, as hlo.gpu.ptx.decode fills them.
enum Column {
  Name,
  FirstOperand,
  OperandCount,
  Guard,
  GuardNegated,
  Leader,
  Aligned,
  ControlKind,
  Members,
  Flags,
  Target,
  TableIndex,
  Line,
  DetailBits,
  Columns
};

Program *makeProgram(const std::vector<std::string> &names, Table<int32_t, 2> instructions,
                     Table<int64_t, 1> immediates, Table<int32_t, 2> operands, std::vector<std::vector<int32_t>> tables,
                     nb::bytes constants, std::vector<std::tuple<int, int>> specials, int registerBytes,
                     int sharedBytes, int localBytes) {
  if (instructions.shape(1) != Columns || operands.shape(1) != 2 || immediates.shape(0) != instructions.shape(0))
    throw std::invalid_argument("tables of the wrong shape");
  auto made = std::make_unique<Program>();
  std::vector<Handler> run;
  for (const std::string &name : names) {
    auto found = handlers().find(name);
    if (!name.empty() && found == handlers().end())
      throw std::invalid_argument("no handler " + name);
    run.push_back(name.empty() ? nullptr : found->second);
  }
  for (size_t k = 0; k < operands.shape(0); ++k)
    made->operands.push_back({operands.data()[2 * k], operands.data()[2 * k + 1]});
  for (size_t k = 0; k < instructions.shape(0); ++k) {
    const int32_t *row = instructions.data() + k * Columns;
    Instruction i;
    i.run = run.at(row[Name]);
    i.operands = made->operands.data() + row[FirstOperand];
    i.operandCount = row[OperandCount];
    i.guard = row[Guard];
    i.guardNegated = row[GuardNegated];
    i.leader = row[Leader];
    i.aligned = row[Aligned];
    i.control = static_cast<Control>(row[ControlKind]);
    i.members = row[Members];
    i.flags = static_cast<uint32_t>(row[Flags]);
    i.target = row[Target];
    i.table = row[TableIndex];
    i.line = row[Line];
    i.detail = row[DetailBits];
    i.immediate = immediates.data()[k];
    made->code.push_back(i);
  }
  made->tables = std::move(tables);
  made->constants.assign(constants.c_str(), constants.c_str() + constants.size());
  for (auto [special, offset] : specials)
    made->specials.emplace_back(special, offset);
  made->registerBytes = registerBytes;
  made->sharedBytes = sharedBytes;
  made->localBytes = localBytes;
  return made.release();
}

/// (handler or empty, widths, first result, results, members, flags) of an operation of fibers.
using OperationRow = std::tuple<std::string, std::vector<int>, int, int, int, uint32_t>;

std::vector<WarpOperation> operationsOf(const std::vector<OperationRow> &rows) {
  std::vector<WarpOperation> made;
  for (const auto &[name, widths, firstResult, results, members, flags] : rows) {
    auto found = handlers().find(name);
    if (!name.empty() && found == handlers().end())
      throw std::invalid_argument("no handler " + name);
    if (widths.size() > MostFiberOperands)
      throw std::invalid_argument("too many operands of " + name);
    made.push_back({name.empty() ? nullptr : found->second, widths, firstResult, results, members, flags});
  }
  return made;
}

void defineFibers(nb::module_ &module) {
  module.def("fiber_symbols", [] {
    nb::dict result;
    for (const auto &[name, address] : fiberSymbols())
      result[name] = reinterpret_cast<uint64_t>(address);
    return result;
  });
  module.def(
      "launch_fibers",
      [](uint64_t entry, const std::vector<OperationRow> &operations, Memory &memory, std::array<uint32_t, 3> grid,
         std::array<uint32_t, 3> block, const std::vector<uint64_t> &arguments,
         const std::vector<std::tuple<uint64_t, uint64_t>> &shared,
         const std::vector<std::tuple<uint64_t, uint64_t, bool>> &ranges, uint64_t schedule) {
        FiberLaunch launch{entry, arguments, {grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]}, {}, schedule};
        for (auto [address, bytes] : shared)
          launch.shared.push_back({address, bytes});
        const std::vector<WarpOperation> known = operationsOf(operations);
        nb::gil_scoped_release released;
        memory.restrict(ranges);
        return launchFibers(launch, known, memory);
      },
      nb::arg("entry"), nb::arg("operations"), nb::arg("memory"), nb::arg("grid"), nb::arg("block"),
      nb::arg("arguments"), nb::arg("shared"), nb::arg("ranges"), nb::arg("schedule"));
}

} // namespace

NB_MODULE(_emulator, module) {
  module.doc() = "GPUs that the processor plays: an interpreter of decoded PTX, and fibers for machine code.";

  // Faults carry (kind, line, block, thread, message), for hlo.gpu to name the kernel and the text of the line.
  static nb::object faultType = nb::exception<Fault>(module, "Fault");
  nb::register_exception_translator([](const std::exception_ptr &pointer, void *) {
    try {
      std::rethrow_exception(pointer);
    } catch (const Fault &fault) {
      nb::object values =
          nb::make_tuple(fault.kind, fault.line, nb::cast(fault.block), nb::cast(fault.thread), fault.what());
      PyErr_SetObject(faultType.ptr(), values.ptr());
    }
  });

  nb::class_<Program>(module, "Program")
      .def_ro("shared_bytes", &Program::sharedBytes)
      .def_prop_ro("instructions", [](const Program &program) { return program.code.size(); });
  module.def("make_program", makeProgram, nb::rv_policy::take_ownership);
  module.def("handlers", [] {
    std::vector<std::string> names;
    for (const auto &[name, handler] : handlers())
      names.push_back(name);
    return names;
  });

  nb::class_<Memory>(module, "Memory")
      .def(nb::init<>())
      .def("allocate", &Memory::allocate)
      .def("adopt", &Memory::adopt)
      .def("release", &Memory::release)
      .def_prop_ro("allocated_bytes", &Memory::allocatedBytes)
      .def("write",
           [](Memory &memory, uint64_t address, Table<uint8_t, 1> data) {
             std::memcpy(memory.at(address, data.size()), data.data(), data.size());
           })
      .def("read",
           [](Memory &memory, uint64_t address, nb::ndarray<uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> data) {
             std::memcpy(data.data(), memory.at(address, data.size()), data.size());
           })
      .def("copy", [](Memory &memory, uint64_t to, uint64_t from, uint64_t bytes) {
        std::memmove(memory.at(to, bytes), memory.at(from, bytes), bytes);
      });

  defineFibers(module);
  module.def(
      "launch",
      [](const Program &program, Memory &memory, std::array<uint32_t, 3> grid, std::array<uint32_t, 3> block,
         uint32_t sharedBytes, nb::bytes parameters, const std::vector<std::tuple<uint64_t, uint64_t, bool>> &ranges,
         uint64_t seed, bool races, uint64_t limit) {
        const std::vector<char> copied(parameters.c_str(), parameters.c_str() + parameters.size());
        Options options;
        options.seed = seed;
        options.races = races;
        options.instructionLimit = limit;
        nb::gil_scoped_release released;
        memory.restrict(ranges);
        return launch(program, memory, {grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]}, sharedBytes, copied,
                      options)
            .instructions;
      },
      nb::arg("program"), nb::arg("memory"), nb::arg("grid"), nb::arg("block"), nb::arg("shared_bytes"),
      nb::arg("parameters"), nb::arg("ranges"), nb::arg("seed"), nb::arg("races"), nb::arg("instruction_limit"));
}
