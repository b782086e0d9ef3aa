#include "index_cuts.h"

#include "llvm-c/Core.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace hlo::runtime {
namespace {

constexpr size_t mostTerms = 12;

using Term = std::pair<LLVMValueRef, uint64_t>; // a value and its factor

// The sum of the terms, which are ordered and distinct, and a constant, modulo 2^64.
struct Sum {
  std::vector<Term> terms;
  uint64_t constant = 0;
};

bool isIndex(LLVMValueRef value) {
  LLVMTypeRef type = LLVMTypeOf(value);
  return LLVMGetTypeKind(type) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) == 64;
}

bool isNarrow(LLVMValueRef value) {
  LLVMTypeRef type = LLVMTypeOf(value);
  return LLVMGetTypeKind(type) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) < 64;
}

bool isConstant(LLVMValueRef value) { return LLVMIsAConstantInt(value) != nullptr; }

Sum scaled(Sum sum, uint64_t factor) {
  for (Term &term : sum.terms)
    term.second *= factor;
  sum.constant *= factor;
  return sum;
}

Sum added(const Sum &left, const Sum &right) {
  Sum sum{{}, left.constant + right.constant};
  auto l = left.terms.begin(), r = right.terms.begin();
  while (l != left.terms.end() || r != right.terms.end()) {
    const bool fromLeft = r == right.terms.end() || (l != left.terms.end() && l->first <= r->first);
    const bool fromRight = l == left.terms.end() || (r != right.terms.end() && r->first <= l->first);
    Term term{fromLeft ? l->first : r->first, 0};
    if (fromLeft)
      term.second += (l++)->second;
    if (fromRight)
      term.second += (r++)->second;
    sum.terms.push_back(term);
  }
  return sum;
}

class IndexCuts {
public:
  explicit IndexCuts(LLVMModuleRef module) : builder(LLVMCreateBuilderInContext(LLVMGetModuleContext(module))) {}
  ~IndexCuts() { LLVMDisposeBuilder(builder); }
  IndexCuts(const IndexCuts &) = delete;
  IndexCuts &operator=(const IndexCuts &) = delete;

  void cut(LLVMBasicBlockRef block) {
    frozen.clear();
    std::vector<LLVMValueRef> values;
    for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i))
      if (isArithmetic(i))
        values.push_back(i);
    for (LLVMValueRef value : values) {
      sumOf(value); // of operands first: then a long chain of sums is no deep recursion
      readersElsewhere(value, block);
      if (!readers.empty())
        replaceIn(value);
    }
  }

  // Sums of narrow integers are data, not addresses: what is computed of a counter is none of a loop's recurrences.
  void cutCounters(LLVMBasicBlockRef block) {
    for (LLVMValueRef phi = LLVMGetFirstInstruction(block); phi && LLVMIsAPHINode(phi);
         phi = LLVMGetNextInstruction(phi))
      if (isNarrow(phi))
        if (LLVMValueRef step = stepOf(phi)) {
          freezeSums(phi, step);
          freezeSums(step, phi);
        }
  }

