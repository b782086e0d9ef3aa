#include "guarded_passes.h"

#include "jit.h"

#include "mlir-c/Diagnostics.h"
#include "mlir-c/Pass.h"
#include "llvm/Support/CrashRecoveryContext.h"

namespace hlo::runtime {

namespace {

void append(MlirStringRef text, void *into) { static_cast<std::string *>(into)->append(text.data, text.length); }

MlirLogicalResult keepError(MlirDiagnostic diagnostic, void *into) {
  std::string &errors = *static_cast<std::string *>(into);
  if (mlirDiagnosticGetSeverity(diagnostic) == MlirDiagnosticError) {
    if (!errors.empty())
      errors += '\n';
    mlirDiagnosticPrint(diagnostic, append, &errors);
  }
  return mlirLogicalResultSuccess();
}

} // namespace

PassesEnd runGuarded(MlirOperation operation, const std::string &pipeline, bool verify) {
  MlirContext context = mlirOperationGetContext(operation);
  MlirPassManager passes = mlirPassManagerCreate(context);
  mlirPassManagerEnableVerifier(passes, verify);
  std::string errors, fatal;
  const MlirStringRef text = mlirStringRefCreate(pipeline.data(), pipeline.size());
  if (mlirLogicalResultIsFailure(
          mlirParsePassPipeline(mlirPassManagerGetAsOpPassManager(passes), text, append, &errors))) {
    mlirPassManagerDestroy(passes);
    return {PassesEnd::Failed, errors};
  }
  const MlirDiagnosticHandlerID handler = mlirContextAttachDiagnosticHandler(context, keepError, &errors, nullptr);
  bool isFatal = false;
  MlirLogicalResult result = mlirLogicalResultFailure();
  FatalErrorGuard fatalErrors;
  llvm::CrashRecoveryContext::Enable();
  llvm::CrashRecoveryContext crashes;
  const bool isAlive = crashes.RunSafely([&] {
    try {
      result = mlirPassManagerRunOnOp(passes, operation);
    } catch (const JitError &error) {
      isFatal = true;
      fatal = error.what();
    }
  });
  llvm::CrashRecoveryContext::Disable();
  if (!isAlive || isFatal)
    return {PassesEnd::Crashed, isFatal ? fatal : errors};
  mlirContextDetachDiagnosticHandler(context, handler);
  mlirPassManagerDestroy(passes);
  return {mlirLogicalResultIsSuccess(result) ? PassesEnd::Done : PassesEnd::Failed, errors};
}

} // namespace hlo::runtime
