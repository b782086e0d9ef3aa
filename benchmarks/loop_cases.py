"""Programs whose time is in loops of small bodies: recurrences, dynamic programming, filters,
solvers, samplers, rollouts, searches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
# (jax, *arguments) -> results
Function = Callable[..., Any]


@dataclass(frozen=True)
class LoopCase:
    """A program; `iterations` of its innermost loop are what a run's time is divided by."""

    name: str
    function: Function
    arguments: list[Array]
    iterations: int


def _floats(*shape: int, scale: float = 1.0) -> Array:
    values = np.random.default_rng(sum(shape)).standard_normal(shape, dtype=np.float32)
    return np.asarray(values * np.float32(scale))


def _integers(below: int, *shape: int) -> Array:
    return np.random.default_rng(sum(shape)).integers(0, below, shape).astype(np.int32)


def _key() -> Array:
    return np.array([0, 7], np.uint32)


def _edit_distance(jax: Any, left: Any, right: Any) -> Any:
    """Levenshtein: rows by a scan, cells by a scan within."""
    jnp, lax = jax.numpy, jax.lax

    def row(before: Any, letter: Any) -> Any:
        def cell(last: Any, xs: Any) -> Any:
            above, diagonal, other = xs
            best = jnp.minimum(jnp.minimum(above, last) + 1, diagonal + (letter != other))
            return best, best

        first = before[0] + 1
        _, cells = lax.scan(cell, first, (before[1:], before[:-1], right))
        return jnp.concatenate([first[None], cells]), None

    last, _ = lax.scan(row, jnp.arange(len(right) + 1, dtype=jnp.int32), left)
    return last[-1]


def _edit_diagonals(jax: Any, left: Any, right: Any) -> Any:
    """Levenshtein by anti-diagonals, each a vector."""
    jnp, lax = jax.numpy, jax.lax
    n = left.shape[0]
    at = jnp.arange(n + 1)

    def step(carry: Any, d: Any) -> Any:
        two, one = carry
        other = jnp.take(right, d - at - 1, mode="clip")
        same = jnp.concatenate([jnp.zeros(1, jnp.int32), left]) == other
        up = jnp.concatenate([one[:1], one[:-1]])
        diagonal = jnp.concatenate([two[:1], two[:-1]])
        new = jnp.minimum(jnp.minimum(up, one) + 1, diagonal + jnp.where(same, 0, 1))
        new = jnp.where((at == 0) | (at == d), d, new)
        return (one, new), None

    start = jnp.zeros(n + 1, jnp.int32)
    (_, last), _ = lax.scan(step, (start, start + 1), jnp.arange(2, 2 * n + 1))
    return last[n]


def _kalman(jax: Any, transition: Any, observation: Any, ys: Any) -> Any:
    jnp, lax = jax.numpy, jax.lax
    eye = jnp.eye(4)

    def step(carry: Any, y: Any) -> Any:
        mean, cov = carry
        mean = transition @ mean
        cov = transition @ cov @ transition.T + 0.01 * eye
        s = observation @ cov @ observation.T + 0.1 * jnp.eye(2)
        det = s[0, 0] * s[1, 1] - s[0, 1] * s[1, 0]
        inverse = jnp.array([[s[1, 1], -s[0, 1]], [-s[1, 0], s[0, 0]]]) / det
        gain = cov @ observation.T @ inverse
        mean = mean + gain @ (y - observation @ mean)
        cov = (eye - gain @ observation) @ cov
        return (mean, cov), mean

    return lax.scan(step, (jnp.zeros(4), eye), ys)


def _hmm_forward(jax: Any, log_transition: Any, log_emission: Any, ys: Any) -> Any:
    lax, lse = jax.lax, jax.nn.logsumexp

    def step(alpha: Any, y: Any) -> Any:
        alpha = lse(alpha[:, None] + log_transition, axis=0) + log_emission[:, y]
        return alpha, None

    alpha, _ = lax.scan(step, log_emission[:, ys[0]], ys[1:])
    return lse(alpha)


