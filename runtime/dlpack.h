// Tensors of other libraries by the DLPack protocol, without an array of NumPy's in between.
//
// The structures are those of DLPack 1 (https://dmlc.github.io/dlpack/latest/c_api.html). Types that publish the table
// of C functions (`__dlpack_c_exchange_api__`, DLPack 1.2: PyTorch from 2.10 on) are asked through it, others by
// `__dlpack__`. All functions need the GIL.
#pragma once

#include "arguments.h"

#include <utility>

namespace hlo::runtime {

struct DlTensor {
  void *data;
  int32_t deviceType, deviceId;
  int32_t rank;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape;
  int64_t *strides; // in elements; null if contiguous
  uint64_t byteOffset;
};

/// A tensor that its library keeps for us until this dies.
class BorrowedTensor {
public:
  BorrowedTensor() = default;
  BorrowedTensor(BorrowedTensor &&other) noexcept { swap(other); }
  BorrowedTensor &operator=(BorrowedTensor &&other) noexcept {
    swap(other);
    return *this;
  }
  ~BorrowedTensor() {
    if (managed && release)
      release(managed);
  }

  /// Takes the tensor of a Python object; false if the object has none for us, with an error set if it said why.
  bool take(PyObject *object);
  /// Whether its memory is what a program takes as it is.
  bool fits(const ArraySpec &spec) const;
  /// An array of its memory, of whatever strides, that keeps it (this is then empty); null if NumPy has no such dtype
  /// and it is not the spec's.
  PyObject *toArray(const ArraySpec &spec);
  void *data() const { return static_cast<char *>(tensor->data) + tensor->byteOffset; }

private:
  void swap(BorrowedTensor &other) {
    std::swap(managed, other.managed);
    std::swap(release, other.release);
    std::swap(tensor, other.tensor);
    std::swap(readOnly, other.readOnly);
  }
  bool takeVersioned(void *versioned);
  bool takeCapsule(PyObject *capsule);
  bool isOnHost() const;

  void *managed = nullptr;
  void (*release)(void *) = nullptr;
  const DlTensor *tensor = nullptr;
  bool readOnly = true;
};

/// Whether a type publishes C functions to export its tensors, so that borrowing one is cheap.
bool exportsQuickly(PyObject *object);

} // namespace hlo::runtime
