// Tensor-core instructions: fragments as the PTX manual's figures have them.
//
// A product is summed in double precision and rounded once; the device's own order and rounding are not documented.

#include "formats.h"
#include "transfers.h"

#include <algorithm>
#include <cmath>

namespace hlo::emulator {

namespace {

/// Rows of A (16 x K) and columns of B (K x 8) are spread over the lanes in registers of 32 bits, each of which holds
/// 32 / Bits elements that are neighbours along K. A has registers for rows g and g + 8, for each group of
/// 4 registers' worth of K; the accumulator is 16 x 8, two columns a register pair.
template <int Bits> double element(const uint32_t *registers, int lane, int part, double (*decoder)(uint32_t)) {
  const uint32_t word = registers[lane] >> (part * Bits % 32);
  return decoder(Bits == 32 ? word : word & ((1ull << Bits) - 1));
}

template <int K, int Bits>
void gather(Warp &warp, const Instruction &i, int firstA, int firstB, double (*decodeA)(uint32_t),
            double (*decodeB)(uint32_t), double (&a)[16][K], double (&b)[K][8]) {
  constexpr int Parts = 32 / Bits; // elements of a register
  constexpr int Group = 4 * Parts; // elements of K that the four lanes of a group hold in one register
  constexpr int Groups = K / Group;
  for (int lane = 0; lane < Lanes; ++lane) {
    const int g = lane / 4, t = lane % 4;
    for (int part = 0; part < Parts; ++part)
      for (int group = 0; group < Groups; ++group) {
        const int k = group * Group + t * Parts + part;
        for (int half = 0; half < 2; ++half)
          a[g + 8 * half][k] =
              element<Bits>(warp.values<uint32_t>(i.operands[firstA + 2 * group + half]), lane, part, decodeA);
        b[k][g] = element<Bits>(warp.values<uint32_t>(i.operands[firstB + group]), lane, part, decodeB);
      }
  }
}

double half(uint32_t v) { return decodeHalf(static_cast<uint16_t>(v)); }
double brain(uint32_t v) { return decodeBrain(static_cast<uint16_t>(v)); }
double tensor(uint32_t v) { return bits<float>(v & 0xFFFFE000u); }
double signedByte(uint32_t v) { return static_cast<int8_t>(v); }
double unsignedByte(uint32_t v) { return v; }
double e4m3(uint32_t v) { return decode(E4M3, v); }
double e5m2(uint32_t v) { return decode(E5M2, v); }

enum class Sum { Float, Half, Integer };

/// Operands: D, A, B, C, each its registers.
template <int K, int Bits, Sum Accumulator, double (*DecodeA)(uint32_t), double (*DecodeB)(uint32_t)>
void multiply(Warp &warp, const Instruction &i, Mask) {
  constexpr int SumRegisters = Accumulator == Sum::Half ? 2 : 4;
  constexpr int Groups = K / (128 / Bits);
  const int firstA = SumRegisters, firstB = firstA + 2 * Groups, firstC = firstB + Groups;
  double a[16][K], b[K][8];
  gather<K, Bits>(warp, i, firstA, firstB, DecodeA, DecodeB, a, b);
  double products[16][8] = {};
  for (int row = 0; row < 16; ++row)
    for (int k = 0; k < K; ++k)
      for (int column = 0; column < 8; ++column)
        products[row][column] += a[row][k] * b[k][column];
  uint32_t result[SumRegisters][Lanes];
  for (int lane = 0; lane < Lanes; ++lane) {
    const int g = lane / 4, t = lane % 4;
    for (int r = 0; r < 4; ++r) {
      const double product = products[g + 8 * (r / 2)][2 * t + r % 2];
      if constexpr (Accumulator == Sum::Half) {
        const int shift = 16 * (r % 2);
        const uint32_t c = warp.values<uint32_t>(i.operands[firstC + r / 2])[lane] >> shift & 0xFFFF;
        uint32_t &d = result[r / 2][lane];
        d = (shift ? d : 0) | encode(Half, product + half(c)) << shift;
      } else if constexpr (Accumulator == Sum::Integer) {
        const uint32_t c = warp.values<uint32_t>(i.operands[firstC + r])[lane];
        result[r][lane] = static_cast<uint32_t>(static_cast<int64_t>(product)) + c;
        if (i.flags & Saturate)
          result[r][lane] = static_cast<uint32_t>(
              static_cast<int32_t>(std::min(std::max(product + static_cast<int32_t>(c), -0x1p31), 0x1p31 - 1)));
      } else {
        const float c = warp.values<float>(i.operands[firstC + r])[lane];
        const float d = static_cast<float>(product + double{c});
        result[r][lane] = d == d ? bits<uint32_t>(d) : 0x7FFFFFFFu;
      }
    }
  }
  for (int r = 0; r < SumRegisters; ++r)
    std::memcpy(warp.lanes<uint32_t>(i.operands[r]), result[r], sizeof result[r]);
}

/// m8n8k4 of doubles: A and B one element a lane, C and D two.
void multiplyDoubles(Warp &warp, const Instruction &i, Mask) {
  const double *a = warp.values<double>(i.operands[2]), *b = warp.values<double>(i.operands[3]);
  double result[2][Lanes];
  for (int lane = 0; lane < Lanes; ++lane)
    for (int r = 0; r < 2; ++r) {
      double sum = warp.values<double>(i.operands[4 + r])[lane];
      for (int k = 0; k < 4; ++k)
        sum = std::fma(a[lane / 4 * 4 + k], b[(lane % 4 * 2 + r) * 4 + k], sum);
      result[r][lane] = sum;
    }
  for (int r = 0; r < 2; ++r)
    std::memcpy(warp.lanes<double>(i.operands[r]), result[r], sizeof result[r]);
}

/// Operands: the address of a row (of lanes 8 m to 8 m + 7 for matrix m), then a register for each matrix.
void loadMatrices(Warp &warp, const Instruction &i, Mask) {
  const int matrices = i.operandCount - 1;
  const uint32_t space = detailOf(i).space;
  uint16_t rows[32][8];
  Actor actor = warp.actor(0, i.line);
  const Mask addressed = matrices == 4 ? AllLanes : (Mask{1} << (8 * matrices)) - 1;
  located(warp, i, addressed, [&](int lane) {
    actor.lane = static_cast<uint16_t>(lane);
    std::memcpy(rows[lane],
                access(warp, space, laneAddress(warp, i.operands[0], i.immediate, lane), 16, Access::Read, actor), 16);
  });
  for (int m = 0; m < matrices; ++m) {
    uint32_t *d = warp.lanes<uint32_t>(i.operands[m + 1]);
    for (int lane = 0; lane < Lanes; ++lane) {
      const int row = lane / 4, column = lane % 4 * 2;
      d[lane] = i.flags & Transposed ? rows[8 * m + column][row] | uint32_t{rows[8 * m + column + 1][row]} << 16
                                     : rows[8 * m + row][column] | uint32_t{rows[8 * m + row][column + 1]} << 16;
    }
  }
}

void storeMatrices(Warp &warp, const Instruction &i, Mask) {
  const int matrices = i.operandCount - 1;
  uint16_t rows[32][8];
  for (int m = 0; m < matrices; ++m) {
    const uint32_t *a = warp.values<uint32_t>(i.operands[m + 1]);
    for (int lane = 0; lane < Lanes; ++lane) {
      const int row = lane / 4, column = lane % 4 * 2;
      for (int k = 0; k < 2; ++k) {
        const uint16_t value = static_cast<uint16_t>(a[lane] >> (16 * k));
        if (i.flags & Transposed)
          rows[8 * m + column + k][row] = value;
        else
          rows[8 * m + row][column + k] = value;
      }
    }
  }
  const uint32_t space = detailOf(i).space;
  Actor actor = warp.actor(0, i.line);
  const Mask addressed = matrices == 4 ? AllLanes : (Mask{1} << (8 * matrices)) - 1;
  located(warp, i, addressed, [&](int lane) {
    actor.lane = static_cast<uint16_t>(lane);
    char *to = access(warp, space, laneAddress(warp, i.operands[0], i.immediate, lane), 16, Access::Write, actor,
                      reinterpret_cast<const char *>(rows[lane]));
    std::memcpy(to, rows[lane], 16);
  });
}

/// movmatrix: transposes an 8 x 8 matrix of 16-bit elements across the warp.
void transpose(Warp &warp, const Instruction &i, Mask) {
  const uint32_t *a = warp.values<uint32_t>(i.operands[1]);
  uint32_t result[Lanes];
  for (int lane = 0; lane < Lanes; ++lane) {
    const int row = lane / 4, column = lane % 4 * 2;
    auto at = [&](int r, int c) { return a[r * 4 + c / 2] >> (16 * (c % 2)) & 0xFFFF; };
    result[lane] = at(column, row) | at(column + 1, row) << 16;
  }
  std::memcpy(warp.lanes<uint32_t>(i.operands[0]), result, sizeof result);
}

} // namespace

void addMatrices(HandlerTable &t) {
  t["mma.m16n8k8.f32.f16.f16.f32"] = multiply<8, 16, Sum::Float, half, half>;
  t["mma.m16n8k16.f32.f16.f16.f32"] = multiply<16, 16, Sum::Float, half, half>;
  t["mma.m16n8k8.f16.f16.f16.f16"] = multiply<8, 16, Sum::Half, half, half>;
  t["mma.m16n8k16.f16.f16.f16.f16"] = multiply<16, 16, Sum::Half, half, half>;
  t["mma.m16n8k8.f32.bf16.bf16.f32"] = multiply<8, 16, Sum::Float, brain, brain>;
  t["mma.m16n8k16.f32.bf16.bf16.f32"] = multiply<16, 16, Sum::Float, brain, brain>;
  t["mma.m16n8k4.f32.tf32.tf32.f32"] = multiply<4, 32, Sum::Float, tensor, tensor>;
  t["mma.m16n8k8.f32.tf32.tf32.f32"] = multiply<8, 32, Sum::Float, tensor, tensor>;
  t["mma.m16n8k16.s32.s8.s8.s32"] = multiply<16, 8, Sum::Integer, signedByte, signedByte>;
  t["mma.m16n8k16.s32.u8.u8.s32"] = multiply<16, 8, Sum::Integer, unsignedByte, unsignedByte>;
  t["mma.m16n8k16.s32.s8.u8.s32"] = multiply<16, 8, Sum::Integer, signedByte, unsignedByte>;
  t["mma.m16n8k16.s32.u8.s8.s32"] = multiply<16, 8, Sum::Integer, unsignedByte, signedByte>;
  t["mma.m16n8k32.s32.s8.s8.s32"] = multiply<32, 8, Sum::Integer, signedByte, signedByte>;
  t["mma.m16n8k32.s32.u8.u8.s32"] = multiply<32, 8, Sum::Integer, unsignedByte, unsignedByte>;
  t["mma.m16n8k32.s32.s8.u8.s32"] = multiply<32, 8, Sum::Integer, signedByte, unsignedByte>;
  t["mma.m16n8k32.s32.u8.s8.s32"] = multiply<32, 8, Sum::Integer, unsignedByte, signedByte>;
  t["mma.m16n8k32.f32.e4m3.e4m3.f32"] = multiply<32, 8, Sum::Float, e4m3, e4m3>;
  t["mma.m16n8k32.f32.e5m2.e5m2.f32"] = multiply<32, 8, Sum::Float, e5m2, e5m2>;
  t["mma.m16n8k32.f32.e4m3.e5m2.f32"] = multiply<32, 8, Sum::Float, e4m3, e5m2>;
  t["mma.m16n8k32.f32.e5m2.e4m3.f32"] = multiply<32, 8, Sum::Float, e5m2, e4m3>;
  t["mma.m8n8k4.f64.f64.f64.f64"] = multiplyDoubles;
  t["ldmatrix"] = loadMatrices;
  t["stmatrix"] = storeMatrices;
  t["movmatrix"] = transpose;
}

} // namespace hlo::emulator
