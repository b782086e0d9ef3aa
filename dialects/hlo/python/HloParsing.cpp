// Parsing and verification that report diagnostics as data, and tell what does not parse from what does not verify.
#include "dialects/hlo/python/HloModule.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/CAPI/IR.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>

namespace nb = nanobind;

namespace hlo {

namespace {

// Sections of bytecode may ask for this much.
constexpr uint64_t kBufferAlignment = 64;

std::string printed(mlir::Location location) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  location.print(stream);
  return text;
}

// "file:line:column" where there is one, however wrapped; as MLIR prints it otherwise.
std::string describe(mlir::Location location) {
  if (auto file = location->findInstanceOf<mlir::FileLineColLoc>())
    return (file.getFilename().getValue() + ":" + llvm::Twine(file.getLine()) + ":" + llvm::Twine(file.getColumn()))
        .str();
  return printed(location);
}

struct Report {
  std::string severity;
  std::string location;
  std::string message;
};

llvm::StringRef severityName(mlir::DiagnosticSeverity severity) {
  switch (severity) {
  case mlir::DiagnosticSeverity::Note:
    return "note";
  case mlir::DiagnosticSeverity::Warning:
    return "warning";
  case mlir::DiagnosticSeverity::Error:
    return "error";
  case mlir::DiagnosticSeverity::Remark:
    return "remark";
  }
  return "error";
}

// Damaged input is quoted in diagnostics, hence may not be UTF-8.
nb::object decoded(const std::string &text) {
  return nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

// Collects what is reported while it lives.
class Collector {
public:
  explicit Collector(mlir::MLIRContext *context)
      : handler(context, [this](mlir::Diagnostic &diagnostic) {
          add(diagnostic);
          for (mlir::Diagnostic &note : diagnostic.getNotes())
            add(note);
          return mlir::success();
        }) {}

  nb::list take() const {
    nb::list list;
    for (const Report &report : reports)
      list.append(nb::make_tuple(decoded(report.severity), decoded(report.location), decoded(report.message)));
    return list;
  }

private:
  void add(mlir::Diagnostic &diagnostic) {
    reports.push_back(
        {severityName(diagnostic.getSeverity()).str(), describe(diagnostic.getLocation()), diagnostic.str()});
  }

  std::vector<Report> reports;
  mlir::ScopedDiagnosticHandler handler;
};

// Contexts allow unregistered dialects for the sake of attributes; their operations mean nothing here.
mlir::LogicalResult rejectUnregistered(mlir::Operation *root) {
  mlir::WalkResult result = root->walk<mlir::WalkOrder::PreOrder>([](mlir::Operation *op) {
    if (op->isRegistered())
      return mlir::WalkResult::advance();
    mlir::emitError(op->getLoc()) << "'" << op->getName() << "' is not an operation of a known dialect";
    return mlir::WalkResult::interrupt();
  });
  return mlir::failure(result.wasInterrupted());
}

struct Unparsable {
  size_t offset;
  llvm::StringRef message;
};

// Finds what MLIR's parser asserts it is not given: a shape, such as "4x?x8x", whose elements cannot be counted in 64
// bits, and an array attribute of indices. Strings and comments are passed over.
std::optional<Unparsable> findUnparsable(llvm::StringRef text) {
  constexpr int64_t kLimit = std::numeric_limits<int64_t>::max();
  int64_t product = 1;
  bool inShape = false;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i)
        i += text[i] == '\\';
      ++i;
    } else if (c == '/' && i + 1 < text.size() && text[i + 1] == '/') {
      i = std::min(text.find('\n', i), text.size());
    } else if (llvm::isDigit(c)) {
      size_t end = i;
      while (end < text.size() && llvm::isDigit(text[end]))
        ++end;
      int64_t size = 0;
      const bool isSize = end < text.size() && text[end] == 'x';
      const bool tooLong = text.slice(i, end).getAsInteger(10, size);
      if (isSize && (tooLong || (size != 0 && product > kLimit / size)))
        return Unparsable{end, "a shape must have fewer than 2^63 elements"};
      product = isSize ? product * std::max<int64_t>(size, 1) : 1;
      inShape = isSize;
      i = end + (isSize ? 1 : 0);
      continue;
    } else {
      if (c == 'a' && text.substr(i).starts_with("array<") &&
          text.substr(i).drop_front(strlen("array<")).ltrim().starts_with("index"))
        return Unparsable{i, "an array attribute holds integers of a width, booleans or floats, not index"};
      inShape = inShape && (c == '?' || (c == 'x' && i > 0 && text[i - 1] == '?'));
      ++i;
    }
    if (!inShape)
      product = 1;
  }
  return std::nullopt;
}

mlir::LogicalResult rejectUnparsable(mlir::MLIRContext *context, llvm::StringRef source, llvm::StringRef name) {
  if (mlir::isBytecode(llvm::MemoryBufferRef(source, name)))
    return mlir::success();
  std::optional<Unparsable> found = findUnparsable(source);
  if (!found)
    return mlir::success();
  llvm::StringRef before = source.take_front(found->offset);
  const unsigned line = before.count('\n') + 1;
  const unsigned column = before.size() - (before.rfind('\n') == llvm::StringRef::npos ? 0 : before.rfind('\n') + 1);
  return mlir::emitError(mlir::FileLineColLoc::get(context, name, line, column)) << found->message;
}

// (operation, diagnostics): the operation is None when nothing could be parsed. It has not been verified.
nb::tuple parseModule(MlirContext context, nb::bytes source, const std::string &name) {
  mlir::MLIRContext *ctx = unwrap(context);
  Collector collector(ctx);
  if (mlir::failed(rejectUnparsable(ctx, llvm::StringRef(source.c_str(), source.size()), name)))
    return nb::make_tuple(nb::none(), collector.take());
  auto buffer =
      llvm::WritableMemoryBuffer::getNewUninitMemBuffer(source.size() + 1, name, llvm::Align(kBufferAlignment));
  if (!buffer)
    throw std::bad_alloc();
  std::memcpy(buffer->getBufferStart(), source.c_str(), source.size());
  buffer->getBufferStart()[source.size()] = '\0';
  // The text parser wants a terminator behind the end, which the view leaves out.
  auto view = llvm::MemoryBuffer::getMemBuffer(llvm::StringRef(buffer->getBufferStart(), source.size()), name,
                                               /*RequiresNullTerminator=*/true);
  auto manager = std::make_shared<llvm::SourceMgr>();
  manager->AddNewSourceBuffer(std::move(view), llvm::SMLoc());
  mlir::ParserConfig config(ctx, /*verifyAfterParse=*/false);
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceFile<mlir::ModuleOp>(manager, config);
  if (!module)
    return nb::make_tuple(nb::none(), collector.take());
  return nb::make_tuple(MlirModule(wrap(module.release())), collector.take());
}

// (holds, diagnostics)
nb::tuple verifyOperation(MlirOperation operation) {
  mlir::Operation *op = unwrap(operation);
  Collector collector(op->getContext());
  const bool holds = mlir::succeeded(rejectUnregistered(op)) && mlir::succeeded(mlir::verify(op));
  return nb::make_tuple(holds, collector.take());
}

} // namespace

void defineParsing(nb::module_ &module) {
  module.def("parse_module", &parseModule, nb::arg("context"), nb::arg("source"), nb::arg("name"),
             "(module or None, [(severity, location, message), ...]) from text or bytecode, not verified.");
  module.def("verify_operation", &verifyOperation, nb::arg("operation"),
             "(holds, [(severity, location, message), ...]).");
}

} // namespace hlo
