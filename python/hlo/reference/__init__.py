"""The reference semantics of the `hlo` dialect: one pure NumPy function an operation, and an
evaluator of modules.

It is the oracle of the compiler's tests, made to be right and readable; it is not made to be fast.
The functions need NumPy alone (SciPy for special functions and LAPACK); `hlo.reference.evaluate`
walks a module.

Semantics are the StableHLO specification's. Where it leaves a choice open, the choice here is:

- Floats are computed wide and rounded once to the result type, sums and products of reductions,
  windows, scatters, dots and convolutions included. Subnormals are kept.
- Integer division by zero gives -1 (all bits set), the remainder by zero the dividend, and the
  minimum divided by -1 itself; floats convert to integers by truncation that saturates, NaN to 0.
- A complex number converts to a real or a boolean by its real part.
- Other reductions fold neighbours in a balanced tree, in order; updates of a scatter to one place
  are applied in the order of the update's elements. An update's elements are dropped one by one
  where they fall out of bounds (XLA drops the window that contains them).
- sort is stable always; top_k is in total order, earlier elements first among equals.
- rng_bit_generator arranges counters and outputs as XLA does, and DEFAULT is Philox; rng returns
  the same numbers at each call.
- The triangle that a Cholesky factor does not have is zero; a matrix that is not positive definite
  gives NaN.
- One process runs: replica 0 of partition 0.
"""
