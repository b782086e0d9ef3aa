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
  let description = [{
    Constraints:
    - (C1) all_gather_dim is a dimension of operands.
    - (C2) replica_groups are unique.
    - (C3) there are as many replica_groups elements as processes.
    - (C4) replica_groups hold each process, from 0.
    - (C5) use_global_device_ids needs a channel with a positive handle.
    - (C6) results have the types of operands, but the size of all_gather_dim times that of a group.
  }];
  let arguments = (ins Variadic<HLO_Tensor>:$operands, I64Attr:$all_gather_dim, HLO_ReplicaGroupsAttr:$replica_groups,
                       OptionalAttr<HLO_ChannelHandle>:$channel_handle, UnitAttr:$use_global_device_ids);
  let results = (outs Variadic<HLO_Tensor>:$results);
  let hasVerifier = 1;
}

def HLO_AllReduceOp : HLO_ReducingCollectiveOp<"all_reduce", "C6, C7"> {
  let summary = "the operands of a group's processes, reduced";
  let description = [{
    Constraints:
    - (C1) replica_groups are unique.
    - (C2) there are as many replica_groups elements as processes.
    - (C3) replica_groups hold each process, from 0.
    - (C4) use_global_device_ids needs a channel with a positive handle.
    - (C5) computation is `(E, E) -> E` on scalars, where element types widen to E.
    - (C6) results have the shapes of operands.
    - (C7) results have the element type E.
  }];
  let arguments = (ins Variadic<HLO_Tensor>:$operands, HLO_ReplicaGroupsAttr:$replica_groups,
                       OptionalAttr<HLO_ChannelHandle>:$channel_handle, UnitAttr:$use_global_device_ids);
  let results = (outs Variadic<HLO_Tensor>:$results);
}

def HLO_CollectiveReduceOp : HLO_ReducingCollectiveOp<"collective_reduce", "C6, C7"> {
  let summary = "the operands of a group's processes, reduced, on the group's root";
  let description = [{
    With `has_dynamic_root` the last operand holds the root for each other operand.

    Constraints:
    - (C1) replica_groups are unique.
    - (C2) replica_groups hold processes.
    - (C3) results have the shapes of operands, without the roots.
    - (C4) computation is `(E, E) -> E` on scalars, where element types widen to E.
  }];
  let arguments = (ins Variadic<HLO_Tensor>:$operands, HLO_ReplicaGroupsAttr:$replica_groups,
                       OptionalAttr<HLO_ChannelHandle>:$channel_handle, UnitAttr:$use_global_device_ids,
                       UnitAttr:$has_dynamic_root);
  let results = (outs Variadic<HLO_Tensor>:$results);
}

def HLO_ReduceScatterOp : HLO_Op<"reduce_scatter", [SingleBlockImplicitTerminator<"ReturnOp">]> {
  let summary = "the operands of a group's processes, reduced, each process keeping a part";
  let description = [{
    Constraints:
    - (C1) the size of a group divides that of scatter_dimension.
    - (C2) scatter_dimension is a dimension of operand.
    - (C3) replica_groups are unique.
    - (C4) there are as many replica_groups elements as processes.
    - (C5) replica_groups hold each process, from 0.
    - (C6) use_global_device_ids needs a channel with a positive handle.
    - (C7) computation is `(E, E) -> E` on scalars, where the element type widens to E.
    - (C8) the result has the shape of operand, but the size of scatter_dimension divided by that of a group.
    - (C9) the result has the element type E.
  }];
  let arguments = (ins HLO_Tensor:$operand, I64Attr:$scatter_dimension, HLO_ReplicaGroupsAttr:$replica_groups,
                       OptionalAttr<HLO_ChannelHandle>:$channel_handle, UnitAttr:$use_global_device_ids);
  let regions = (region SizedRegion<1>:$computation);
  let results = (outs HLO_Tensor:$result);
  let hasRegionVerifier = 1;
}

