// Attributes of the dialect. Parameters have the names that StableHLO prints.
#ifndef HLO_ATTRS
#define HLO_ATTRS

include "HloEnums.td"
include "HloTypes.td"
include "mlir/IR/TensorEncoding.td"

// A list of integers in brackets; an empty one is not printed.
def HLO_Dims : OptionalArrayRefParameter<"int64_t"> {
  let parser = "::hlo::parseDims($_parser)";
  let printer = "::hlo::printDims($_printer, $_self)";
}
// The same, always printed.
def HLO_RequiredDims : ArrayRefParameter<"int64_t"> {
  let parser = "::hlo::parseDims($_parser)";
  let printer = "::hlo::printDims($_printer, $_self)";
}
class HLO_IntOr<string default> : DefaultValuedParameter<"int64_t", default>;

class HLO_Attr<string name, string attrMnemonic, list<Trait> traits = []> : AttrDef<Hlo_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def HLO_DotDimensionNumbers : HLO_Attr<"DotDimensionNumbers", "dot"> {
  let summary = "batching and contracting dimensions of a dot product";
  let parameters = (ins HLO_Dims:$lhs_batching_dimensions, HLO_Dims:$rhs_batching_dimensions,
                        HLO_Dims:$lhs_contracting_dimensions, HLO_Dims:$rhs_contracting_dimensions);
  let assemblyFormat = "`<` struct(params) `>`";
}

def HLO_RaggedDotDimensionNumbers : HLO_Attr<"RaggedDotDimensionNumbers", "ragged_dot"> {
  let summary = "dimensions of a dot product whose groups have different sizes";
  let parameters = (ins HLO_Dims:$lhs_batching_dimensions, HLO_Dims:$rhs_batching_dimensions,
                        HLO_Dims:$lhs_contracting_dimensions, HLO_Dims:$rhs_contracting_dimensions,
                        HLO_Dims:$lhs_ragged_dimensions, HLO_Dims:$rhs_group_dimensions);
  let assemblyFormat = "`<` struct(params) `>`";
}

def HLO_GatherDimensionNumbers : HLO_Attr<"GatherDimensionNumbers", "gather"> {
  let summary = "how indices and slices of a gather map to dimensions";
  let parameters = (ins HLO_Dims:$offset_dims, HLO_Dims:$collapsed_slice_dims, HLO_Dims:$operand_batching_dims,
                        HLO_Dims:$start_indices_batching_dims, HLO_Dims:$start_index_map,
                        HLO_IntOr<"0">:$index_vector_dim);
  let assemblyFormat = "`<` struct(params) `>`";
}

def HLO_ScatterDimensionNumbers : HLO_Attr<"ScatterDimensionNumbers", "scatter"> {
  let summary = "how indices and updates of a scatter map to dimensions";
  let parameters = (ins HLO_Dims:$update_window_dims, HLO_Dims:$inserted_window_dims, HLO_Dims:$input_batching_dims,
                        HLO_Dims:$scatter_indices_batching_dims, HLO_Dims:$scatter_dims_to_operand_dims,
                        HLO_IntOr<"0">:$index_vector_dim);
  let assemblyFormat = "`<` struct(params) `>`";
}

