// What MLIR reports, as text for an exception.
#pragma once

#include "mlir-c/Diagnostics.h"
#include "mlir-c/IR.h"

#include <string>

namespace hlo::runtime {

// Collects the errors MLIR reports while it is alive; warnings and remarks pass on to other handlers.
class DiagnosticCollector {
public:
  explicit DiagnosticCollector(MlirContext context) : context(context) {
    id = mlirContextAttachDiagnosticHandler(context, &DiagnosticCollector::handle, this, nullptr);
  }
  ~DiagnosticCollector() { mlirContextDetachDiagnosticHandler(context, id); }
  DiagnosticCollector(const DiagnosticCollector &) = delete;
  DiagnosticCollector &operator=(const DiagnosticCollector &) = delete;

  std::string text;

private:
  static void append(MlirStringRef piece, void *text) {
    static_cast<std::string *>(text)->append(piece.data, piece.length);
  }

  static MlirLogicalResult handle(MlirDiagnostic diagnostic, void *self) {
    if (mlirDiagnosticGetSeverity(diagnostic) != MlirDiagnosticError)
      return mlirLogicalResultFailure();
    std::string &text = static_cast<DiagnosticCollector *>(self)->text;
    if (!text.empty())
      text += '\n';
    mlirLocationPrint(mlirDiagnosticGetLocation(diagnostic), append, &text);
    text += ": ";
    mlirDiagnosticPrint(diagnostic, append, &text);
    return mlirLogicalResultSuccess();
  }

  MlirContext context;
  MlirDiagnosticHandlerID id;
};

} // namespace hlo::runtime