def HLO_AllToAllOp : HLO_CollectiveOp<"all_to_all", "C9"> {
  let summary = "parts exchanged between the processes of a group";
  let description = [{
    Constraints:
    - (C1) split_dimension is a dimension of operands.
    - (C2) split_count divides its size.
    - (C3) concat_dimension is a dimension of operands.
    - (C4) split_count is at least 1.
    - (C5) replica_groups are unique.
    - (C6) there are as many replica_groups elements as processes.
    - (C7) replica_groups hold each process, from 0.
    - (C8) groups have split_count processes.
    - (C9) results have the types of operands, but split_dimension divided and concat_dimension multiplied by
      split_count.
  }];
  let arguments = (ins Variadic<HLO_Tensor>:$operands, I64Attr:$split_dimension, I64Attr:$concat_dimension,
                       I64Attr:$split_count, HLO_ReplicaGroupsAttr:$replica_groups,
                       OptionalAttr<HLO_ChannelHandle>:$channel_handle);
  let results = (outs Variadic<HLO_Tensor>:$results);
}

def HLO_CollectiveBroadcastOp : HLO_CollectiveOp<"collective_broadcast", "C3"> {
  let summary = "the operands of a group's root, on every process of the group";
  let description = [{
    With `has_dynamic_root` the last operand holds the root for each other operand.

    Constraints:
    - (C1) replica_groups are unique.
    - (C2) replica_groups hold processes.
    - (C3) there is at least one operand.
    - (C4) with a dynamic root there are at least two operands, the last a vector of i32 for the others.
    - (C5) results have the types of operands, without the roots.
    - (C6) roots are processes of the group.
  }];
  let arguments = (ins Variadic<HLO_Tensor>:$operands, HLO_ReplicaGroupsAttr:$replica_groups,
                       OptionalAttr<HLO_ChannelHandle>:$channel_handle, UnitAttr:$has_dynamic_root);
  let results = (outs Variadic<HLO_Tensor>:$results);
}

def HLO_CollectivePermuteOp : HLO_CollectiveOp<"collective_permute", "C5"> {
  let summary = "the operand of each pair's source, on the pair's target";
  let description = [{
    Constraints:
    - (C1) source_target_pairs has two columns.
    - (C2) sources are unique.
    - (C3) targets are unique.
    - (C4) sources and targets are processes.
    - (C5) the result has the type of operand.
  }];
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
  let description = [{
    Constraints:
    - (C1) there is a result.
    - (C2) all but the last are tensors.
    - (C3) the last is a token.
  }];
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
  let description = [{
    Constraints:
    - (C1) source_target_pairs has two columns.
    - (C2) sources are unique.
    - (C3) targets are unique.
    - (C4) sources and targets are processes.
    - (C5) the channel is of device to host (2) when is_host_transfer, else device to device (1).
  }];
  let arguments = (ins Variadic<HLO_AnyTensor>:$inputs, HLO_Token:$token, HLO_ChannelHandle:$channel_handle,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$is_host_transfer,
                       OptionalAttr<I64ElementsAttr>:$source_target_pairs);
  let results = (outs HLO_Token:$result);
}
def HLO_RecvOp : HLO_Op<"recv"> {
  let summary = "data from another process or the host, over a channel";
  let description = [{
    Constraints:
    - (C1) source_target_pairs has two columns.
    - (C2) sources are unique.
    - (C3) targets are unique.
    - (C4) sources and targets are processes.
    - (C5) the channel is of host to device (3) when is_host_transfer, else device to device (1).
  }];
  let arguments = (ins HLO_Token:$token, HLO_ChannelHandle:$channel_handle,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$is_host_transfer,
                       OptionalAttr<I64ElementsAttr>:$source_target_pairs);
  let results = (outs Variadic<HLO_TensorOrToken>:$results);
  let hasVerifier = 1;
}

#endif // HLO_OPS_COLLECTIVE