def _viterbi(jax: Any, log_transition: Any, log_emission: Any, ys: Any) -> Any:
    jnp, lax = jax.numpy, jax.lax

    def step(score: Any, y: Any) -> Any:
        each = score[:, None] + log_transition
        return each.max(0) + log_emission[:, y], each.argmax(0)

    score, back = lax.scan(step, log_emission[:, ys[0]], ys[1:])

    def follow(state: Any, pointers: Any) -> Any:
        return pointers[state], state

    first, path = lax.scan(follow, score.argmax(), back, reverse=True)
    return jnp.concatenate([first[None], path]), score.max()


def _lstm(jax: Any, weights: Any, recurrent: Any, bias: Any, xs: Any) -> Any:
    jnp, lax = jax.numpy, jax.lax
    state = jnp.zeros((xs.shape[1], recurrent.shape[0]))

    def step(carry: Any, x: Any) -> Any:
        h, c = carry
        i, f, g, o = jnp.split(x @ weights + h @ recurrent + bias, 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    return lax.scan(step, (state, state), xs)[1]


def _gru(jax: Any, weights: Any, recurrent: Any, xs: Any) -> Any:
    jnp, lax = jax.numpy, jax.lax
    state = jnp.zeros((xs.shape[1], recurrent.shape[0]))

    def step(h: Any, x: Any) -> Any:
        xr, xz, xn = jnp.split(x @ weights, 3, -1)
        hr, hz, hn = jnp.split(h @ recurrent, 3, -1)
        r, z = jax.nn.sigmoid(xr + hr), jax.nn.sigmoid(xz + hz)
        h = (1 - z) * jnp.tanh(xn + r * hn) + z * h
        return h, h

    return lax.scan(step, state, xs)[1]


def _lstm_gradient(jax: Any, weights: Any, recurrent: Any, bias: Any, xs: Any) -> Any:
    def loss(w: Any, r: Any, b: Any) -> Any:
        return (_lstm(jax, w, r, b, xs) ** 2).mean()

    return jax.grad(loss, (0, 1, 2))(weights, recurrent, bias)


def _lorenz(jax: Any, start: Any) -> Any:
    """Runge-Kutta 4 of three equations."""
    jnp, lax = jax.numpy, jax.lax

    def slope(s: Any) -> Any:
        x, y, z = s
        return jnp.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])

    def step(s: Any, _: Any) -> Any:
        h = 0.001
        k1 = slope(s)
        k2 = slope(s + h / 2 * k1)
        k3 = slope(s + h / 2 * k2)
        k4 = slope(s + h * k3)
        s = s + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return s, s

    return lax.scan(step, start, None, length=500)[1]


def _bisect(jax: Any, targets: Any) -> Any:
    jnp, lax = jax.numpy, jax.lax

    def solve(target: Any) -> Any:
        def body(carry: Any) -> Any:
            low, high = carry
            middle = 0.5 * (low + high)
            above = middle * jnp.exp(middle) > target
            return jnp.where(above, low, middle), jnp.where(above, middle, high)

        low, _ = lax.while_loop(lambda c: c[1] - c[0] > 1e-5, body, (0.0, 10.0))
        return low

    return jax.vmap(solve)(targets)


def _newton(jax: Any, target: Any) -> Any:
    """One root of one equation: all carries are scalars."""
    jnp, lax = jax.numpy, jax.lax

    def body(carry: Any) -> Any:
        x, _, count = carry
        step = 0.01 * (x * x * x - target) / (3 * x * x)
        return x - step, jnp.abs(step), count + 1

    return lax.while_loop(
        lambda c: (c[1] > 1e-6) & (c[2] < 2000), body, (10.0 + target, jnp.inf, 0)
    )


def _log_density(jnp: Any, x: Any) -> Any:
    return -0.5 * (x * x).sum() - 0.1 * ((x[1:] - x[:-1] ** 2) ** 2).sum()


def _hmc(jax: Any, key: Any, start: Any) -> Any:
    jnp, lax = jax.numpy, jax.lax
    density = lambda x: _log_density(jnp, x)  # noqa: E731
    slope = jax.grad(density)

    def sample(x: Any, key: Any) -> Any:
        first, second = jax.random.split(key)
        momentum = jax.random.normal(first, x.shape)

        def leap(_: Any, state: Any) -> Any:
            q, p = state
            p = p + 0.05 * slope(q)
            q = q + 0.1 * p
            return q, p + 0.05 * slope(q)

        q, p = lax.fori_loop(0, 10, leap, (x, momentum))
        change = density(q) - density(x) - 0.5 * ((p * p).sum() - (momentum * momentum).sum())
        accept = jnp.log(jax.random.uniform(second)) < change
        x = jnp.where(accept, q, x)
        return x, x

    return lax.scan(sample, start, jax.random.split(key, 100))[1]


