// The kernels of training.h, in the words of lanes.h.
#pragma once

#include "kernels.h"
#include "training.h"

namespace reverie::REVERIE_WIDTH {

/** The first `count` lanes; the others are zero. */
inline Floats loadSome(const float* from, int count) {
  if (count >= LANES) return load(from);
  float lanes[LANES] = {};
  for (int i = 0; i < count; i++) lanes[i] = from[i];
  return load(lanes);
}

inline void storeSome(float* to, Floats value, int count) {
  if (count >= LANES) return store(to, value);
  float lanes[LANES];
  store(lanes, value);
  for (int i = 0; i < count; i++) to[i] = lanes[i];
}

template <int rows, int vectors>
void productTile(const Product& p, int i, int j) {
  Floats sums[rows][vectors];
  float* const c = p.c + i * p.cRow + j;
  const int columns = p.n - j;
  REVERIE_UNROLL
  for (int r = 0; r < rows; r++) {
    REVERIE_UNROLL
    for (int v = 0; v < vectors; v++) {
      sums[r][v] = p.goesOn ? loadSome(c + r * p.cRow + v * LANES, columns - v * LANES)
                            : all(p.start == nullptr ? 0.0f : p.start[i + r]);
    }
  }
  const float* a = p.a + i * p.aRow;
  const float* b = p.b + j;
  for (int k = 0; k < p.k; k++, a += p.aStep, b += p.bRow) {
    Floats values[vectors];
    REVERIE_UNROLL
    for (int v = 0; v < vectors; v++) values[v] = load(b + v * LANES);
    REVERIE_UNROLL
    for (int r = 0; r < rows; r++) {
      const Floats factor = all(a[r * p.aRow]);
      REVERIE_UNROLL
      for (int v = 0; v < vectors; v++) sums[r][v] = multiplyAdd(factor, values[v], sums[r][v]);
    }
  }
  REVERIE_UNROLL
  for (int r = 0; r < rows; r++) {
    REVERIE_UNROLL
    for (int v = 0; v < vectors; v++) storeSome(c + r * p.cRow + v * LANES, sums[r][v], columns - v * LANES);
  }
}

/** The rows that are left over, fewer than `most`. */
template <int most, int vectors>
void productRest(const Product& p, int i, int j) {
  if constexpr (most > 1) {
    if (p.m - i == most - 1) {
      productTile<most - 1, vectors>(p, i, j);
    } else {
      productRest<most - 1, vectors>(p, i, j);
    }
  }
}

template <int vectors>
void productColumns(const Product& p, int j) {
  constexpr int most = TILE_ROWS<vectors>;
  int i = 0;
  for (; i + most <= p.m; i += most) productTile<most, vectors>(p, i, j);
  productRest<most, vectors>(p, i, j);
}

inline void product(const Product& p) {
  const int total = (p.n + LANES - 1) / LANES;
  for (int first = 0; first < total;) {
    const int vectors = blockOf(first, total, BLOCK), j = first * LANES;
    if (vectors == 1) productColumns<1>(p, j);
    if (vectors == 2) productColumns<2>(p, j);
    if constexpr (BLOCK > 2) {
      if (vectors == 3) productColumns<3>(p, j);
      if (vectors == 4) productColumns<4>(p, j);
    }
    first += vectors;
  }
}

/** Lanes of a where `isUpper` is not, and of b where it is: one step of turning a square of lanes about its diagonal. */
template <int step, bool isUpper>
inline Floats crossed(Floats a, Floats b) {
  Ints places;
  for (int i = 0; i < LANES; i++) {
    const bool isOfB = (i & step) != 0;
    places[i] = (isOfB ? LANES : 0) + i + (isUpper ? (isOfB ? 0 : step) : (isOfB ? -step : 0));
  }
#if defined(__clang__)
  Floats out;
  for (int i = 0; i < LANES; i++) out[i] = places[i] < LANES ? a[places[i]] : b[places[i] - LANES];
  return out;
#else
  return __builtin_shuffle(a, b, places);
#endif
}

template <int step>
inline void turn(Floats (&rows)[LANES]) {
  if constexpr (step < LANES) {
    _Pragma("GCC unroll 16") for (int i = 0; i < LANES; i++) {
      if ((i & step) != 0) continue;
      const Floats a = rows[i], b = rows[i + step];
      rows[i] = crossed<step, false>(a, b);
      rows[i + step] = crossed<step, true>(a, b);
    }
    turn<2 * step>(rows);
  }
}

inline void transpose(const float* from, std::int64_t fromRow, int m, int n, float* to, std::int64_t toRow) {
  for (int i = 0; i < m; i += LANES) {
    for (int j = 0; j < n; j += LANES) {
      Floats rows[LANES];
      _Pragma("GCC unroll 16") for (int r = 0; r < LANES; r++) rows[r] = load(from + (i + r) * fromRow + j);
      turn<1>(rows);
      _Pragma("GCC unroll 16") for (int r = 0; r < LANES; r++) store(to + (j + r) * toRow + i, rows[r]);
    }
  }
}

/** Vectors of rows whose sums over the features are under way together. */
constexpr int SIDE = 4 * LANES <= ROW_BLOCK ? 4 : 1;

/** For each group of rows, a call with its first row and its number of vectors as a constant. */
template <class Use>
inline void overRows(int rows, Use use) {
  int row = 0;
  for (; row + SIDE * LANES <= rows; row += SIDE * LANES) use.template operator()<SIDE>(row);
  for (; row < rows; row += LANES) use.template operator()<1>(row);
}

template <int vectors>
inline void normalise(const HiddenUnits& units, int row) {
  const Floats count = all(static_cast<float>(units.features));
  float* const x = units.before + row;
  Floats mean[vectors] = {}, variance[vectors] = {};
  for (int f = 0; f < units.features; f++) {
    for (int v = 0; v < vectors; v++) mean[v] += load(x + f * ROW_BLOCK + v * LANES);
  }
  for (int v = 0; v < vectors; v++) mean[v] /= count;
  for (int f = 0; f < units.features; f++) {
    for (int v = 0; v < vectors; v++) {
      float* const at = x + f * ROW_BLOCK + v * LANES;
      const Floats centred = load(at) - mean[v];
      store(at, centred);
      variance[v] = multiplyAdd(centred, centred, variance[v]);
    }
  }
  Floats precision[vectors];
  for (int v = 0; v < vectors; v++) {
    precision[v] = all(1.0f) / squareRoot(variance[v] / count + all(1e-5f));
    store(units.precision + row + v * LANES, precision[v]);
  }
  for (int f = 0; f < units.features; f++) {
    for (int v = 0; v < vectors; v++) {
      float* const at = x + f * ROW_BLOCK + v * LANES;
      store(at, load(at) * precision[v]);
    }
  }
}

template <Activation end>
void activate(const HiddenUnits& units) {
  for (int f = 0; f < units.features; f++) {
    for (int row = 0; row < units.rows; row += LANES) {
      const int at = f * ROW_BLOCK + row;
      store(units.after + at, ended<end>(load(units.before + at)));
    }
  }
}

struct Normalising {
  const HiddenUnits& units;
  template <int vectors>
  void operator()(int row) const {
    normalise<vectors>(units, row);
  }
};

inline void hidden(const HiddenUnits& units) {
  if (units.isNormalised) overRows(units.rows, Normalising{units});
  if (units.end == Activation::relu) activate<Activation::relu>(units);
  if (units.end == Activation::tanh) activate<Activation::tanh>(units);
  if (units.end == Activation::swish) activate<Activation::swish>(units);
}

/** g times the slope of the activation. */
template <Activation end>
inline Floats slopeTimes(Floats g, Floats before, Floats after) {
  if (end == Activation::none) return g;
  if (end == Activation::relu) return choose(after > all(0.0f), g, Floats{});
  if (end == Activation::tanh) return g * multiplyAdd(negative(after), after, all(1.0f));
  const Floats share = sigmoid(before);
  return g * multiplyAdd(after, all(1.0f) - share, share);
}

template <Activation end, int vectors>
void backThrough(const HiddenUnits& units, float* gradient, int row) {
  Floats sum[vectors] = {}, along[vectors] = {};
  for (int f = 0; f < units.features; f++) {
    for (int v = 0; v < vectors; v++) {
      const int at = f * ROW_BLOCK + row + v * LANES;
      const Floats before = load(units.before + at);
      const Floats g = slopeTimes<end>(load(gradient + at), before, load(units.after + at));
      store(gradient + at, g);
      sum[v] += g;
      along[v] = multiplyAdd(g, before, along[v]);
    }
  }
  if (!units.isNormalised) return;
  const Floats count = all(static_cast<float>(units.features));
  Floats precision[vectors];
  for (int v = 0; v < vectors; v++) {
    sum[v] /= count;
    along[v] /= count;
    precision[v] = load(units.precision + row + v * LANES);
  }
  for (int f = 0; f < units.features; f++) {
    for (int v = 0; v < vectors; v++) {
      const int at = f * ROW_BLOCK + row + v * LANES;
      const Floats centred = load(gradient + at) - sum[v];
      store(gradient + at, precision[v] * multiplyAdd(negative(load(units.before + at)), along[v], centred));
    }
  }
}

template <Activation end>
struct GoingBack {
  const HiddenUnits& units;
  float* gradient;
  template <int vectors>
  void operator()(int row) const {
    backThrough<end, vectors>(units, gradient, row);
  }
};

inline void hiddenBack(const HiddenUnits& units, float* gradient) {
  if (units.end == Activation::none) overRows(units.rows, GoingBack<Activation::none>{units, gradient});
  if (units.end == Activation::relu) overRows(units.rows, GoingBack<Activation::relu>{units, gradient});
  if (units.end == Activation::tanh) overRows(units.rows, GoingBack<Activation::tanh>{units, gradient});
  if (units.end == Activation::swish) overRows(units.rows, GoingBack<Activation::swish>{units, gradient});
}

// Bounds of a policy's log-deviation, as in src/rl/policy-net.ts.
constexpr float LOG_STD_MIN = -10.0f, LOG_STD_MAX = 2.0f;

inline void squash(const SquashedRows& rows) {
  const Floats constant = all(-2.0f * 0.693147180559945309f - 0.918938533204672742f);
  for (int row = 0; row < rows.rows; row += LANES) {
    Floats logProb = {};
    for (int column = 0; column < rows.columns; column++) {
      const int at = column * ROW_BLOCK + row;
      const Floats noise = load(rows.noise + at);
      const Floats logStd = clamp(load(rows.out + rows.columns * ROW_BLOCK + at), all(LOG_STD_MIN), all(LOG_STD_MAX));
      const Floats before = multiplyAdd(exponential(logStd), noise, load(rows.out + at));
      store(rows.action + at, hyperbolicTangent(before));
      const Floats density = multiplyAdd(all(-0.5f) * noise, noise, negative(logStd));
      logProb += density + multiplyAdd(before + softplus(all(-2.0f) * before), all(2.0f), constant);
    }
    store(rows.logProb + row, logProb);
  }
}

inline void squashBack(const SquashedRows& rows, const float* actionGradient, float densityGradient, float* outGradient) {
  const Floats each = all(densityGradient);
  for (int row = 0; row < rows.rows; row += LANES) {
    for (int column = 0; column < rows.columns; column++) {
      const int at = column * ROW_BLOCK + row, logStdAt = at + rows.columns * ROW_BLOCK;
      const Floats action = load(rows.action + at), raw = load(rows.out + logStdAt);
      const Floats logStd = clamp(raw, all(LOG_STD_MIN), all(LOG_STD_MAX));
      // d/du of 2 (u + softplus(-2 u)) is 2 tanh u, and the action is tanh u.
      const Floats ofAction = load(actionGradient + at) * multiplyAdd(negative(action), action, all(1.0f));
      const Floats g = multiplyAdd(each + each, action, ofAction);
      store(outGradient + at, g);
      const Floats ofLogStd = multiplyAdd(g, exponential(logStd) * load(rows.noise + at), negative(each));
      store(outGradient + logStdAt, choose(raw == logStd, ofLogStd, Floats{}));
    }
  }
}

inline void gaussianLoss(const GaussianLoss& loss) {
  const Floats most = all(loss.logVarMax), least = all(loss.logVarMin), share = all(loss.share), one = all(1.0f);
  for (int row = 0; row < loss.rows; row += LANES) {
    const Floats toMost = most - load(loss.raw + row);
    const Floats toLeast = most - softplus(toMost) - least;
    const Floats logVar = least + softplus(toLeast);
    const Floats error = load(loss.mean + row) - load(loss.target + row);
    const Floats precise = error * exponential(negative(logVar));
    const Floats square = error * precise;
    store(loss.nll + row, multiplyAdd(all(loss.weight), square + logVar, load(loss.nll + row)));
    store(loss.meanGradient + row, share * (precise + precise));
    const Floats ofLogVar = share * (one - square), ofLeast = sigmoid(toLeast), ofMost = sigmoid(toMost);
    const Floats ofBelow = ofLogVar * ofLeast;
    store(loss.minGradient + row, ofLogVar * (one - ofLeast));
    store(loss.rawGradient + row, ofBelow * ofMost);
    store(loss.maxGradient + row, ofBelow * (one - ofMost));
  }
}

inline void crossEntropyBack(const float* logit, const float* target, int rows, float share, float* gradient) {
  for (int row = 0; row < rows; row += LANES) {
    store(gradient + row, all(share) * (sigmoid(load(logit + row)) - load(target + row)));
  }
}

inline void addProducts(float* to, const float* factor, const float* values, std::int64_t count) {
  for (std::int64_t at = 0; at < count; at += LANES) {
    const int some = count - at < LANES ? static_cast<int>(count - at) : LANES;
    const Floats sum = multiplyAdd(loadSome(factor + at, some), loadSome(values + at, some), loadSome(to + at, some));
    storeSome(to + at, sum, some);
  }
}

inline void adam(float* theta, float* m, float* v, const float* gradient, std::int64_t count, float alpha, float epsilon) {
  for (std::int64_t at = 0; at < count; at += LANES) {
    const int some = count - at < LANES ? static_cast<int>(count - at) : LANES;
    const Floats g = loadSome(gradient + at, some);
    const Floats first = multiplyAdd(loadSome(m + at, some), all(0.9f), g);
    const Floats second = multiplyAdd(loadSome(v + at, some), all(0.999f), g * g);
    const Floats change = first * all(alpha) / (squareRoot(second) + all(epsilon));
    storeSome(theta + at, loadSome(theta + at, some) - change, some);
    storeSome(m + at, first, some);
    storeSome(v + at, second, some);
  }
}

inline void follow(float* target, const float* source, std::int64_t count, float tau) {
  for (std::int64_t at = 0; at < count; at += LANES) {
    const int some = count - at < LANES ? static_cast<int>(count - at) : LANES;
    const Floats old = loadSome(target + at, some);
    storeSome(target + at, multiplyAdd(loadSome(source + at, some) - old, all(tau), old), some);
  }
}

constexpr TrainingKernels trainingKernels = {product, transpose, hidden, hiddenBack, squash, squashBack,
                                             gaussianLoss, crossEntropyBack, addProducts, adam, follow};

}  // namespace reverie::REVERIE_WIDTH