def HLO_ConvDimensionNumbers : HLO_Attr<"ConvDimensionNumbers", "conv"> {
  let summary = "what each dimension of a convolution's input, kernel and output is";
  let description = [{
    Printed as `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`: a letter or a number for each dimension, in order. Batch and
    feature of input and output are `b` and `f`; input and output feature of the kernel are `i` and `o`; a number is a
    spatial dimension.
  }];
  let parameters = (ins "int64_t":$input_batch_dimension, "int64_t":$input_feature_dimension,
                        HLO_Dims:$input_spatial_dimensions, "int64_t":$kernel_input_feature_dimension,
                        "int64_t":$kernel_output_feature_dimension, HLO_Dims:$kernel_spatial_dimensions,
                        "int64_t":$output_batch_dimension, "int64_t":$output_feature_dimension,
                        HLO_Dims:$output_spatial_dimensions);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def HLO_DotAlgorithm : HLO_Attr<"DotAlgorithm", "dot_algorithm"> {
  let summary = "types and number of products a dot product is computed with";
  let parameters = (ins "::mlir::Type":$lhs_precision_type, "::mlir::Type":$rhs_precision_type,
                        "::mlir::Type":$accumulation_type, "int64_t":$lhs_component_count,
                        "int64_t":$rhs_component_count, "int64_t":$num_primitive_operations,
                        "bool":$allow_imprecise_accumulation);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def HLO_OutputOperandAlias : HLO_Attr<"OutputOperandAlias", "output_operand_alias"> {
  let summary = "a result of a custom call that shares storage with an operand";
  let parameters = (ins HLO_RequiredDims:$output_tuple_indices, "int64_t":$operand_index,
                        HLO_RequiredDims:$operand_tuple_indices);
  let assemblyFormat = "`<` struct(params) `>`";
}

def HLO_ChannelHandle : HLO_Attr<"ChannelHandle", "channel_handle"> {
  let summary = "identity and kind of a communication channel";
  let parameters = (ins "int64_t":$handle, "int64_t":$type);
  let assemblyFormat = "`<` struct(params) `>`";
}

def HLO_ResultAccuracyAttr : HLO_Attr<"ResultAccuracy", "result_accuracy"> {
  let summary = "accuracy that a transcendental operation must reach";
  let parameters = (ins APFloatParameter<"absolute">:$atol, APFloatParameter<"relative">:$rtol, "int64_t":$ulps,
                        "::hlo::ResultAccuracyModeAttr":$mode);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def HLO_Bounds : HLO_Attr<"Bounds", "bounds", [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "upper bounds of a tensor's dynamic dimensions";
  let description = "A tensor encoding: one number a dimension, `?` where a dimension is static or has no bound.";
  let parameters = (ins ArrayRefParameter<"int64_t">:$bounds);
  let hasCustomAssemblyFormat = 1;
}

def HLO_Layout : HLO_Attr<"Layout", "layout", [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "order of a tensor's dimensions in memory, minor to major";
  let description = [{
    A tensor encoding. The first number is the dimension whose elements are adjacent. `[1, 0]` is the row-major order
    of a matrix, which is also that of a tensor without encoding; `[0, 1]` is column-major.
  }];
  let parameters = (ins OptionalArrayRefParameter<"int64_t">:$minor_to_major);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

// ---- Meshes ----
def HLO_SubAxisInfo : HLO_Attr<"SubAxisInfo", "sub_axis_info"> {
  let summary = "the part of a mesh axis that a sub-axis takes";
  let parameters = (ins "int64_t":$pre_size, "int64_t":$size);
  let assemblyFormat = "`(` $pre_size `)` `` $size";
}

def HLO_AxisRef : HLO_Attr<"AxisRef", "axis_ref"> {
  let summary = "a mesh axis, or a part of one";
  let parameters = (ins StringRefParameter<"name of the axis">:$name,
                        OptionalParameter<"::hlo::SubAxisInfoAttr">:$sub_axis_info);
  let assemblyFormat = "`<` struct(params) `>`";
}

def HLO_MeshAxis : HLO_Attr<"MeshAxis", "mesh_axis"> {
  let summary = "a named axis of a mesh with its size";
  let parameters = (ins StringRefParameter<"name">:$name, "int64_t":$size);
  let assemblyFormat = "`<` struct(params) `>`";
}

def HLO_Mesh : HLO_Attr<"Mesh", "mesh"> {
  let summary = "devices arranged along named axes";
  let parameters = (ins ArrayRefParameter<"::hlo::MeshAxisAttr">:$axes,
                        OptionalParameter<"::mlir::DenseIntElementsAttr">:$device_ids);
  let assemblyFormat = [{
    `<` `axes` `` `=` `` `[` $axes `]` (`,` `device_ids` `` `=` `` $device_ids^)? `>`
  }];
}

def HLO_ReplicaGroupMeshAxes : HLO_Attr<"ReplicaGroupMeshAxes", "replica_group_mesh_axes"> {
  let summary = "replica groups as axes of a mesh";
  let parameters = (ins "::mlir::Attribute":$mesh, "::mlir::ArrayAttr":$axes);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def HLO_ReplicaGroupsAttr : AnyAttrOf<[I64ElementsAttr, HLO_ReplicaGroupMeshAxes]>;

// ---- Constraints on builtin attributes ----
class HLO_IndexVectorAttrBase : Attr<
    And<[IndexElementsAttr.predicate,
         CPred<"::llvm::cast<::mlir::DenseIntElementsAttr>($_self).getType().getRank() == 1">]>,
    "1-dimensional tensor of index"> {
  let storageType = IndexElementsAttr.storageType;
  let returnType = IndexElementsAttr.returnType;
  let convertFromStorage = IndexElementsAttr.convertFromStorage;
}
def HLO_IndexVectorAttr : HLO_IndexVectorAttrBase;
def HLO_ArrayOfLayoutAttr : TypedArrayAttrBase<HLO_IndexVectorAttr, "array of layouts, minor to major">;
def HLO_TilingAttr : TypedArrayAttrBase<HLO_IndexVectorAttr, "array of tiles">;
def HLO_ArrayOfTilingAttr : TypedArrayAttrBase<HLO_TilingAttr, "array of tilings">;
def HLO_ArrayOfAliasAttr : TypedArrayAttrBase<HLO_OutputOperandAlias, "array of aliases of results and operands">;
def HLO_ArrayOfSymbolAttr : TypedArrayAttrBase<FlatSymbolRefAttr, "array of symbols"> {
  let constBuilderCall = "$_builder.getArrayAttr($0)";
}

defvar HLO_Dimension = ConfinedAttr<I64Attr, [IntNonNegative]>;
defvar HLO_OptionalDims = OptionalAttr<DenseI64ArrayAttr>;

#endif // HLO_ATTRS
