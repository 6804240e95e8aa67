// See decoder-reference.h.

#include "decoder-reference.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "random-reference.h"

namespace reverie::reference {
namespace {

using Row = std::vector<double>;

class Model {
 public:
  Model(const DecoderSpec& spec, bool isRounded) : spec_(spec), isRounded_(isRounded) {}

  std::vector<double> logits(const std::vector<int>& tokens) const {
    std::vector<Row> rows;
    for (const int token : tokens) {
      const Row row(spec_.embedding.begin() + static_cast<std::ptrdiff_t>(token) * spec_.dModel,
                    spec_.embedding.begin() + static_cast<std::ptrdiff_t>(token + 1) * spec_.dModel);
      rows.push_back(isRounded_ ? roundedRow(row) : row);
    }
    for (const auto& weights : spec_.weights) {
      attend(weights, rows);
      for (auto& row : rows) add(row, times(weights.down, expand(weights, normal(row, weights.ffnNorm)), spec_.dModel));
    }
    std::vector<double> all;
    for (const auto& row : rows) {
      const Row logits = times(spec_.isTied ? spec_.embedding : spec_.head, normal(row, spec_.finalNorm), spec_.vocab);
      all.insert(all.end(), logits.begin(), logits.end());
    }
    return all;
  }

 private:
  double weight(float value) const {
    std::uint32_t bits;
    std::memcpy(&bits, &value, 4);
    if (!isRounded_ || (bits & 0x7f800000u) == 0x7f800000u) return value;
    bits = (bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u;
    std::memcpy(&value, &bits, 4);
    return value;
  }

  Row roundedRow(Row row) const {
    for (auto& value : row) value = weight(static_cast<float>(value));
    return row;
  }

  Row times(const std::vector<float>& matrix, const Row& x, int outputs) const {
    Row y(outputs);
    for (int i = 0; i < outputs; i++) {
      for (std::size_t k = 0; k < x.size(); k++) y[i] += weight(matrix[i * x.size() + k]) * x[k];
    }
    return y;
  }

  Row normal(const Row& x, const std::vector<float>& scale) const {
    double squares = 0;
    for (const double value : x) squares += value * value;
    const double factor = 1 / std::sqrt(squares / static_cast<double>(x.size()) + spec_.normEps);
    Row y(x.size());
    for (std::size_t i = 0; i < x.size(); i++) y[i] = x[i] * factor * scale[i];
    return y;
  }

  Row expand(const DecoderLayerWeights& weights, const Row& x) const {
    const Row gate = times(weights.gate, x, spec_.ffn), up = times(weights.up, x, spec_.ffn);
    Row hidden(spec_.ffn);
    for (int i = 0; i < spec_.ffn; i++) hidden[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
    return hidden;
  }

  static void add(Row& to, const Row& row) {
    for (std::size_t i = 0; i < to.size(); i++) to[i] += row[i];
  }

  void turn(Row& row, int heads, std::size_t position) const {
    const int half = spec_.headDim / 2;
    for (int head = 0; head < heads; head++) {
      for (int i = 0; i < half; i++) {
        const double angle = static_cast<double>(position) * std::pow(static_cast<double>(spec_.ropeTheta), -2.0 * i / spec_.headDim);
        double& a = row[head * spec_.headDim + i];
        double& b = row[head * spec_.headDim + i + half];
        const double first = a * std::cos(angle) - b * std::sin(angle);
        b = b * std::cos(angle) + a * std::sin(angle);
        a = first;
      }
    }
  }

  void attend(const DecoderLayerWeights& weights, std::vector<Row>& rows) const {
    std::vector<Row> queries, keys, values;
    for (std::size_t position = 0; position < rows.size(); position++) {
      const Row x = normal(rows[position], weights.inputNorm);
      queries.push_back(times(weights.query, x, spec_.heads * spec_.headDim));
      keys.push_back(times(weights.key, x, spec_.kvHeads * spec_.headDim));
      values.push_back(times(weights.value, x, spec_.kvHeads * spec_.headDim));
      turn(queries.back(), spec_.heads, position);
      turn(keys.back(), spec_.kvHeads, position);
    }
    for (std::size_t position = 0; position < rows.size(); position++) {
      Row gathered(queries[position].size());
      for (int head = 0; head < spec_.heads; head++) attendHead(head, position, queries[position], keys, values, gathered);
      add(rows[position], times(weights.out, gathered, spec_.dModel));
    }
  }

  void attendHead(int head, std::size_t position, const Row& query, const std::vector<Row>& keys, const std::vector<Row>& values,
                  Row& gathered) const {
    const int own = head * spec_.headDim, shared = head * spec_.kvHeads / spec_.heads * spec_.headDim;
    Row scores(position + 1);
    for (std::size_t p = 0; p <= position; p++) {
      for (int i = 0; i < spec_.headDim; i++) scores[p] += query[own + i] * keys[p][shared + i] / std::sqrt(spec_.headDim);
    }
    const double most = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    for (auto& score : scores) sum += score = std::exp(score - most);
    for (std::size_t p = 0; p <= position; p++) {
      for (int i = 0; i < spec_.headDim; i++) gathered[own + i] += scores[p] / sum * values[p][shared + i];
    }
  }

  const DecoderSpec& spec_;
  const bool isRounded_;
};

struct Candidate {
  int token;
  double share;
};

/** Likeliest first; equals by token. */
void sortByShare(std::vector<Candidate>& candidates) {
  std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) { return a.share > b.share; });
}

double sumOf(const std::vector<Candidate>& candidates) {
  double sum = 0;
  for (const auto& candidate : candidates) sum += candidate.share;
  return sum;
}

/** Keeps the `count` first and those that equal the last of them. */
void keep(std::vector<Candidate>& sorted, std::size_t count) {
  while (count < sorted.size() && sorted[count].share == sorted[count - 1].share) count++;
  sorted.resize(std::min(count, sorted.size()));
}

/** Answers how near the kept mass came to another count. */
double keepMass(std::vector<Candidate>& sorted, double part) {
  const double wanted = part * sumOf(sorted);
  double sum = 0, before = 0;
  std::size_t count = 0;
  while (count < sorted.size() && (sum < wanted || count == 0)) {
    before = sum;
    sum += sorted[count++].share;
  }
  keep(sorted, count);
  return std::min(sum - wanted, wanted - before) / wanted;
}

Drawn likeliest(const std::vector<Candidate>& sorted, const std::vector<double>& logits) {
  if (sorted.size() == 1) return {sorted[0].token, 1e300};
  return {sorted[0].token, logits[sorted[0].token] - logits[sorted[1].token]};
}

}  // namespace

std::vector<double> decoderLogits(const DecoderSpec& spec, const std::vector<int>& tokens, bool isRounded) {
  return Model(spec, isRounded).logits(tokens);
}

std::uint32_t randomWord(std::uint32_t key0, std::uint32_t key1, std::uint64_t position) {
  return wordOf(RandomStream{key0, key1, 0}, position);
}

Drawn drawToken(const std::vector<double>& logits, const Sampling& sampling, const std::vector<bool>& allowed, std::uint32_t word) {
  std::vector<Candidate> candidates;
  for (int token = 0; token < static_cast<int>(logits.size()); token++) {
    if (allowed.empty() || allowed[token]) candidates.push_back({token, logits[token]});
  }
  if (candidates.empty()) return {-1, 1e300};
  sortByShare(candidates);
  if (sampling.temperature == 0 || sampling.topK == 1) return likeliest(candidates, logits);
  const double most = candidates[0].share;
  for (auto& candidate : candidates) candidate.share = std::exp((candidate.share - most) / sampling.temperature);
  double margin = 1e300;
  if (sampling.topK > 0) keep(candidates, std::min<std::size_t>(sampling.topK, candidates.size()));
  if (sampling.topP < 1) margin = keepMass(candidates, sampling.topP);
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) { return a.token < b.token; });
  const double total = sumOf(candidates), target = total * (word / 4294967296.0);
  double sum = 0;
  for (const auto& candidate : candidates) {
    margin = std::min(margin, std::abs(sum + candidate.share - target) / total);
    if ((sum += candidate.share) > target) return {candidate.token, margin};
  }
  return {candidates.back().token, 0};
}

}  // namespace reverie::reference
