// wgmma: descriptors of tiles in shared memory, and the part of a product that one warp of four has.
//
// Tiles have lines of 128 bytes, swizzled by as many. (PTX ISA, "Matrix Descriptor" and "Strides".)
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace hlo::emulator {

enum class Factor : uint8_t { Half, Brain, Tensor, SignedByte, UnsignedByte, E4M3, E5M2 };

/// An instruction: D (64 x columns) += A (64 x depth) B (depth x columns).
struct WarpgroupMultiply {
  Factor left, right;
  bool integral; // sums are i32, else f32
  int columns;
  bool leftTurned, rightTurned; // lines are along the side, not the depth
  bool held;                    // the left factors are in registers

  static constexpr int Words = 4; // of held factors, a thread's

  int depth() const;
  int registers() const { return columns / 2; } // sums of a thread
};

/// Gives 16 bytes at an address of shared memory, an 18-bit one as descriptors have it.
using Pieces = std::function<const char *(uint32_t address)>;

/// Throws Fault if a descriptor names a layout that is not known here.
void checkDescriptor(uint64_t descriptor);

/// Reads what a product takes of shared memory for the rows of warp 0 to 3: every piece once. `left` counts for
/// nothing where factors are held.
void touchPieces(const WarpgroupMultiply &how, int warp, uint64_t left, uint64_t right, const Pieces &pieces);

/// `sums` (registers x 32 lanes, as the manual's figure has them) of warp 0 to 3 of the group, with products added.
/// `held`: the warp's left factors (words x 32 lanes), where they are in registers.
void multiplyWarpgroup(const WarpgroupMultiply &how, int warp, uint64_t left, uint64_t right, const Pieces &pieces,
                       const uint32_t *held, uint32_t *sums, bool accumulate);

/// As hlo.gpu.ptx.warpgroups packs an instruction: columns (9 bits), both factors (4 bits each), and flags.
WarpgroupMultiply unpackWarpgroupMultiply(uint64_t packed);

} // namespace hlo::emulator
