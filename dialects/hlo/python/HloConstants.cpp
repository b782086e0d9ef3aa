// Elements of constants as bytes, one representation for every element type: whole bytes an element, little endian.
#include "dialects/hlo/HloTypes.h"
#include "dialects/hlo/python/HloModule.h"
#include "mlir/CAPI/IR.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectResourceBlobManager.h"

#include <nanobind/stl/string.h>

#include <cstring>

namespace nb = nanobind;

namespace hlo {

namespace {

// Bytes that an element takes in memory: i1 and everything narrower than a byte take one.
int64_t storageBytes(mlir::Type element) {
  if (mlir::isa<mlir::IndexType>(element))
    return 8;
  if (auto complex = mlir::dyn_cast<mlir::ComplexType>(element))
    return 2 * storageBytes(complex.getElementType());
  return (bitWidthOf(element) + 7) / 8;
}

[[noreturn]] void unsupported(mlir::Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << "no bytes for elements of type " << type;
  throw nb::type_error(text.c_str());
}

// Sub-byte integers are sign- or zero-extended to their byte, as ml_dtypes keeps them.
void storeInt(char *target, const llvm::APInt &value, bool isSigned, int64_t bytes) {
  const llvm::APInt wide = isSigned ? value.sextOrTrunc(bytes * 8) : value.zextOrTrunc(bytes * 8);
  std::memcpy(target, wide.getRawData(), bytes);
}

bool extendsSign(mlir::Type element) { return element.isSignlessInteger() && !isPred(element); }

// Packed or splat dense elements, expanded. MLIR stores i1 by bits, everything else by bytes.
nb::bytes denseBytes(mlir::DenseElementsAttr dense, bool splat) {
  mlir::Type element = dense.getElementType();
  const int64_t bytes = storageBytes(element);
  if (bytes == 0)
    unsupported(element);
  const int64_t count = splat ? 1 : dense.getNumElements();
  llvm::ArrayRef<char> raw = dense.getRawData();
  const bool needsExtension = mlir::isa<mlir::IntegerType>(element) && bitWidthOf(element) < 8;
  if (!needsExtension && (splat || !dense.isSplat()) && static_cast<int64_t>(raw.size()) >= count * bytes)
    return nb::bytes(raw.data(), count * bytes);
  std::string buffer(count * bytes, '\0');
  if (!needsExtension) {
    for (int64_t i = 0; i < count; ++i)
      std::memcpy(buffer.data() + i * bytes, raw.data(), bytes);
    return nb::bytes(buffer.data(), buffer.size());
  }
  const bool isSigned = extendsSign(element);
  auto values = dense.getValues<llvm::APInt>();
  for (int64_t i = 0; i < count; ++i)
    storeInt(buffer.data() + i * bytes, values[i], isSigned, bytes);
  return nb::bytes(buffer.data(), buffer.size());
}

// (bytes, is_splat): the elements, or the one element that repeats. Nothing for an attribute without elements.
nb::object constantBytes(MlirAttribute attribute) {
  mlir::Attribute attr = unwrap(attribute);
  if (auto dense = mlir::dyn_cast<mlir::DenseElementsAttr>(attr)) {
    const bool splat = dense.isSplat() && dense.getNumElements() > 0;
    return nb::make_tuple(denseBytes(dense, splat), splat);
  }
  if (auto resource = mlir::dyn_cast<mlir::DenseResourceElementsAttr>(attr)) {
    mlir::AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob)
      throw nb::value_error(("the resource '" + resource.getRawHandle().getKey().str() + "' holds no data").c_str());
    const bool packed = isPred(resource.getElementType());
    llvm::ArrayRef<char> data = blob->getData();
    const int64_t count = resource.getType().getNumElements();
    const int64_t bytes = storageBytes(resource.getElementType());
    if (!packed && static_cast<int64_t>(data.size()) < count * bytes)
      throw nb::value_error(("the resource '" + resource.getRawHandle().getKey().str() + "' is too short").c_str());
    if (!packed || static_cast<int64_t>(data.size()) >= count)
      return nb::make_tuple(nb::bytes(data.data(), packed ? count : count * bytes), false);
    std::string expanded(count, '\0');
    for (int64_t i = 0; i < count && i / 8 < static_cast<int64_t>(data.size()); ++i)
      expanded[i] = (data[i / 8] >> (i % 8)) & 1;
    return nb::make_tuple(nb::bytes(expanded.data(), expanded.size()), false);
  }
  auto elements = mlir::dyn_cast<mlir::ElementsAttr>(attr);
  if (!elements)
    return nb::none();
  // Sparse constants and other kinds: element by element.
  mlir::Type element = elements.getElementType();
  const int64_t bytes = storageBytes(element), count = elements.getNumElements();
  std::string buffer(count * bytes, '\0');
  char *target = buffer.data();
  if (mlir::isa<mlir::FloatType>(element)) {
    auto values = elements.tryGetValues<llvm::APFloat>();
    if (!values)
      unsupported(elements.getShapedType());
    for (llvm::APFloat value : *values) {
      storeInt(target, value.bitcastToAPInt(), false, bytes);
      target += bytes;
    }
    return nb::make_tuple(nb::bytes(buffer.data(), buffer.size()), false);
  }
  auto values = elements.tryGetValues<llvm::APInt>();
  if (!values)
    unsupported(elements.getShapedType());
  for (llvm::APInt value : *values) {
    storeInt(target, value, extendsSign(element), bytes);
    target += bytes;
  }
  return nb::make_tuple(nb::bytes(buffer.data(), buffer.size()), false);
}

// Dense elements from bytes as constantBytes gives them. One element's bytes are a splat of the type.
MlirAttribute constantFromBytes(MlirType type, const nb::handle &buffer) {
  auto shaped = mlir::dyn_cast<mlir::ShapedType>(unwrap(type));
  if (!shaped || !shaped.hasStaticShape())
    throw nb::type_error("constants have a ranked tensor type with a static shape");
  mlir::Type element = shaped.getElementType();
  const int64_t bytes = storageBytes(element), count = shaped.getNumElements();
  if (bytes == 0)
    unsupported(element);
  Py_buffer view;
  if (PyObject_GetBuffer(buffer.ptr(), &view, PyBUF_C_CONTIGUOUS) != 0)
    throw nb::python_error();
  struct Release {
    Py_buffer *view;
    ~Release() { PyBuffer_Release(view); }
  } release{&view};
  const bool splat = view.len == bytes && count != 1;
  if (!splat && view.len != count * bytes)
    throw nb::value_error("the number of bytes does not suit the type");
  llvm::ArrayRef<char> raw(static_cast<const char *>(view.buf), view.len);
  const int64_t width = bitWidthOf(element);
  if (isPred(element)) {
    llvm::SmallVector<bool> values;
    values.reserve(raw.size());
    for (char value : raw)
      values.push_back(value != 0);
    return wrap(mlir::Attribute(mlir::DenseElementsAttr::get(shaped, values)));
  }
  if (width >= 8 || !mlir::isa<mlir::IntegerType, mlir::FloatType>(element))
    return wrap(mlir::Attribute(mlir::DenseElementsAttr::getFromRawBuffer(shaped, raw)));
  // MLIR keeps the bits above a narrow element's width clear.
  const char mask = static_cast<char>((1 << width) - 1);
  llvm::SmallVector<char> masked(raw);
  for (char &value : masked)
    value &= mask;
  return wrap(mlir::Attribute(mlir::DenseElementsAttr::getFromRawBuffer(shaped, masked)));
}

} // namespace

void defineConstants(nb::module_ &module) {
  module.def(
      "constant_bytes", &constantBytes, nb::arg("attribute"),
      "(bytes, is_splat) of an elements attribute: whole bytes an element, row-major; None for another attribute.");
  module.def("constant_from_bytes", &constantFromBytes, nb::arg("type"), nb::arg("buffer"),
             "A dense attribute from whole bytes an element; one element's bytes make a splat.");
}

} // namespace hlo