private:
  // The sum of a phi and a constant that the phi is in the next iteration; none if it does not count.
  static LLVMValueRef stepOf(LLVMValueRef phi) {
    for (unsigned i = 0, count = LLVMCountIncoming(phi); i < count; ++i) {
      LLVMValueRef next = LLVMGetIncomingValue(phi, i);
      if (LLVMIsAInstruction(next) && LLVMGetInstructionOpcode(next) == LLVMAdd && LLVMGetOperand(next, 0) == phi &&
          isConstant(LLVMGetOperand(next, 1)))
        return next;
    }
    return nullptr;
  }

  // Freezes what is computed of a counter, its other form apart.
  void freezeSums(LLVMValueRef counter, LLVMValueRef other) {
    std::vector<LLVMValueRef> sums;
    for (LLVMUseRef use = LLVMGetFirstUse(counter); use; use = LLVMGetNextUse(use)) {
      LLVMValueRef reader = LLVMGetUser(use);
      if (reader != other && LLVMIsABinaryOperator(reader) && std::find(sums.begin(), sums.end(), reader) == sums.end())
        sums.push_back(reader);
    }
    for (LLVMValueRef sum : sums) {
      LLVMPositionBuilderBefore(builder, LLVMGetNextInstruction(sum));
      LLVMValueRef frozenSum = LLVMBuildFreeze(builder, sum, "");
      LLVMReplaceAllUsesWith(sum, frozenSum);
      LLVMSetOperand(frozenSum, 0, sum);
    }
  }

  // What another value is to be taken for; loads and calls are opaque as they are, phis are what loops are known by.
  static bool isArithmetic(LLVMValueRef value) {
    if (!isIndex(value))
      return false;
    switch (LLVMGetInstructionOpcode(value)) {
    case LLVMAdd:
    case LLVMSub:
    case LLVMMul:
    case LLVMShl:
    case LLVMUDiv:
    case LLVMURem:
    case LLVMSDiv:
    case LLVMSRem:
    case LLVMSelect:
      return true;
    default:
      return false;
    }
  }

  // Operands elsewhere that are a value: the reader and the operand's number. Where a loop begins or ends, its phis
  // keep what they have.
  void readersElsewhere(LLVMValueRef value, LLVMBasicBlockRef block) {
    readers.clear();
    for (LLVMUseRef use = LLVMGetFirstUse(value); use; use = LLVMGetNextUse(use)) {
      LLVMValueRef reader = LLVMGetUser(use);
      if (LLVMGetInstructionParent(reader) == block || LLVMIsAPHINode(reader))
        continue;
      if (std::find(readers.begin(), readers.end(), reader) == readers.end())
        readers.push_back(reader);
    }
  }

  void replaceIn(LLVMValueRef value) {
    LLVMPositionBuilderBefore(builder, LLVMGetNextInstruction(value));
    const Sum sum = sumOf(value);
    auto [found, isNew] = frozen.try_emplace(sum.terms, nullptr, sum.constant);
    auto &[first, constant] = found->second;
    LLVMValueRef replacement = nullptr;
    if (isNew)
      replacement = first = LLVMBuildFreeze(builder, value, "");
    else if (sum.constant == constant)
      replacement = first;
    else
      replacement = LLVMBuildAdd(builder, first, LLVMConstInt(LLVMTypeOf(value), sum.constant - constant, 0), "");
    for (LLVMValueRef reader : readers)
      for (int i = 0, count = LLVMGetNumOperands(reader); i < count; ++i)
        if (LLVMGetOperand(reader, static_cast<unsigned>(i)) == value)
          LLVMSetOperand(reader, static_cast<unsigned>(i), replacement);
  }

  const Sum &sumOf(LLVMValueRef value) {
    // Unreachable code may go round in circles: until its sum is known a value is opaque.
    auto [found, isNew] = sums.try_emplace(value, Sum{{{value, 1}}, 0});
    Sum &known = found->second;
    if (!isNew)
      return known;
    Sum sum = computedSum(value);
    if (sum.terms.size() <= mostTerms)
      known = std::move(sum);
    return known;
  }

  Sum computedSum(LLVMValueRef value) {
    if (isConstant(value))
      return {{}, LLVMConstIntGetZExtValue(value)};
    const Sum opaque{{{value, 1}}, 0};
    if (!LLVMIsAInstruction(value))
      return opaque;
    const LLVMOpcode opcode = LLVMGetInstructionOpcode(value);
    if (opcode != LLVMAdd && opcode != LLVMSub && opcode != LLVMMul && opcode != LLVMShl)
      return opaque;
    // One that may be poison where an equal sum is not has no equals.
    if (LLVMGetNSW(value) || LLVMGetNUW(value))
      return opaque;
    LLVMValueRef left = LLVMGetOperand(value, 0), right = LLVMGetOperand(value, 1);
    if (opcode == LLVMAdd)
      return added(sumOf(left), sumOf(right));
    if (opcode == LLVMSub)
      return added(sumOf(left), scaled(sumOf(right), ~uint64_t{0}));
    if (opcode == LLVMMul && isConstant(left))
      std::swap(left, right);
    if (!isConstant(right))
      return opaque;
    const uint64_t factor = LLVMConstIntGetZExtValue(right);
    if (opcode == LLVMMul)
      return factor == 0 ? opaque : scaled(sumOf(left), factor);
    return factor < 64 ? scaled(sumOf(left), uint64_t{1} << factor) : opaque;
  }

  LLVMBuilderRef builder;
  std::unordered_map<LLVMValueRef, Sum> sums;
  // Of the block at hand: the frozen value of each set of terms, and the constant in it.
  std::map<std::vector<Term>, std::pair<LLVMValueRef, uint64_t>> frozen;
  std::vector<LLVMValueRef> readers;
};

} // namespace

void cutIndices(LLVMModuleRef module) {
  IndexCuts cuts(module);
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block; block = LLVMGetNextBasicBlock(block)) {
      cuts.cutCounters(block);
      cuts.cut(block);
    }
}

} // namespace hlo::runtime
