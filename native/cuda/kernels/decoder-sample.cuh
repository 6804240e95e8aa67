// The next token of a row, by one warp. Weights of tokens are integers, so that sums are exact in any order and the same logits
// and word give the same token on every machine: floor(2^31 e^((logit - largest) / temperature)), by operations that round in one way.
#pragma once

#include "decoder-tile.cuh"
#include "number.cuh"
#include "random.cuh"

namespace reverie::decoder {

struct Best {
  float logit;
  /** -1: no token is allowed. */
  int token;
};

/**
 * 2^31 2^(difference scale) for difference <= 0, rounded down. Products and sums are fused by name, as a compiler that fuses
 * them where it likes would give other bits. Polynomial: Cephes exp2f, on [-1/2, 1/2].
 */
REVERIE_DEVICE std::uint32_t weightOf(float difference, float scale) {
  if (!(fusedMultiplyAdd(difference, scale, 40.0f) > 0.0f)) return 0;
  const int whole = static_cast<int>(fusedMultiplyAdd(difference, scale, -0.5f));
  const float rest = fusedMultiplyAdd(difference, scale, -static_cast<float>(whole));
  float power = 1.535336188319500e-4f;
  power = fusedMultiplyAdd(power, rest, 1.339887440266574e-3f);
  power = fusedMultiplyAdd(power, rest, 9.618437357674640e-3f);
  power = fusedMultiplyAdd(power, rest, 5.550332471162809e-2f);
  power = fusedMultiplyAdd(power, rest, 2.402264791363012e-1f);
  power = fusedMultiplyAdd(power, rest, 6.931472028550421e-1f);
  power = fusedMultiplyAdd(power, rest, 1.0f);
  const std::uint32_t bits = bitsOf(power);
  const int shift = 127 - static_cast<int>(bits >> 23) - whole;
  const std::uint32_t mantissa = (bits & 0x7fffffu) | 0x800000u;
  return shift > 31 ? 0 : (mantissa << 8) >> shift;
}

template <class T>
REVERIE_DEVICE T sumOfWarp(T value) {
  REVERIE_UNROLL
  for (int mask = 16; mask > 0; mask /= 2) value += shuffleXor(value, mask);
  return value;
}

REVERIE_DEVICE bool isAllowed(const std::uint32_t* mask, int token) {
  return mask == nullptr || (mask[token / 32] >> (token % 32) & 1u) != 0;
}

/** The likeliest allowed token, the first of equals; `isSound` tells whether all logits are finite. */
REVERIE_DEVICE Best bestOf(const float* logits, int vocab, const std::uint32_t* mask, bool& isSound) {
  Best best{0.0f, -1};
  bool isOwnSound = true;
  for (int token = laneOf(); token < vocab; token += 32) {
    const float logit = logits[token];
    isOwnSound = isOwnSound && isFinite(logit);
    if (isAllowed(mask, token) && (best.token < 0 || logit > best.logit)) best = Best{logit, token};
  }
  isSound = ballot(!isOwnSound) == 0;
  REVERIE_UNROLL
  for (int step = 16; step > 0; step /= 2) {
    const Best other{shuffleXor(best.logit, step), shuffleXor(best.token, step)};
    const bool isFirst = other.logit == best.logit && other.token < best.token;
    if (other.token >= 0 && (best.token < 0 || other.logit > best.logit || isFirst)) best = other;
  }
  return best;
}

/** floor(total share / 2^32), rounded up where `up` is 2^32 - 1. */
REVERIE_DEVICE std::uint64_t partOf(std::uint64_t total, std::uint32_t share, std::uint32_t up) {
  const std::uint64_t low = (total & 0xffffffffu) * share + up;
  return (total >> 32) * share + (low >> 32);
}

/** How many weights are at least `least`, or what they sum to. */
template <bool isCount>
REVERIE_DEVICE std::uint64_t massFrom(const std::uint32_t* weights, int vocab, std::uint32_t least) {
  std::uint64_t mass = 0;
  for (int token = laneOf(); token < vocab; token += 32) {
    const std::uint32_t weight = weights[token];
    if (weight >= least) mass += isCount ? 1 : weight;
  }
  return sumOfWarp(mass);
}

/** The largest bound from which on there is still so much: found bit by bit, at least 1. */
template <bool isCount>
REVERIE_DEVICE std::uint32_t boundFor(const std::uint32_t* weights, int vocab, std::uint64_t wanted) {
  std::uint32_t bound = 0;
  for (int bit = 31; bit >= 0; bit--) {
    const std::uint32_t tried = bound | 1u << bit;
    if (massFrom<isCount>(weights, vocab, tried) >= wanted) bound = tried;
  }
  return bound > 0 ? bound : 1;
}

/** The first token, in order, at which weights from `least` on sum to more than `target`. Lanes have stretches side by side. */
REVERIE_DEVICE int tokenAt(const std::uint32_t* weights, int vocab, std::uint32_t least, std::uint64_t target) {
  const int stretch = (vocab + 31) / 32, first = laneOf() * stretch;
  const int last = first + stretch < vocab ? first + stretch : vocab;
  std::uint64_t own = 0;
  for (int token = first; token < last; token++) own += weights[token] >= least ? weights[token] : 0;
  std::uint64_t upTo = own;
  REVERIE_UNROLL
  for (int step = 1; step < 32; step *= 2) {
    const std::uint64_t before = shuffle(upTo, laneOf() >= step ? laneOf() - step : 0);
    if (laneOf() >= step) upTo += before;
  }
  std::uint64_t sum = upTo - own;
  int found = -1;
  for (int token = first; token < last && found < 0 && upTo > target; token++) {
    sum += weights[token] >= least ? weights[token] : 0;
    if (sum > target) found = token;
  }
  const unsigned lanes = ballot(found >= 0);
  // The sums of later lanes pass the target as well: the first lane has it.
  return shuffle(found, countBits((lanes & (0u - lanes)) - 1u));
}

/** What the likeliest token's share is told by. */
REVERIE_DEVICE Told toldOfBest(const float* logits, int vocab, const std::uint32_t* mask, const Best& best, float scale) {
  std::uint64_t mass = 0;
  for (int token = laneOf(); token < vocab; token += 32) {
    if (isAllowed(mask, token)) mass += weightOf(logits[token] - best.logit, scale);
  }
  return Told{sumOfWarp(mass), weightOf(0.0f, scale)};
}

/** Draws from the allowed tokens; leaves weights where the logits were. */
REVERIE_DEVICE int draw(float* logits, int vocab, const std::uint32_t* mask, const Best& best, const Slot& slot, Told& told) {
  auto* weights = reinterpret_cast<std::uint32_t*>(logits);
  for (int token = laneOf(); token < vocab; token += 32) {
    const std::uint32_t weight = isAllowed(mask, token) ? weightOf(logits[token] - best.logit, slot.scale) : 0;
    logits[token] = floatOf(weight);
  }
  syncWarp();
  told.mass = massFrom<false>(weights, vocab, 1);
  std::uint32_t least = 1;
  if (slot.topK > 0 && slot.topK < vocab) least = boundFor<true>(weights, vocab, static_cast<std::uint64_t>(slot.topK));
  std::uint64_t total = least == 1 ? told.mass : massFrom<false>(weights, vocab, least);
  if (slot.topP > 0) {
    const std::uint32_t bound = boundFor<false>(weights, vocab, partOf(total, slot.topP, 0xffffffffu));
    if (bound > least) {
      least = bound;
      total = massFrom<false>(weights, vocab, least);
    }
  }
  const std::uint32_t word = wordAt(RandomStream{slot.key0, slot.key1, 0}, static_cast<std::uint64_t>(slot.position + 1 + slot.firstWord));
  const int token = tokenAt(weights, vocab, least, partOf(total, word, 0));
  told.weight = weights[token];
  return token;
}

/** The state after a token; its edge is there, as the token was allowed. */
REVERIE_DEVICE int nextState(const Args& args, int state, int token) {
  int low = args.edgeStart[state], high = args.edgeStart[state + 1] - 1;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (args.edgeToken[middle] < token) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return args.edgeNext[low];
}

/** Appends a token and tells what becomes of the sequence. */
REVERIE_DEVICE void append(const Args& args, int index, Slot slot, int token, const Told& told) {
  slot.position++;
  const std::int64_t place = static_cast<std::int64_t>(index) * args.context + slot.position;
  args.tokens[place] = token;
  args.told[place] = told;
  if (slot.grammarState >= 0) slot.grammarState = nextState(args, slot.grammarState, token);
  if (args.stops[token / 32] >> (token % 32) & 1u) {
    slot.status = DecodeStatus::stopped;
  } else if (slot.position + 1 == slot.end) {
    slot.status = DecodeStatus::lengthReached;
  } else if (slot.position + 1 == args.context) {
    slot.status = DecodeStatus::contextFull;
  }
  args.slots[index] = slot;
}

/** From a slot's logits to its next token, or to the reason why there is none. By a whole warp. */
REVERIE_DEVICE void advance(const Args& args, int index) {
  const Slot slot = args.slots[index];
  float* logits = args.logits + static_cast<std::int64_t>(index) * args.vocab;
  const std::uint32_t* mask = nullptr;
  if (slot.grammarState >= 0) mask = args.mask + static_cast<std::int64_t>(slot.grammarState) * args.maskWords;
  bool isSound;
  const Best best = bestOf(logits, args.vocab, mask, isSound);
  int token = best.token;
  Told told{};
  if (isSound && token >= 0) {
    if (slot.scale > 0.0f && slot.topK != 1) {
      token = draw(logits, args.vocab, mask, best, slot, told);
    } else {
      told = toldOfBest(logits, args.vocab, mask, best, slot.scale > 0.0f ? slot.scale : 1.44269504f);
    }
  }
  syncWarp();
  if (laneOf() != 0) return;
  if (isSound && token >= 0) {
    append(args, index, slot, token, told);
  } else {
    args.slots[index].status = isSound ? DecodeStatus::noTokenAllowed : DecodeStatus::nonFinite;
  }
}

}  // namespace reverie::decoder
