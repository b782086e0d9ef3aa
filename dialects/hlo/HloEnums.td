// Enumerations of the dialect; each is an attribute printed as `#hlo<mnemonic VALUE>`.
#ifndef HLO_ENUMS
#define HLO_ENUMS

include "HloDialect.td"
include "mlir/IR/EnumAttr.td"

class HLO_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let genSpecializedAttr = 0;
  let cppNamespace = "::hlo";
}

def HLO_Precision : HLO_Enum<"Precision", "effort an operand of a contraction is read with", [
  I32EnumAttrCase<"DEFAULT", 0>, I32EnumAttrCase<"HIGH", 1>, I32EnumAttrCase<"HIGHEST", 2>]>;
def HLO_PrecisionAttr : EnumAttr<Hlo_Dialect, HLO_Precision, "precision">;
def HLO_PrecisionConfigAttr : TypedArrayAttrBase<HLO_PrecisionAttr, "precision of each operand">;

def HLO_ResultAccuracyMode : HLO_Enum<"ResultAccuracyMode", "how accurate a result must be", [
  I32EnumAttrCase<"DEFAULT", 0>, I32EnumAttrCase<"HIGHEST", 1>, I32EnumAttrCase<"TOLERANCE", 2>]>;
def HLO_ResultAccuracyModeAttr : EnumAttr<Hlo_Dialect, HLO_ResultAccuracyMode, "result_accuracy_mode"> {
  let assemblyFormat = "`<` $value `>`";
}

def HLO_FftType : HLO_Enum<"FftType", "kind of Fourier transform", [
  I32EnumAttrCase<"FFT", 0>, I32EnumAttrCase<"IFFT", 1>, I32EnumAttrCase<"RFFT", 2>, I32EnumAttrCase<"IRFFT", 3>]>;
def HLO_FftTypeAttr : EnumAttr<Hlo_Dialect, HLO_FftType, "fft_type">;

def HLO_ComparisonDirection : HLO_Enum<"ComparisonDirection", "relation that a comparison tests", [
  I32EnumAttrCase<"EQ", 0>, I32EnumAttrCase<"NE", 1>, I32EnumAttrCase<"GE", 2>, I32EnumAttrCase<"GT", 3>,
  I32EnumAttrCase<"LE", 4>, I32EnumAttrCase<"LT", 5>]>;
def HLO_ComparisonDirectionAttr : EnumAttr<Hlo_Dialect, HLO_ComparisonDirection, "comparison_direction">;

def HLO_ComparisonType : HLO_Enum<"ComparisonType", "order that a comparison uses", [
  I32EnumAttrCase<"NOTYPE", 0>, I32EnumAttrCase<"FLOAT", 1>, I32EnumAttrCase<"TOTALORDER", 2>,
  I32EnumAttrCase<"SIGNED", 3>, I32EnumAttrCase<"UNSIGNED", 4>]>;
def HLO_ComparisonTypeAttr : EnumAttr<Hlo_Dialect, HLO_ComparisonType, "comparison_type">;

def HLO_Transpose : HLO_Enum<"Transpose", "how the matrix of a triangular system is read", [
  I32EnumAttrCase<"TRANSPOSE_INVALID", 0>, I32EnumAttrCase<"NO_TRANSPOSE", 1>, I32EnumAttrCase<"TRANSPOSE", 2>,
  I32EnumAttrCase<"ADJOINT", 3>]>;
def HLO_TransposeAttr : EnumAttr<Hlo_Dialect, HLO_Transpose, "transpose">;

def HLO_RngDistribution : HLO_Enum<"RngDistribution", "distribution of random numbers", [
  I32EnumAttrCase<"UNIFORM", 1>, I32EnumAttrCase<"NORMAL", 2>]>;
def HLO_RngDistributionAttr : EnumAttr<Hlo_Dialect, HLO_RngDistribution, "rng_distribution">;

def HLO_RngAlgorithm : HLO_Enum<"RngAlgorithm", "algorithm of a random bit generator", [
  I32EnumAttrCase<"DEFAULT", 0>, I32EnumAttrCase<"THREE_FRY", 1>, I32EnumAttrCase<"PHILOX", 2>]>;
def HLO_RngAlgorithmAttr : EnumAttr<Hlo_Dialect, HLO_RngAlgorithm, "rng_algorithm">;

// The calling convention of a custom call is a plain integer attribute in StableHLO's text.
def HLO_CustomCallApiVersionAttr : I32EnumAttr<"CustomCallApiVersion", "calling convention of a custom call", [
  I32EnumAttrCase<"API_VERSION_UNSPECIFIED", 0>, I32EnumAttrCase<"API_VERSION_ORIGINAL", 1>,
  I32EnumAttrCase<"API_VERSION_STATUS_RETURNING", 2>, I32EnumAttrCase<"API_VERSION_STATUS_RETURNING_UNIFIED", 3>,
  I32EnumAttrCase<"API_VERSION_TYPED_FFI", 4>]> {
  let cppNamespace = "::hlo";
}

#endif // HLO_ENUMS
