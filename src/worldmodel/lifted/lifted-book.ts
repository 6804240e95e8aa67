// What recorded actions say of another: those most like it are carried over to its screen, and the screen that most of them come to is
// the answer.

import { isDeepStrictEqual } from 'node:util';
import type { ScreenState } from '../../env/index.js';
import type { Act } from './act.js';
import { type RecordedAct, transferred } from './transfer.js';

/** Recorded actions that have a say. */
const VOICES = 6;
/** How much less a voice counts for each hundredth of likeness. */
const SHARPNESS = 20;

export interface Said {
  /** Undefined where the page refused. */
  readonly after: ScreenState | undefined;
  /** Of the recorded page. */
  readonly observation: string;
  /** In (0, 1]: the answer's share of all voices, times the likeness of the nearest of them. Not a probability before it is calibrated. */
  readonly evidence: number;
}

export class LiftedBook {
  private readonly byKey = new Map<string, RecordedAct[]>();

  constructor(recorded: readonly RecordedAct[]) {
    for (const one of recorded) {
      const { key } = one.act;
      const alike = this.byKey.get(key);
      if (alike === undefined) this.byKey.set(key, [one]);
      else alike.push(one);
    }
  }

  /** @param isKnown  false for what is to be left out; undefined answer: nothing like it was recorded */
  say(asked: Act, isKnown: (one: RecordedAct) => boolean = () => true): Said | undefined {
    const near = (this.byKey.get(asked.key) ?? [])
      .filter(isKnown)
      .map((one) => ({ one, likeness: asked.likeness(one.act) }))
      .sort((a, b) => b.likeness - a.likeness)
      .slice(0, VOICES);
    const answers: Answer[] = [];
    let total = 0;
    for (const { one, likeness } of near) {
      const after = one.isError ? undefined : transferred(one, asked);
      const weight = Math.exp(SHARPNESS * (likeness - near[0].likeness));
      total += weight;
      if (after === undefined && !one.isError) continue;
      const answer = answers.find((said) => isDeepStrictEqual(said.after, after));
      if (answer === undefined) answers.push({ weight, likeness, after, observation: one.observation });
      else answer.weight += weight;
    }
    const [best] = answers.sort((a, b) => b.weight - a.weight);
    if (best === undefined) return undefined;
    const { likeness, after, observation } = best;
    return { after, observation, evidence: (best.weight / total) * likeness };
  }
}

interface Answer {
  weight: number;
  readonly likeness: number;
  readonly after: ScreenState | undefined;
  readonly observation: string;
}