def _random_walk(jax: Any, key: Any, start: Any) -> Any:
    jnp, lax = jax.numpy, jax.lax

    def sample(carry: Any, key: Any) -> Any:
        x, value = carry
        first, second = jax.random.split(key)
        proposal = x + 0.3 * jax.random.normal(first, x.shape)
        other = _log_density(jnp, proposal)
        accept = jnp.log(jax.random.uniform(second)) < other - value
        x, value = jnp.where(accept, proposal, x), jnp.where(accept, other, value)
        return (x, value), x

    carry = (start, _log_density(jnp, start))
    return lax.scan(sample, carry, jax.random.split(key, 500))[1]


def _particle_filter(jax: Any, key: Any, ys: Any) -> Any:
    jnp, lax = jax.numpy, jax.lax
    count = 256

    def step(x: Any, inputs: Any) -> Any:
        key, y = inputs
        first, second = jax.random.split(key)
        x = 0.9 * x + 0.5 * jax.random.normal(first, (count,))
        logs = -0.5 * ((y - x) / 0.3) ** 2
        weights = jnp.exp(logs - logs.max())
        total = jnp.cumsum(weights)
        points = (jax.random.uniform(second) + jnp.arange(count)) / count * total[-1]
        return x[jnp.searchsorted(total, points)], (weights * x).sum() / total[-1]

    keys = jax.random.split(key, ys.shape[0])
    return lax.scan(step, jnp.zeros(count), (keys, ys))[1]


