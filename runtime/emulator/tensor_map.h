// Tensor maps of the emulated devices, and what a bulk copy of a tile brings; hlo.gpu.tensor_map writes them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

namespace hlo::emulator {

constexpr int MostDimensions = 5;
constexpr uint32_t MapBytes = 128;
constexpr uint32_t SwizzleBytes = 128; // of a line of a tile

enum class MapElement : uint8_t { Half, Brain, Tensor, Byte };

struct TensorMap {
  uint64_t address = 0;
  std::array<uint64_t, MostDimensions> sizes{};       // innermost first
  std::array<uint64_t, MostDimensions - 1> strides{}; // bytes, of all dimensions but the innermost
  std::array<uint16_t, MostDimensions> box{};
  MapElement element = MapElement::Half;
  int rank = 0;

  uint32_t elementBytes() const;
  uint32_t boxBytes() const;
};

/// Reads a map; throws Fault if these bytes are none, or a tile's lines are not 128 bytes.
TensorMap readTensorMap(const char *bytes);

/// Where byte `address` of shared memory goes: 16-byte pieces of 8 lines of 128 bytes are permuted.
inline uint64_t swizzled(uint64_t address) { return address ^ (address >> 7 & 7) << 4; }

/// A tile from coordinates on: `put(offset, piece)` for each 16 bytes, `offset` of a tile that is not swizzled.
/// `source(address, bytes)` gives memory that is read: 16 bytes, or an element.
void readTile(const TensorMap &map, const std::array<int32_t, MostDimensions> &coordinates,
              const std::function<const char *(uint64_t, uint32_t)> &source,
              const std::function<void(uint32_t, const char *)> &put);

} // namespace hlo::emulator
