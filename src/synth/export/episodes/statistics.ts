// What a card says of the episodes themselves, counted as they are written.

import type { EpisodeRecord } from '../../../replay/experience/experience.js';
import { DistinctCounter, hash53 } from '../../quality/text-hash.js';
import { hasSpecialTokens } from './call-text.js';
import type { Split } from './format.js';

/** Versions of models and policies kept by name; a dataset made by more is counted, not listed. */
const MAX_NAMES = 40;

export class EpisodeStatistics {
  episodes = 0;
  readonly bySplit: Record<Split, number> = { train: 0, validation: 0, test: 0 };
  readonly sources = new Tally();
  readonly scenarios = new Tally();
  readonly backends = new Tally();
  readonly models = new Tally();
  /** Answers that were refused (the agent was shown an error) or repaired, by who gave them. */
  readonly refusals = new Tally();
  readonly policies = new Tally();
  readonly users = new Tally();
  readonly responders = new Tally();
  /** Who decided the reward, to episodes. */
  readonly deciders = new Tally();
  readonly rewards = { judged: 0, sum: 0 };
  readonly tasks = new DistinctCounter();
  readonly families = new DistinctCounter();
  readonly seeds = { least: Number.POSITIVE_INFINITY, most: Number.NEGATIVE_INFINITY };
  maskedTurns = 0;
  truncated = 0;
  specialTokens = 0;
  turns = 0;
  tokens = 0;
  money = 0;

  add(record: EpisodeRecord): void {
    this.episodes++;
    this.bySplit[record.split]++;
    this.sources.add(record.source);
    this.scenarios.add(`${record.scenario} (${record.scenarioHash})`);
    this.policies.add(record.policyVersion);
    this.users.add(record.userVersion);
    this.responders.add(record.responderVersion);
    this.addOutcome(record);
    for (const { backend, modelVersion, refused, repaired } of record.steps.flatMap((step) => step.predictions)) {
      this.backends.add(backend);
      this.models.add(modelVersion);
      if (refused !== undefined && refused.length > 0) this.refusals.add(`${backend}: refused`);
      if (repaired) this.refusals.add(`${backend}: repaired`);
    }
    this.tasks.add(hash53(record.task));
    this.families.add(hash53(record.family));
    this.seeds.least = Math.min(this.seeds.least, record.seed);
    this.seeds.most = Math.max(this.seeds.most, record.seed);
    this.turns += record.messages.filter(({ role }) => role === 'assistant').length;
    this.maskedTurns += record.masked?.length ?? 0;
    this.specialTokens += Number(record.messages.some(hasSpecialTokens));
    this.tokens += record.cost.promptTokens + record.cost.completionTokens;
    this.money += record.cost.money;
  }

  private addOutcome({ verdict, truncated }: EpisodeRecord): void {
    this.truncated += Number(truncated);
    if (verdict.reward === null) {
      this.deciders.add('nobody: not judged (reward is null)');
      return;
    }
    this.rewards.judged++;
    this.rewards.sum += verdict.reward;
    this.deciders.add(verdict.judge === undefined ? 'exact checks alone' : `exact checks and judge ${verdict.judge}`);
  }
}

/** Names to counts, the most frequent first; beyond a limit names are no longer told apart. */
class Tally {
  private readonly counts = new Map<string, number>();

  add(name: string): void {
    const known = this.counts.has(name) || this.counts.size < MAX_NAMES ? name : 'others';
    this.counts.set(known, (this.counts.get(known) ?? 0) + 1);
  }

  entries(): [name: string, count: number][] {
    return [...this.counts].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
  }
}
