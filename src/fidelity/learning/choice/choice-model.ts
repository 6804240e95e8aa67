// Which of several proposed actions would be taken in an episode that goes well: conditional logit over the features of the actions
// (McFadden 1974), fitted to what was taken and what was not in episodes that went well, by AdaGrad (Duchi et al. 2011).

export interface Choice {
  /** Features of the action that was taken, each once. */
  readonly taken: readonly string[];
  /** Of each that was proposed beside it. */
  readonly others: readonly (readonly string[])[];
}

const EPOCHS = 15;
const RATE = 0.3;
const SHRINKAGE = 1e-3;

export class ChoiceModel {
  private readonly numbers = new Map<string, number>();
  private readonly weights: Float64Array;
  /** Sums of squared slopes. */
  private readonly squares: Float64Array;
  private readonly slopes: Float64Array;

  /** In the order given. Of no choices: one that finds all actions alike. */
  constructor(choices: readonly Choice[]) {
    const numbered = choices.map(({ taken, others }) => [taken, ...others].map((features) => this.numbered(features)));
    this.weights = new Float64Array(this.numbers.size);
    this.squares = new Float64Array(this.numbers.size);
    this.slopes = new Float64Array(this.numbers.size);
    for (let epoch = 0; epoch < EPOCHS; epoch++) for (const actions of numbered) this.learn(actions);
  }

  /** Larger for what is rather taken; compared among actions at one moment alone. */
  score(features: readonly string[]): number {
    return features.reduce((sum, feature) => sum + (this.weights[this.numbers.get(feature) ?? -1] ?? 0), 0);
  }

  private numbered(features: readonly string[]): Uint32Array {
    return Uint32Array.from(features, (feature) => {
      const number = this.numbers.get(feature) ?? this.numbers.size;
      this.numbers.set(feature, number);
      return number;
    });
  }

  /** @param actions features of each, the one that was taken first */
  private learn(actions: readonly Uint32Array[]): void {
    const scores = actions.map((features) => features.reduce((sum, feature) => sum + this.weights[feature], 0));
    const largest = Math.max(...scores);
    const odds = scores.map((score) => Math.exp(score - largest));
    const total = odds.reduce((sum, value) => sum + value, 0);
    actions.forEach((features, i) => {
      const error = odds[i] / total - (i === 0 ? 1 : 0);
      for (const feature of features) this.slopes[feature] += error;
    });
    for (const features of actions) for (const feature of features) this.step(feature);
  }

  /** Once for each feature: its slope is used up then. */
  private step(feature: number): void {
    const slope = this.slopes[feature];
    if (slope === 0) return;
    this.slopes[feature] = 0;
    const shrunk = slope + SHRINKAGE * this.weights[feature];
    this.squares[feature] += shrunk * shrunk;
    this.weights[feature] -= (RATE * shrunk) / Math.sqrt(this.squares[feature] + 1e-8);
  }
}
