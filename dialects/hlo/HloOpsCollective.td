// Communication among processes, and with the host.
#ifndef HLO_OPS_COLLECTIVE
#define HLO_OPS_COLLECTIVE

include "HloAttrs.td"

class HLO_CollectiveOp<string mnemonic, string constraints, list<Trait> traits = []> :
    HLO_InferOp<mnemonic, constraints, traits>;
class HLO_ReducingCollectiveOp<string mnemonic, string constraints> :
    HLO_CollectiveOp<mnemonic, constraints, [SingleBlockImplicitTerminator<"ReturnOp">]> {
  let regions = (region SizedRegion<1>:$computation);
}

def HLO_AllGatherOp : HLO_Op<"all_gather"> {
  let summary = "the operands of a group's processes, concatenated";
  let arguments = (ins Variadic<HLO_Tensor>:$operands, I64Attr:$all_gather_dim, HLO_ReplicaGroupsAttr:$replica_groups,
                       OptionalAttr<HLO_ChannelHandle>:$channel_handle, UnitAttr:$use_global_device_ids);
  let results = (outs Variadic<HLO_Tensor>:$results);
  let hasVerifier = 1;
}

def HLO_AllReduceOp : HLO_ReducingCollectiveOp<"all_reduce", "C6, C7"> {
  let summary = "the operands of a group's processes, reduced";
  let arguments = (ins Variadic<HLO_Tensor>:$operands, HLO_ReplicaGroupsAttr:$replica_groups,
                       OptionalAttr<HLO_ChannelHandle>:$channel_handle, UnitAttr:$use_global_device_ids);
  let results = (outs Variadic<HLO_Tensor>:$results);
}

def HLO_CollectiveReduceOp : HLO_ReducingCollectiveOp<"collective_reduce", "C6, C7"> {
  let summary = "the operands of a group's processes, reduced, on the group's root";
  let arguments = (ins Variadic<HLO_Tensor>:$operands, HLO_ReplicaGroupsAttr:$replica_groups,
                       OptionalAttr<HLO_ChannelHandle>:$channel_handle, UnitAttr:$use_global_device_ids,
                       UnitAttr:$has_dynamic_root);
  let results = (outs Variadic<HLO_Tensor>:$results);
}

def HLO_ReduceScatterOp : HLO_Op<"reduce_scatter", [SingleBlockImplicitTerminator<"ReturnOp">]> {
  let summary = "the operands of a group's processes, reduced, each process keeping a part";
  let arguments = (ins HLO_Tensor:$operand, I64Attr:$scatter_dimension, HLO_ReplicaGroupsAttr:$replica_groups,
                       OptionalAttr<HLO_ChannelHandle>:$channel_handle, UnitAttr:$use_global_device_ids);
  let regions = (region SizedRegion<1>:$computation);
  let results = (outs HLO_Tensor:$result);
  let hasRegionVerifier = 1;
}

def HLO_AllToAllOp : HLO_CollectiveOp<"all_to_all", "C9"> {
  let summary = "parts exchanged between the processes of a group";
  let arguments = (ins Variadic<HLO_Tensor>:$operands, I64Attr:$split_dimension, I64Attr:$concat_dimension,
                       I64Attr:$split_count, HLO_ReplicaGroupsAttr:$replica_groups,
                       OptionalAttr<HLO_ChannelHandle>:$channel_handle);
  let results = (outs Variadic<HLO_Tensor>:$results);
}

def HLO_CollectiveBroadcastOp : HLO_CollectiveOp<"collective_broadcast", "C3"> {
  let summary = "the operands of a group's root, on every process of the group";
  let arguments = (ins Variadic<HLO_Tensor>:$operands, HLO_ReplicaGroupsAttr:$replica_groups,
                       OptionalAttr<HLO_ChannelHandle>:$channel_handle, UnitAttr:$has_dynamic_root);
  let results = (outs Variadic<HLO_Tensor>:$results);
}

def HLO_CollectivePermuteOp : HLO_CollectiveOp<"collective_permute", "C5"> {
  let summary = "the operand of each pair's source, on the pair's target";
  let arguments = (ins HLO_Tensor:$operand, I64ElementsAttr:$source_target_pairs,
                       OptionalAttr<HLO_ChannelHandle>:$channel_handle);
  let results = (outs HLO_Tensor:$result);
}

def HLO_CrossReplicaSumOp : HLO_CollectiveOp<"cross-replica-sum", ""> {
  let summary = "the operands of a group's processes, summed";
  let arguments = (ins HLO_Tensor:$operand, I64ElementsAttr:$replica_groups);
  let results = (outs HLO_Tensor:$result);
}

def HLO_ReplicaIdOp : HLO_NullaryInferOp<"replica_id",
    "::mlir::RankedTensorType::get({}, ::mlir::IntegerType::get(context, 32, ::mlir::IntegerType::Unsigned))", [Pure]> {
  let summary = "number of this process's replica";
  let results = (outs HLO_ScalarOf<[UI32]>:$result);
  let assemblyFormat = "attr-dict `:` type(results)";
}
def HLO_PartitionIdOp : HLO_NullaryInferOp<"partition_id",
    "::mlir::RankedTensorType::get({}, ::mlir::IntegerType::get(context, 32, ::mlir::IntegerType::Unsigned))", [Pure]> {
  let summary = "number of this process's partition";
  let results = (outs HLO_ScalarOf<[UI32]>:$result);
  let assemblyFormat = "attr-dict `:` type(results)";
}

def HLO_InfeedOp : HLO_Op<"infeed"> {
  let summary = "data from the host";
  let arguments = (ins HLO_Token:$token, DefaultValuedStrAttr<StrAttr, "">:$infeed_config,
                       OptionalAttr<ArrayAttr>:$layout);
  let results = (outs Variadic<HLO_TensorOrToken>:$results);
  let hasVerifier = 1;
}
def HLO_OutfeedOp : HLO_InferOp<"outfeed", "", [], 0> {
  let summary = "data to the host";
  let arguments = (ins Variadic<HLO_AnyTensor>:$inputs, HLO_Token:$token,
                       DefaultValuedStrAttr<StrAttr, "">:$outfeed_config);
  let results = (outs HLO_Token:$result);
}
def HLO_SendOp : HLO_InferOp<"send", "", [], 0> {
  let summary = "data to another process or the host, over a channel";
  let arguments = (ins Variadic<HLO_AnyTensor>:$inputs, HLO_Token:$token, HLO_ChannelHandle:$channel_handle,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$is_host_transfer,
                       OptionalAttr<I64ElementsAttr>:$source_target_pairs);
  let results = (outs HLO_Token:$result);
}
def HLO_RecvOp : HLO_Op<"recv"> {
  let summary = "data from another process or the host, over a channel";
  let arguments = (ins HLO_Token:$token, HLO_ChannelHandle:$channel_handle,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$is_host_transfer,
                       OptionalAttr<I64ElementsAttr>:$source_target_pairs);
  let results = (outs Variadic<HLO_TensorOrToken>:$results);
  let hasVerifier = 1;
}

#endif // HLO_OPS_COLLECTIVE