def _life(jax: Any, board: Any) -> Any:
    jnp, lax = jax.numpy, jax.lax

    def step(_: Any, b: Any) -> Any:
        near = sum(jnp.roll(b, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
        return ((near == 3) | ((b == 1) & (near == 2))).astype(b.dtype)

    return lax.fori_loop(0, 50, step, board)


def _cart_poles(jax: Any, states: Any, gains: Any) -> Any:
    jnp, lax = jax.numpy, jax.lax

    def rollout(state: Any) -> Any:
        def step(s: Any, _: Any) -> Any:
            x, v, angle, turn = s
            force = jnp.clip(gains @ s, -10.0, 10.0)
            sine, cosine = jnp.sin(angle), jnp.cos(angle)
            part = (force + 0.05 * turn**2 * sine) / 1.1
            bend = (9.8 * sine - cosine * part) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
            push = part - 0.05 * bend * cosine / 1.1
            new = jnp.stack(
                [x + 0.02 * v, v + 0.02 * push, angle + 0.02 * turn, turn + 0.02 * bend]
            )
            return new, (jnp.abs(angle) < 0.2).astype(jnp.float32)

        return lax.scan(step, state, None, length=200)[1].sum()

    return jax.vmap(rollout)(states)


def _lqr(jax: Any, a: Any, b: Any, start: Any) -> Any:
    """Backward Riccati recursion, then a rollout with its gains."""
    jnp, lax = jax.numpy, jax.lax
    n, m = b.shape
    q, r = jnp.eye(n), 0.1 * jnp.eye(m)

    def back(p: Any, _: Any) -> Any:
        s = r + b.T @ p @ b
        det = s[0, 0] * s[1, 1] - s[0, 1] * s[1, 0]
        inverse = jnp.array([[s[1, 1], -s[0, 1]], [-s[1, 0], s[0, 0]]]) / det
        gain = inverse @ (b.T @ p @ a)
        return q + a.T @ p @ (a - b @ gain), gain

    _, gains = lax.scan(back, q, None, length=100, reverse=True)

    def forward(x: Any, gain: Any) -> Any:
        u = -gain @ x
        return a @ x + b @ u, (x, u)

    return lax.scan(forward, start, gains)[1]


def _beam_search(jax: Any, table: Any) -> Any:
    jnp, lax = jax.numpy, jax.lax
    beams, words = 8, table.shape[0]

    def step(carry: Any, _: Any) -> Any:
        scores, last = carry
        each = scores[:, None] + jax.nn.log_softmax(table[last], -1)
        best, at = lax.top_k(each.reshape(-1), beams)
        parent, word = at // words, (at % words).astype(jnp.int32)
        return (best, word), (parent, word)

    scores = jnp.where(jnp.arange(beams) == 0, 0.0, -jnp.inf)
    return lax.scan(step, (scores, jnp.zeros(beams, jnp.int32)), None, length=50)


def _value_iteration(jax: Any, transitions: Any, rewards: Any) -> Any:
    jnp, lax = jax.numpy, jax.lax

    def body(carry: Any) -> Any:
        values, _, count = carry
        new = (rewards + 0.9 * jnp.einsum("ast,t->sa", transitions, values)).max(1)
        return new, jnp.abs(new - values).max(), count + 1

    start = (jnp.zeros(rewards.shape[0]), jnp.inf, 0)
    return lax.while_loop(lambda c: (c[1] > 1e-4) & (c[2] < 300), body, start)[0]


def _regression(jax: Any, x: Any, y: Any) -> Any:
    """Gradient descent of a logistic regression."""
    jnp, lax = jax.numpy, jax.lax

    def loss(w: Any) -> Any:
        return jnp.logaddexp(0, -y * (x @ w)).mean()

    return lax.fori_loop(0, 200, lambda _, w: w - 0.5 * jax.grad(loss)(w), jnp.zeros(x.shape[1]))


def _tiny_mlp(jax: Any, w1: Any, w2: Any, xs: Any) -> Any:
    """Gradient descent of a network 8-16-1 on one example a step."""
    jnp, lax = jax.numpy, jax.lax

    def loss(weights: Any, x: Any) -> Any:
        return ((jnp.tanh(x @ weights[0]) @ weights[1] - x.sum()) ** 2).sum()

    def step(weights: Any, x: Any) -> Any:
        value, slopes = jax.value_and_grad(loss)(weights, x)
        return jax.tree.map(lambda w, g: w - 0.01 * g, weights, slopes), value

    return lax.scan(step, (w1, w2), xs)


def _linear_recurrence(jax: Any, decay: Any, inputs: Any) -> Any:
    """An associative scan over time, as state space models have it."""

    def combine(left: Any, right: Any) -> Any:
        return left[0] * right[0], left[1] * right[0] + right[1]

    return jax.lax.associative_scan(combine, (decay, inputs))[1]


def _exponential_average(jax: Any, xs: Any) -> Any:
    def step(mean: Any, x: Any) -> Any:
        mean = 0.99 * mean + 0.01 * x
        return mean, mean

    return jax.lax.scan(step, xs[0], xs)[1]


def _branches(jax: Any, xs: Any, which: Any) -> Any:
    jnp, lax = jax.numpy, jax.lax
    steps = [lambda s, x: s + x, lambda s, x: s * 0.9, lambda s, x: jnp.sin(s) - x]

    def step(state: Any, inputs: Any) -> Any:
        x, k = inputs
        state = lax.switch(k, steps, state, x)
        return state, state.sum()

    return lax.scan(step, xs[0], (xs, which))


def _collatz(jax: Any, numbers: Any) -> Any:
    """A while loop with a predicate of its own in each lane."""
    jnp, lax = jax.numpy, jax.lax

    def count(n: Any) -> Any:
        def body(carry: Any) -> Any:
            n, steps = carry
            return jnp.where(n % 2 == 0, n // 2, 3 * n + 1), steps + 1

        return lax.while_loop(lambda c: c[0] > 1, body, (n, 0))[1]

    return jax.vmap(count)(numbers)


def _discounted(jax: Any, rewards: Any, values: Any) -> Any:
    """Generalised advantages: a reverse scan over time."""
    lax = jax.lax

    def step(carry: Any, inputs: Any) -> Any:
        advantage, after = carry
        reward, value = inputs
        advantage = reward + 0.99 * after - value + 0.95 * 0.99 * advantage
        return (advantage, value), advantage

    start = (rewards[0] * 0, values[0] * 0)
    return lax.scan(step, start, (rewards, values), reverse=True)[1]


def _pendulum_gradient(jax: Any, controls: Any) -> Any:
    """The gradient of a rollout by its controls: loops forwards and back."""
    jnp, lax = jax.numpy, jax.lax

    def cost(us: Any) -> Any:
        def step(s: Any, u: Any) -> Any:
            angle, speed = s
            speed = speed + 0.05 * (jnp.sin(angle) * 9.8 + u)
            angle = angle + 0.05 * speed
            return (angle, speed), angle**2 + 0.1 * speed**2 + 0.001 * u**2

        return lax.scan(step, (jnp.float32(3.1), jnp.float32(0)), us)[1].sum()

    return jax.grad(cost)(controls)


def _lennard_jones(jax: Any, positions: Any) -> Any:
    """Velocity Verlet of all pairs in a periodic box."""
    jnp, lax = jax.numpy, jax.lax
    box = 6.0

    def energy(r: Any) -> Any:
        d = r[:, None] - r[None]
        d = d - box * jnp.round(d / box)
        far = jnp.eye(len(r))
        squared = (d * d).sum(-1) + far
        inverse = 1 / squared**3
        pairs = jnp.where(far > 0, 0.0, 4 * (inverse * inverse - inverse))
        return 0.5 * pairs.sum()

    force = lambda r: -jax.grad(energy)(r)  # noqa: E731

    def step(carry: Any, _: Any) -> Any:
        r, v, f = carry
        r = (r + 0.001 * v + 0.5e-6 * f) % box
        new = force(r)
        return (r, v + 0.0005 * (f + new), new), None

    start = (positions, jnp.zeros_like(positions), force(positions))
    return lax.scan(step, start, None, length=20)[0]


def _implicit_step(jax: Any, start: Any) -> Any:
    """Backward Euler of Van der Pol's equation: Newton's iteration within a loop over time."""
    jnp, lax = jax.numpy, jax.lax

    def slope(s: Any) -> Any:
        return jnp.stack([s[1], 50.0 * (1 - s[0] ** 2) * s[1] - s[0]])

    def step(s: Any, _: Any) -> Any:
        h = 0.01

        def body(carry: Any) -> Any:
            z, _, count = carry
            residual = z - s - h * slope(z)
            j = jnp.eye(2) - h * jax.jacfwd(slope)(z)
            det = j[0, 0] * j[1, 1] - j[0, 1] * j[1, 0]
            d = jnp.stack(
                [j[1, 1] * residual[0] - j[0, 1] * residual[1],
                 j[0, 0] * residual[1] - j[1, 0] * residual[0]]
            ) / det  # fmt: skip
            return z - d, jnp.abs(d).max(), count + 1

        z, _, count = lax.while_loop(lambda c: (c[1] > 1e-5) & (c[2] < 10), body, (s, jnp.inf, 0))
        return z, (z, count)

    return lax.scan(step, start, None, length=200)[1]


def _conjugate_gradients(jax: Any, matrix: Any, b: Any) -> Any:
    jnp, lax = jax.numpy, jax.lax

    def body(carry: Any) -> Any:
        x, r, p, rr, count = carry
        ap = matrix @ p
        alpha = rr / (p @ ap)
        x, r = x + alpha * p, r - alpha * ap
        new = r @ r
        return x, r, r + new / rr * p, new, count + 1

    start = (jnp.zeros_like(b), b, b, b @ b, 0)
    return lax.while_loop(lambda c: (c[3] > 1e-8) & (c[4] < 60), body, start)[0]


def loop_cases() -> Iterator[LoopCase]:
    """The cases, in the order of the table."""
    noise = _floats(24, 24, scale=0.2)
    spd = np.asarray(noise @ noise.T + np.eye(24, dtype=np.float32))
    stable = np.asarray(0.95 * np.eye(4, dtype=np.float32) + _floats(4, 4, scale=0.02))
    table: list[tuple[str, Function, list[Array], int]] = [
        ("edit distance 64x64, nested scans", _edit_distance,
         [_integers(4, 64), _integers(4, 65)[1:]], 4096),
        ("edit distance 128x128, diagonals", _edit_diagonals,
         [_integers(4, 128), _integers(4, 129)[1:]], 255),
        ("Kalman filter 4/2, 200 steps", _kalman,
         [stable, _floats(2, 4), _floats(200, 2)], 200),
        ("HMM forward, 16 states", _hmm_forward,
         [_floats(16, 16), _floats(16, 8), _integers(8, 200)], 200),
        ("Viterbi, 16 states", _viterbi,
         [_floats(16, 16), _floats(16, 8), _integers(8, 200)], 400),
        ("LSTM batch 1, 32-64, 50 steps", _lstm,
         [_floats(32, 256, scale=0.1), _floats(64, 256, scale=0.1), _floats(256),
          _floats(50, 1, 32)], 50),
        ("LSTM batch 8, 32-64, 50 steps", _lstm,
         [_floats(32, 256, scale=0.1), _floats(64, 256, scale=0.1), _floats(256),
          _floats(50, 8, 32)], 50),
        ("GRU batch 4, 16-32, 100 steps", _gru,
         [_floats(16, 96, scale=0.2), _floats(32, 96, scale=0.2), _floats(100, 4, 16)], 100),
        ("LSTM gradient batch 4, 16-32, 30 steps", _lstm_gradient,
         [_floats(16, 128, scale=0.1), _floats(32, 128, scale=0.1), _floats(128),
          _floats(30, 4, 16)], 60),
        ("Lorenz by RK4, 500 steps", _lorenz, [_floats(3)], 500),
        ("bisection, 32 roots", _bisect, [np.abs(_floats(32))], 20),
        ("Newton, scalar carries", _newton, [np.array(2.0, np.float32)], 1500),
        ("HMC, 10 leaps, 100 samples", _hmc, [_key(), _floats(8)], 1000),
        ("random-walk Metropolis, 500 samples", _random_walk, [_key(), _floats(8)], 500),
        ("particle filter 256, 50 steps", _particle_filter, [_key(), _floats(50)], 50),
        ("game of life 64x64, 50 steps", _life, [_integers(2, 64, 64)], 50),
        ("cart-pole, 64 rollouts of 200", _cart_poles,
         [_floats(64, 4, scale=0.05), _floats(4)], 200),
        ("LQR 4/2, horizon 100", _lqr, [stable, _floats(4, 2), _floats(4)], 200),
        ("beam search 8 x 64, 50 steps", _beam_search, [_floats(64, 64)], 50),
        ("value iteration, 32 states", _value_iteration,
         [np.asarray(np.random.default_rng(3).dirichlet(np.ones(32), (4, 32)), np.float32),
          _floats(32, 4)], 100),
        ("logistic regression 64x8, 200 steps", _regression,
         [_floats(64, 8), np.sign(_floats(64))], 200),
        ("network 8-16-1, 300 steps", _tiny_mlp,
         [_floats(8, 16, scale=0.3), _floats(16, 1, scale=0.3), _floats(300, 8)], 300),
        ("linear recurrence 512x16, associative", _linear_recurrence,
         [np.asarray(1 / (1 + np.exp(-_floats(512, 16))), np.float32), _floats(512, 16)], 1),
        ("exponential average 1000x8", _exponential_average, [_floats(1000, 8)], 1000),
        ("switch of 3 in a scan, 300 steps", _branches,
         [_floats(300, 16), _integers(3, 300)], 300),
        ("Collatz, 64 lanes", _collatz, [np.arange(1, 65, dtype=np.int32)], 112),
        ("advantages 128x8, reverse", _discounted, [_floats(128, 8), _floats(128, 8)], 128),
        ("pendulum gradient, 200 steps", _pendulum_gradient, [_floats(200)], 400),
        ("Lennard-Jones, 64 atoms, 20 steps", _lennard_jones,
         [np.asarray((np.indices((4, 4, 4)).reshape(3, -1).T * 1.5), np.float32)
          + _floats(64, 3, scale=0.02)], 20),
        ("implicit Euler with Newton, 200 steps", _implicit_step,
         [np.array([2, 0], np.float32)], 600),
        ("conjugate gradients 24x24", _conjugate_gradients, [spd, _floats(24)], 30),
    ]  # fmt: skip
    for row in table:
        yield LoopCase(*row)
