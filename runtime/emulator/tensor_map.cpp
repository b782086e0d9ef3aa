#include "tensor_map.h"

#include "memory.h"

#include <cstring>

namespace hlo::emulator {

namespace {

constexpr uint8_t Magic = 0x54;
constexpr uint32_t PieceBytes = 16;

template <typename T> const char *take(const char *from, T &value) {
  std::memcpy(&value, from, sizeof value);
  return from + sizeof value;
}

/// To the nearest of tf32, ties away from zero; NaN stays.
void roundToTensor(char *piece) {
  for (uint32_t at = 0; at < PieceBytes; at += 4) {
    uint32_t bits;
    std::memcpy(&bits, piece + at, 4);
    if ((bits & 0x7FFFFFFF) <= 0x7F800000)
      bits = (bits + 0x1000) & 0xFFFFE000;
    std::memcpy(piece + at, &bits, 4);
  }
}

} // namespace

uint32_t TensorMap::elementBytes() const {
  switch (element) {
  case MapElement::Tensor:
    return 4;
  case MapElement::Byte:
    return 1;
  default:
    return 2;
  }
}

uint32_t TensorMap::boxBytes() const {
  uint32_t bytes = elementBytes();
  for (int d = 0; d < rank; ++d)
    bytes *= box[d];
  return bytes;
}

TensorMap readTensorMap(const char *bytes) {
  TensorMap map;
  const char *at = take(bytes, map.address);
  for (uint64_t &size : map.sizes)
    at = take(at, size);
  for (uint64_t &stride : map.strides)
    at = take(at, stride);
  for (uint16_t &size : map.box)
    at = take(at, size);
  uint8_t element, rank, magic;
  at = take(take(take(at, element), rank), magic);
  if (magic != Magic || rank < 1 || rank > MostDimensions)
    throw Fault("bounds", "copies by what is no tensor map");
  map.element = static_cast<MapElement>(element);
  map.rank = rank;
  if (map.box[0] * map.elementBytes() != SwizzleBytes)
    throw Fault("bounds", "copies by a tensor map whose tiles have lines of other than 128 bytes");
  return map;
}

void readTile(const TensorMap &map, const std::array<int32_t, MostDimensions> &coordinates,
              const std::function<const char *(uint64_t, uint32_t)> &source,
              const std::function<void(uint32_t, const char *)> &put) {
  const uint32_t width = map.elementBytes(), together = PieceBytes / width;
  std::array<uint32_t, MostDimensions> place{}; // of a line in the box
  const uint32_t lines = map.boxBytes() / SwizzleBytes;
  for (uint32_t line = 0; line < lines; ++line) {
    bool inside = true;
    uint64_t start = map.address;
    uint32_t rest = line;
    for (int d = 1; d < map.rank; ++d) {
      place[d] = rest % map.box[d];
      rest /= map.box[d];
      const int64_t index = int64_t{coordinates[d]} + place[d];
      inside &= index >= 0 && static_cast<uint64_t>(index) < map.sizes[d];
      start += static_cast<uint64_t>(index) * map.strides[d - 1];
    }
    for (uint32_t offset = 0; offset < SwizzleBytes; offset += PieceBytes) {
      const int64_t first = int64_t{coordinates[0]} + offset / width;
      const int64_t end = static_cast<int64_t>(map.sizes[0]);
      char piece[PieceBytes] = {};
      if (inside && first >= 0 && first + together <= end && (start + first * width) % PieceBytes == 0) {
        std::memcpy(piece, source(start + first * width, PieceBytes), PieceBytes);
      } else if (inside) {
        for (int64_t k = 0; k < together; ++k)
          if (first + k >= 0 && first + k < end)
            std::memcpy(piece + k * width, source(start + (first + k) * width, width), width);
      }
      if (map.element == MapElement::Tensor)
        roundToTensor(piece);
      put(line * SwizzleBytes + offset, piece);
    }
  }
}

} // namespace hlo::emulator
