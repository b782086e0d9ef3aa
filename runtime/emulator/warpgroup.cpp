#include "warpgroup.h"

#include "formats.h"
#include "lanes.h"

namespace hlo::emulator {

namespace {

constexpr int WarpRows = 16;
constexpr uint32_t LineBytes = 128, PieceBytes = 16, InstructionBytes = 32;

int widthOf(Factor factor) {
  switch (factor) {
  case Factor::Tensor:
    return 4;
  case Factor::Half:
  case Factor::Brain:
    return 2;
  default:
    return 1;
  }
}

double valueOf(Factor factor, const char *from) {
  uint32_t word = 0;
  std::memcpy(&word, from, widthOf(factor));
  switch (factor) {
  case Factor::Half:
    return decodeHalf(static_cast<uint16_t>(word));
  case Factor::Brain:
    return decodeBrain(static_cast<uint16_t>(word));
  case Factor::Tensor:
    return bits<float>(word & 0xFFFFE000u);
  case Factor::SignedByte:
    return static_cast<int8_t>(word);
  case Factor::UnsignedByte:
    return word;
  case Factor::E4M3:
    return decode(E4M3, word);
  default:
    return decode(E5M2, word);
  }
}

/// A tile by its descriptor.
struct Tile {
  explicit Tile(uint64_t descriptor)
      : start(static_cast<uint32_t>(descriptor & 0x3FFF) << 4),
        leading(static_cast<uint32_t>(descriptor >> 16 & 0x3FFF) << 4),
        stride(static_cast<uint32_t>(descriptor >> 32 & 0x3FFF) << 4) {}
  uint32_t start, leading, stride;

  /// The piece that holds byte `inner` of a line; lines and bytes are swizzled by where they are.
  uint32_t piece(uint32_t line, uint32_t inner, uint32_t panel) const {
    const uint32_t address = start + panel * leading + line / 8 * stride + line % 8 * LineBytes + inner;
    return (address ^ (address >> 7 & 7) << 4) & ~(PieceBytes - 1);
  }
};

/// Calls `f(piece, side, depth)` for each 16 bytes of `count` of the side from `first` on: the element that it begins
/// with. Those after it follow along the depth, or, if it is turned, along the side.
template <typename F> void forPieces(const Tile &tile, Factor factor, bool turned, int first, int count, F f) {
  const int width = widthOf(factor), together = static_cast<int>(PieceBytes) / width;
  const int depth = static_cast<int>(InstructionBytes) / width;
  if (!turned) {
    for (int side = first; side < first + count; ++side)
      for (int k = 0; k < depth; k += together)
        f(tile.piece(side, k * width, 0), side, k);
    return;
  }
  const int panel = static_cast<int>(LineBytes) / width;
  for (int k = 0; k < depth; ++k)
    for (int side = first; side < first + count; side += together)
      f(tile.piece(k, side % panel * width, side / panel), side, k);
}

/// The 16 x depth factors that a warp holds: of each 16 bytes of a row 4 in a lane, of two rows 8 apart.
void spread(Factor factor, const uint32_t *held, int depth, double *to) {
  const int width = widthOf(factor), together = 4 / width;
  for (int r = 0; r < WarpgroupMultiply::Words; ++r)
    for (int lane = 0; lane < Lanes; ++lane) {
      char word[4];
      std::memcpy(word, held + r * Lanes + lane, sizeof word);
      const int row = lane / 4 + 8 * (r % 2), first = (r / 2 * static_cast<int>(PieceBytes) + lane % 4 * 4) / width;
      for (int e = 0; e < together; ++e)
        to[row * depth + first + e] = valueOf(factor, word + e * width);
    }
}

} // namespace

int WarpgroupMultiply::depth() const { return static_cast<int>(InstructionBytes) / widthOf(left); }

void checkDescriptor(uint64_t descriptor) {
  if (descriptor >> 62 != 1 || descriptor >> 49 & 7)
    throw Fault("bounds", "multiplies a tile that is not swizzled by 128 bytes, or begins within the pattern");
}

void touchPieces(const WarpgroupMultiply &how, int warp, uint64_t left, uint64_t right, const Pieces &pieces) {
  if (!how.held)
    forPieces(Tile(left), how.left, how.leftTurned, WarpRows * warp, WarpRows,
              [&](uint32_t address, int, int) { pieces(address); });
  forPieces(Tile(right), how.right, how.rightTurned, 0, how.columns,
            [&](uint32_t address, int, int) { pieces(address); });
}

void multiplyWarpgroup(const WarpgroupMultiply &how, int warp, uint64_t left, uint64_t right, const Pieces &pieces,
                       const uint32_t *held, uint32_t *sums, bool accumulate) {
  const int depth = how.depth(), columns = how.columns;
  std::vector<double> a(WarpRows * depth), b(depth * columns), products(WarpRows * columns, 0.0);
  auto gather = [&](uint64_t descriptor, Factor factor, bool turned, int first, int count, auto place) {
    const int width = widthOf(factor);
    forPieces(Tile(descriptor), factor, turned, first, count, [&](uint32_t address, int side, int k) {
      const char *from = pieces(address);
      for (int e = 0; e < static_cast<int>(PieceBytes) / width; ++e)
        place(turned ? side + e : side, turned ? k : k + e) = valueOf(factor, from + e * width);
    });
  };
  if (how.held)
    spread(how.left, held, depth, a.data());
  else
    gather(left, how.left, how.leftTurned, WarpRows * warp, WarpRows,
           [&](int side, int k) -> double & { return a[(side - WarpRows * warp) * depth + k]; });
  gather(right, how.right, how.rightTurned, 0, columns,
         [&](int side, int k) -> double & { return b[k * columns + side]; });
  for (int row = 0; row < WarpRows; ++row)
    for (int k = 0; k < depth; ++k) {
      const double factor = a[row * depth + k];
      const double *from = b.data() + k * columns;
      double *to = products.data() + row * columns;
      for (int column = 0; column < columns; ++column)
        to[column] += factor * from[column];
    }
  for (int r = 0; r < how.registers(); ++r)
    for (int lane = 0; lane < Lanes; ++lane) {
      const int row = lane / 4 + 8 * (r / 2 % 2), column = 8 * (r / 4) + lane % 4 * 2 + r % 2;
      const double product = products[row * columns + column];
      uint32_t &sum = sums[r * Lanes + lane];
      if (how.integral) {
        sum = static_cast<uint32_t>(static_cast<int64_t>(product)) + (accumulate ? sum : 0);
        continue;
      }
      const float made = static_cast<float>(product + (accumulate ? double{bits<float>(sum)} : 0.0));
      sum = made == made ? bits<uint32_t>(made) : 0x7FFFFFFFu;
    }
}

WarpgroupMultiply unpackWarpgroupMultiply(uint64_t packed) {
  WarpgroupMultiply made;
  made.columns = static_cast<int>(packed & 0x1FF);
  made.left = static_cast<Factor>(packed >> 9 & 15);
  made.right = static_cast<Factor>(packed >> 13 & 15);
  made.integral = packed >> 17 & 1;
  made.leftTurned = packed >> 18 & 1;
  made.rightTurned = packed >> 19 & 1;
  made.held = packed >> 20 & 1;
  return made;
}

} // namespace hlo::emulator
