func.func @main(%x: tensor<1024xf32>, %u: tensor<8xf32>, %i: tensor<i32>) -> tensor<1024xf32> {
  %0 = hlo.dynamic_update_slice %x, %u, %i : (tensor<1024xf32>, tensor<8xf32>, tensor<i32>) -> tensor<1024xf32>
  return %0 : tensor<1024xf32>
}
