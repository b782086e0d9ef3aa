// The Python module `_dialect`: registers the dialect and gives fast access to its attributes and constants.
#include "dialects/hlo/python/HloModule.h"

#include "dialects/hlo/HloDialect.h"
#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Registration.h"
#include "mlir/CAPI/Support.h"
#include "llvm/ADT/TypeSwitch.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace mlir::python::nanobind_adaptors;

extern "C" {
MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(Hlo, hlo);
}
MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(Hlo, hlo, hlo::HloDialect)

namespace {

using Dims = std::vector<int64_t>;

template <typename Attr> Attr unwrapAs(MlirAttribute attribute) { return mlir::cast<Attr>(unwrap(attribute)); }

template <typename Attr> bool isAttribute(MlirAttribute attribute) { return mlir::isa<Attr>(unwrap(attribute)); }

nb::tuple toTuple(llvm::ArrayRef<int64_t> dims) {
  nb::list list;
  for (int64_t dim : dims)
    list.append(dim);
  return nb::tuple(list);
}

// Builds an attribute whose verifier may object: its message becomes a ValueError.
template <typename Attr, typename... Args> MlirAttribute getChecked(MlirContext context, Args... args) {
  mlir::MLIRContext *ctx = unwrap(context);
  std::string message;
  mlir::ScopedDiagnosticHandler handler(ctx, [&](mlir::Diagnostic &diagnostic) {
    message = diagnostic.str();
    return mlir::success();
  });
  mlir::Location unknown = mlir::UnknownLoc::get(ctx);
  Attr attribute = Attr::getChecked([&] { return mlir::emitError(unknown); }, ctx, args...);
  if (!attribute)
    throw nb::value_error(message.c_str());
  return wrap(attribute);
}

template <typename Attr> mlir_attribute_subclass defineAttribute(nb::module_ &module, const char *name) {
  return mlir_attribute_subclass(module, name, isAttribute<Attr>, [] { return wrap(Attr::getTypeID()); });
}

#define HLO_DIMS(Attr, property, getter)                                                                               \
  def_property_readonly(property, [](MlirAttribute self) { return toTuple(unwrapAs<Attr>(self).getter()); })
#define HLO_FIELD(Attr, property, getter)                                                                              \
  def_property_readonly(property, [](MlirAttribute self) { return unwrapAs<Attr>(self).getter(); })

void defineDot(nb::module_ &module) {
  using Attr = hlo::DotDimensionNumbersAttr;
  defineAttribute<Attr>(module, "DotDimensionNumbers")
      .def_classmethod(
          "get",
          [](const nb::object &cls, const Dims &lhsBatching, const Dims &rhsBatching, const Dims &lhsContracting,
             const Dims &rhsContracting, MlirContext context) {
            return cls(wrap(
                mlir::Attribute(Attr::get(unwrap(context), lhsBatching, rhsBatching, lhsContracting, rhsContracting))));
          },
          nb::arg("cls"), nb::arg("lhs_batching_dimensions") = Dims(), nb::arg("rhs_batching_dimensions") = Dims(),
          nb::arg("lhs_contracting_dimensions") = Dims(), nb::arg("rhs_contracting_dimensions") = Dims(),
          nb::arg("context") = nb::none())
      .HLO_DIMS(Attr, "lhs_batching_dimensions", getLhsBatchingDimensions)
      .HLO_DIMS(Attr, "rhs_batching_dimensions", getRhsBatchingDimensions)
      .HLO_DIMS(Attr, "lhs_contracting_dimensions", getLhsContractingDimensions)
      .HLO_DIMS(Attr, "rhs_contracting_dimensions", getRhsContractingDimensions);

  using Ragged = hlo::RaggedDotDimensionNumbersAttr;
  defineAttribute<Ragged>(module, "RaggedDotDimensionNumbers")
      .def_classmethod(
          "get",
          [](const nb::object &cls, const Dims &lhsBatching, const Dims &rhsBatching, const Dims &lhsContracting,
             const Dims &rhsContracting, const Dims &lhsRagged, const Dims &rhsGroup, MlirContext context) {
            return cls(wrap(mlir::Attribute(Ragged::get(unwrap(context), lhsBatching, rhsBatching, lhsContracting,
                                                        rhsContracting, lhsRagged, rhsGroup))));
          },
          nb::arg("cls"), nb::arg("lhs_batching_dimensions") = Dims(), nb::arg("rhs_batching_dimensions") = Dims(),
          nb::arg("lhs_contracting_dimensions") = Dims(), nb::arg("rhs_contracting_dimensions") = Dims(),
          nb::arg("lhs_ragged_dimensions") = Dims(), nb::arg("rhs_group_dimensions") = Dims(),
          nb::arg("context") = nb::none())
      .HLO_DIMS(Ragged, "lhs_batching_dimensions", getLhsBatchingDimensions)
      .HLO_DIMS(Ragged, "rhs_batching_dimensions", getRhsBatchingDimensions)
      .HLO_DIMS(Ragged, "lhs_contracting_dimensions", getLhsContractingDimensions)
      .HLO_DIMS(Ragged, "rhs_contracting_dimensions", getRhsContractingDimensions)
      .HLO_DIMS(Ragged, "lhs_ragged_dimensions", getLhsRaggedDimensions)
      .HLO_DIMS(Ragged, "rhs_group_dimensions", getRhsGroupDimensions);

  using Algorithm = hlo::DotAlgorithmAttr;
  defineAttribute<Algorithm>(module, "DotAlgorithm")
      .def_property_readonly("lhs_precision_type",
                             [](MlirAttribute self) { return wrap(unwrapAs<Algorithm>(self).getLhsPrecisionType()); })
      .def_property_readonly("rhs_precision_type",
                             [](MlirAttribute self) { return wrap(unwrapAs<Algorithm>(self).getRhsPrecisionType()); })
      .def_property_readonly("accumulation_type",
                             [](MlirAttribute self) { return wrap(unwrapAs<Algorithm>(self).getAccumulationType()); })
      .HLO_FIELD(Algorithm, "lhs_component_count", getLhsComponentCount)
      .HLO_FIELD(Algorithm, "rhs_component_count", getRhsComponentCount)
      .HLO_FIELD(Algorithm, "num_primitive_operations", getNumPrimitiveOperations)
      .HLO_FIELD(Algorithm, "allow_imprecise_accumulation", getAllowImpreciseAccumulation);
}

void defineGather(nb::module_ &module) {
  using Attr = hlo::GatherDimensionNumbersAttr;
  defineAttribute<Attr>(module, "GatherDimensionNumbers")
      .def_classmethod(
          "get",
          [](const nb::object &cls, const Dims &offset, const Dims &collapsed, const Dims &operandBatching,
             const Dims &indicesBatching, const Dims &map, int64_t vectorDim, MlirContext context) {
            return cls(wrap(mlir::Attribute(
                Attr::get(unwrap(context), offset, collapsed, operandBatching, indicesBatching, map, vectorDim))));
          },
          nb::arg("cls"), nb::arg("offset_dims") = Dims(), nb::arg("collapsed_slice_dims") = Dims(),
          nb::arg("operand_batching_dims") = Dims(), nb::arg("start_indices_batching_dims") = Dims(),
          nb::arg("start_index_map") = Dims(), nb::arg("index_vector_dim") = 0, nb::arg("context") = nb::none())
      .HLO_DIMS(Attr, "offset_dims", getOffsetDims)
      .HLO_DIMS(Attr, "collapsed_slice_dims", getCollapsedSliceDims)
      .HLO_DIMS(Attr, "operand_batching_dims", getOperandBatchingDims)
      .HLO_DIMS(Attr, "start_indices_batching_dims", getStartIndicesBatchingDims)
      .HLO_DIMS(Attr, "start_index_map", getStartIndexMap)
      .HLO_FIELD(Attr, "index_vector_dim", getIndexVectorDim);

  using Scatter = hlo::ScatterDimensionNumbersAttr;
  defineAttribute<Scatter>(module, "ScatterDimensionNumbers")
      .def_classmethod(
          "get",
          [](const nb::object &cls, const Dims &window, const Dims &inserted, const Dims &inputBatching,
             const Dims &indicesBatching, const Dims &map, int64_t vectorDim, MlirContext context) {
            return cls(wrap(mlir::Attribute(
                Scatter::get(unwrap(context), window, inserted, inputBatching, indicesBatching, map, vectorDim))));
          },
          nb::arg("cls"), nb::arg("update_window_dims") = Dims(), nb::arg("inserted_window_dims") = Dims(),
          nb::arg("input_batching_dims") = Dims(), nb::arg("scatter_indices_batching_dims") = Dims(),
          nb::arg("scatter_dims_to_operand_dims") = Dims(), nb::arg("index_vector_dim") = 0,
          nb::arg("context") = nb::none())
      .HLO_DIMS(Scatter, "update_window_dims", getUpdateWindowDims)
      .HLO_DIMS(Scatter, "inserted_window_dims", getInsertedWindowDims)
      .HLO_DIMS(Scatter, "input_batching_dims", getInputBatchingDims)
      .HLO_DIMS(Scatter, "scatter_indices_batching_dims", getScatterIndicesBatchingDims)
      .HLO_DIMS(Scatter, "scatter_dims_to_operand_dims", getScatterDimsToOperandDims)
      .HLO_FIELD(Scatter, "index_vector_dim", getIndexVectorDim);
}

void defineConvolution(nb::module_ &module) {
  using Attr = hlo::ConvDimensionNumbersAttr;
  defineAttribute<Attr>(module, "ConvDimensionNumbers")
      .def_classmethod(
          "get",
          [](const nb::object &cls, int64_t inputBatch, int64_t inputFeature, const Dims &inputSpatial,
             int64_t kernelInput, int64_t kernelOutput, const Dims &kernelSpatial, int64_t outputBatch,
             int64_t outputFeature, const Dims &outputSpatial, MlirContext context) {
            return cls(getChecked<Attr>(context, inputBatch, inputFeature, llvm::ArrayRef<int64_t>(inputSpatial),
                                        kernelInput, kernelOutput, llvm::ArrayRef<int64_t>(kernelSpatial), outputBatch,
                                        outputFeature, llvm::ArrayRef<int64_t>(outputSpatial)));
          },
          nb::arg("cls"), nb::arg("input_batch_dimension"), nb::arg("input_feature_dimension"),
          nb::arg("input_spatial_dimensions"), nb::arg("kernel_input_feature_dimension"),
          nb::arg("kernel_output_feature_dimension"), nb::arg("kernel_spatial_dimensions"),
          nb::arg("output_batch_dimension"), nb::arg("output_feature_dimension"), nb::arg("output_spatial_dimensions"),
          nb::arg("context") = nb::none())
      .HLO_FIELD(Attr, "input_batch_dimension", getInputBatchDimension)
      .HLO_FIELD(Attr, "input_feature_dimension", getInputFeatureDimension)
      .HLO_DIMS(Attr, "input_spatial_dimensions", getInputSpatialDimensions)
      .HLO_FIELD(Attr, "kernel_input_feature_dimension", getKernelInputFeatureDimension)
      .HLO_FIELD(Attr, "kernel_output_feature_dimension", getKernelOutputFeatureDimension)
      .HLO_DIMS(Attr, "kernel_spatial_dimensions", getKernelSpatialDimensions)
      .HLO_FIELD(Attr, "output_batch_dimension", getOutputBatchDimension)
      .HLO_FIELD(Attr, "output_feature_dimension", getOutputFeatureDimension)
      .HLO_DIMS(Attr, "output_spatial_dimensions", getOutputSpatialDimensions);
}

void defineOthers(nb::module_ &module) {
  using Layout = hlo::LayoutAttr;
  defineAttribute<Layout>(module, "Layout")
      .def_classmethod(
          "get",
          [](const nb::object &cls, const Dims &minorToMajor, MlirContext context) {
            return cls(getChecked<Layout>(context, llvm::ArrayRef<int64_t>(minorToMajor)));
          },
          nb::arg("cls"), nb::arg("minor_to_major"), nb::arg("context") = nb::none())
      .HLO_DIMS(Layout, "minor_to_major", getMinorToMajor);

  using Bounds = hlo::BoundsAttr;
  defineAttribute<Bounds>(module, "Bounds")
      .def_classmethod(
          "get",
          [](const nb::object &cls, const std::vector<std::optional<int64_t>> &bounds, MlirContext context) {
            llvm::SmallVector<int64_t> sizes;
            for (std::optional<int64_t> bound : bounds)
              sizes.push_back(bound.value_or(mlir::ShapedType::kDynamic));
            return cls(wrap(mlir::Attribute(Bounds::get(unwrap(context), sizes))));
          },
          nb::arg("cls"), nb::arg("bounds"), nb::arg("context") = nb::none())
      .def_property_readonly("bounds", [](MlirAttribute self) {
        nb::list list;
        for (int64_t bound : unwrapAs<Bounds>(self).getBounds()) {
          if (mlir::ShapedType::isDynamic(bound))
            list.append(nb::none());
          else
            list.append(bound);
        }
        return nb::tuple(list);
      });

  using Channel = hlo::ChannelHandleAttr;
  defineAttribute<Channel>(module, "ChannelHandle")
      .def_classmethod(
          "get",
          [](const nb::object &cls, int64_t handle, int64_t type, MlirContext context) {
            return cls(wrap(mlir::Attribute(Channel::get(unwrap(context), handle, type))));
          },
          nb::arg("cls"), nb::arg("handle"), nb::arg("type"), nb::arg("context") = nb::none())
      .HLO_FIELD(Channel, "handle", getHandle)
      .HLO_FIELD(Channel, "channel_type", getType);

  using Alias = hlo::OutputOperandAliasAttr;
  defineAttribute<Alias>(module, "OutputOperandAlias")
      .def_classmethod(
          "get",
          [](const nb::object &cls, const Dims &output, int64_t operand, const Dims &operandTuple,
             MlirContext context) {
            return cls(wrap(mlir::Attribute(Alias::get(unwrap(context), output, operand, operandTuple))));
          },
          nb::arg("cls"), nb::arg("output_tuple_indices"), nb::arg("operand_index"), nb::arg("operand_tuple_indices"),
          nb::arg("context") = nb::none())
      .HLO_DIMS(Alias, "output_tuple_indices", getOutputTupleIndices)
      .HLO_FIELD(Alias, "operand_index", getOperandIndex)
      .HLO_DIMS(Alias, "operand_tuple_indices", getOperandTupleIndices);

  using Accuracy = hlo::ResultAccuracyAttr;
  defineAttribute<Accuracy>(module, "ResultAccuracy")
      .def_property_readonly("atol",
                             [](MlirAttribute self) { return unwrapAs<Accuracy>(self).getAtol().convertToDouble(); })
      .def_property_readonly("rtol",
                             [](MlirAttribute self) { return unwrapAs<Accuracy>(self).getRtol().convertToDouble(); })
      .HLO_FIELD(Accuracy, "ulps", getUlps)
      .def_property_readonly("mode", [](MlirAttribute self) {
        return hlo::stringifyResultAccuracyMode(unwrapAs<Accuracy>(self).getMode().getValue()).str();
      });
}

// The spelling of an enumeration attribute of any kind; nothing for another attribute.
std::optional<std::string> enumValue(MlirAttribute attribute) {
  return llvm::TypeSwitch<mlir::Attribute, std::optional<std::string>>(unwrap(attribute))
      .Case([](hlo::PrecisionAttr attr) { return hlo::stringifyPrecision(attr.getValue()).str(); })
      .Case([](hlo::ResultAccuracyModeAttr attr) { return hlo::stringifyResultAccuracyMode(attr.getValue()).str(); })
      .Case([](hlo::FftTypeAttr attr) { return hlo::stringifyFftType(attr.getValue()).str(); })
      .Case([](hlo::ComparisonDirectionAttr attr) { return hlo::stringifyComparisonDirection(attr.getValue()).str(); })
      .Case([](hlo::ComparisonTypeAttr attr) { return hlo::stringifyComparisonType(attr.getValue()).str(); })
      .Case([](hlo::TransposeAttr attr) { return hlo::stringifyTranspose(attr.getValue()).str(); })
      .Case([](hlo::RngDistributionAttr attr) { return hlo::stringifyRngDistribution(attr.getValue()).str(); })
      .Case([](hlo::RngAlgorithmAttr attr) { return hlo::stringifyRngAlgorithm(attr.getValue()).str(); })
      .Default([](mlir::Attribute) { return std::nullopt; });
}

// An inherent or discardable attribute as integers: a DenseI64ArrayAttr, a dense tensor of integers, an array of
// integer attributes, or one integer. Nothing when the operation does not have it.
std::optional<nb::tuple> intsOf(MlirOperation operation, const std::string &name) {
  mlir::Attribute attribute = unwrap(operation)->getAttr(name);
  if (!attribute)
    return std::nullopt;
  if (auto array = mlir::dyn_cast<mlir::DenseI64ArrayAttr>(attribute))
    return toTuple(array.asArrayRef());
  llvm::SmallVector<int64_t> numbers;
  if (auto dense = mlir::dyn_cast<mlir::DenseIntElementsAttr>(attribute)) {
    const bool isSigned = !dense.getElementType().isUnsignedInteger();
    for (llvm::APInt number : dense.getValues<llvm::APInt>())
      numbers.push_back(isSigned ? number.getSExtValue() : static_cast<int64_t>(number.getZExtValue()));
    return toTuple(numbers);
  }
  if (auto flags = mlir::dyn_cast<mlir::DenseBoolArrayAttr>(attribute)) {
    for (bool flag : flags.asArrayRef())
      numbers.push_back(flag);
    return toTuple(numbers);
  }
  if (auto array = mlir::dyn_cast<mlir::DenseI32ArrayAttr>(attribute)) {
    numbers.append(array.asArrayRef().begin(), array.asArrayRef().end());
    return toTuple(numbers);
  }
  if (auto integer = mlir::dyn_cast<mlir::IntegerAttr>(attribute))
    return toTuple({integer.getValue().getSExtValue()});
  auto list = mlir::dyn_cast<mlir::ArrayAttr>(attribute);
  if (!list || !llvm::all_of(list, llvm::IsaPred<mlir::IntegerAttr>))
    throw nb::type_error(("attribute '" + name + "' does not hold integers").c_str());
  for (auto integer : list.getAsRange<mlir::IntegerAttr>())
    numbers.push_back(integer.getValue().getSExtValue());
  return toTuple(numbers);
}

// The bindings give dense constants a class by their element type, and throw for complex and quantized elements, which
// ends the process where C++ does not expect it. This caster gives those the general class.
void defineDenseCaster() {
  nb::object ir = nb::module_::import_("mlir.ir");
  nb::object integers = ir.attr("DenseIntElementsAttr"), floats = ir.attr("DenseFPElementsAttr");
  nb::object others = ir.attr("DenseElementsAttr");
  nb::object caster = nb::cpp_function([integers, floats, others](const nb::object &attribute) -> nb::object {
    mlir::Attribute attr = unwrap(nb::cast<MlirAttribute>(attribute));
    mlir::Type element = mlir::cast<mlir::DenseElementsAttr>(attr).getElementType();
    if (mlir::isa<mlir::FloatType>(element))
      return floats(attribute);
    return (mlir::isa<mlir::IntegerType, mlir::IndexType>(element) ? integers : others)(attribute);
  });
  MlirTypeID dense = wrap(mlir::DenseIntOrFPElementsAttr::getTypeID());
  ir.attr("register_type_caster")(dense, nb::arg("replace") = true)(caster);
}

} // namespace

NB_MODULE(_dialect, module) {
  module.doc() = "The hlo dialect: registration, attributes, raw constants.";
  module.def(
      "register_dialect",
      [](MlirContext context, bool load) {
        MlirDialectHandle handle = mlirGetDialectHandle__hlo__();
        mlirDialectHandleRegisterDialect(handle, context);
        if (load)
          mlirDialectHandleLoadDialect(handle, context);
      },
      nb::arg("context"), nb::arg("load") = true);
  defineDenseCaster();
  defineDot(module);
  defineGather(module);
  defineConvolution(module);
  defineOthers(module);
  module.def("enum_value", &enumValue, nb::arg("attribute"),
             "The spelling of an enumeration attribute, None for another attribute.");
  module.def("ints_of", &intsOf, nb::arg("operation"), nb::arg("name"),
             "An attribute of an operation as a tuple of integers, None when absent.");
  hlo::defineConstants(module);
  hlo::defineParsing(module);
}
