// RUN: hlo-opt --split-input-file --verify-diagnostics %s

func.func @test(%a: tensor<8xcomplex<f32>>) {
  // expected-error @+1 {{[C1] fft_length must have at most 1 element(s), found 2}}
  %0 = hlo.fft %a, type = FFT, length = [1, 8] : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>
  return
}

// -----

func.func @test(%a: tensor<8xf32>) {
  // expected-error @+1 {{[C2] FFT takes complex numbers, found 'f32'}}
  %0 = hlo.fft %a, type = FFT, length = [8] : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @test(%a: tensor<8xcomplex<f32>>) {
  // expected-error @+1 {{[C2] RFFT takes f32 or f64, found 'complex<f32>'}}
  %0 = hlo.fft %a, type = RFFT, length = [8] : (tensor<8xcomplex<f32>>) -> tensor<5xcomplex<f32>>
  return
}

// -----

func.func @test(%a: tensor<8xcomplex<f32>>) {
  // expected-error @+1 {{[C3] fft_length must have 1 to 3 elements, found 0}}
  %0 = hlo.fft %a, type = FFT, length = [] : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>
  return
}

// -----

func.func @test(%a: tensor<8xf32>) {
  // expected-error @+1 {{[C4] the last dimensions of operand must have sizes [9], found 'tensor<8xf32>'}}
  %0 = hlo.fft %a, type = RFFT, length = [9] : (tensor<8xf32>) -> tensor<5xcomplex<f32>>
  return
}

// -----

func.func @test(%a: tensor<4xcomplex<f32>>) {
  // expected-error @+1 {{[C4] the last dimensions of operand must have sizes [5], found 'tensor<4xcomplex<f32>>'}}
  %0 = hlo.fft %a, type = IRFFT, length = [8] : (tensor<4xcomplex<f32>>) -> tensor<8xf32>
  return
}

// -----

func.func @test(%a: tensor<8xf32>) {
  // expected-error @+1 {{[C4, C5] result #0 must have type 'tensor<5xcomplex<f32>>', found 'tensor<4xcomplex<f32>>'}}
  %0 = hlo.fft %a, type = RFFT, length = [8] : (tensor<8xf32>) -> tensor<4xcomplex<f32>>
  return
}
