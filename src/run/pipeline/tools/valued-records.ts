// Recorded episodes as a policy of text would have seen them: each situation with its choices, the one that was made, and its reward.

import { applyOperations } from '../../../env/state/operations.js';
import { stateHash } from '../../../env/state/state.js';
import type { ToolsDomain } from '../../../env/tools/domain.js';
import { initialStateOf } from '../../../env/tools/situation.js';
import { admissibleIn } from '../../../env/tools/text-environment.js';
import type { ToolsScenarioConfig } from '../../../kinds/tools.js';
import type { EpisodeRecord } from '../../../replay/experience/experience.js';
import { isWon, TextPolicyAgent } from '../../../training/text-play.js';
import type { ValuedEpisode } from '../../../training/text-values.js';
import { textViewOf } from './text-lanes.js';

type Config = Pick<ToolsScenarioConfig, 'train' | 'rl'>;
type Step = ValuedEpisode['steps'][number];

export class ValuedRecords {
  /** Steps of which the action was not among the choices. */
  skipped = 0;
  private readonly agent: TextPolicyAgent;
  private readonly rewards: 'paid' | 'verdict';

  constructor(
    private readonly domain: ToolsDomain,
    { rl }: Config,
  ) {
    // Nobody decides: the agent tells what it would choose among.
    const policy = { version: 'recorded', decide: async () => [] };
    this.agent = new TextPolicyAgent(policy, textViewOf(domain));
    this.rewards = rl.rewards ?? 'paid';
  }

  /** Those that could be judged. @throws DOMAIN_UNFIT */
  episodes(records: readonly EpisodeRecord[]): ValuedEpisode[] {
    return records.flatMap((record) => (record.return === null ? [] : [this.episode(record)]));
  }

  private episode(record: EpisodeRecord): ValuedEpisode {
    const { domain } = this;
    const task = domain.tasks.find(({ id }) => id === record.task)!;
    const rewards = this.rewardsOf(record);
    let state = initialStateOf(domain, task);
    const steps = record.steps.map(({ message, action, predictions }, step): Step => {
      const now = state;
      for (const { operations } of predictions) state = applyOperations(state, operations);
      const messages = record.messages.slice(0, message);
      const admissible = () => admissibleIn(domain, now);
      const query = { messages, tools: domain.tools, task, seed: record.seed, step, admissible };
      const { situation } = this.agent.situation(query);
      const choice = situation.admissible.indexOf(this.agent.said(action));
      if (choice < 0) this.skipped += 1;
      return choice < 0
        ? { reward: rewards[step] }
        : { situation, choice, reward: rewards[step], state: stateHash(now) };
    });
    return { steps, won: isWon({ reward: record.return }) };
  }

  /** What a policy would have been paid: what the verdict adds is paid at the end. */
  private rewardsOf({ steps, return: total }: EpisodeRecord): number[] {
    const last = steps.length - 1;
    if (this.rewards === 'verdict') return steps.map((_, t) => (t === last && isWon({ reward: total }) ? 1 : 0));
    const paid = steps.reduce((sum, { reward }) => sum + (reward ?? 0), 0);
    return steps.map(({ reward }, t) => (reward ?? 0) + (t === last ? total! - paid : 0));
  }
}
