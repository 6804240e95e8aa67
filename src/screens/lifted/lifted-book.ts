// What recorded actions say of another: those most like it are carried over to its screen, and the screen that most of them come to is
// the answer.

import { isDeepStrictEqual } from 'node:util';
import type { ScreenState } from '../../env/screens/screen-state.js';
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
  private readonly byKey = new Map<string, Alike>();

  constructor(recorded: readonly RecordedAct[]) {
    for (const one of recorded) {
      const { key } = one.act;
      const alike = this.byKey.get(key) ?? new Alike();
      this.byKey.set(key, alike);
      alike.add(one);
    }
  }

  /** @param isKnown  false for what is to be left out; undefined answer: nothing like it was recorded */
  say(asked: Act, isKnown: (one: RecordedAct) => boolean = () => true): Said | undefined {
    const near = (this.byKey.get(asked.key)?.likenesses(asked) ?? [])
      .filter(({ one }) => isKnown(one))
      .sort((a, b) => b.likeness - a.likeness)
      .slice(0, VOICES);
    const answers: Answer[] = [];
    let total = 0;
    for (const { one, likeness } of near) {
      const after = one.isError ? undefined : transferred(one, asked);
      const weight = Math.exp(SHARPNESS * (likeness - near[0].likeness));
      total += weight;
      if (after === undefined && !one.isError) continue;
      const answer = answers.find((said) => isSameScreen(said.after, after));
      if (answer === undefined) answers.push({ weight, likeness, after, observation: one.observation });
      else answer.weight += weight;
    }
    const [best] = answers.sort((a, b) => b.weight - a.weight);
    if (best === undefined) return undefined;
    const { likeness, after, observation } = best;
    return { after, observation, evidence: (best.weight / total) * likeness };
  }
}

/** Recorded actions of one key, and in which of them each part of a screen stands. */
class Alike {
  private readonly recorded: RecordedAct[] = [];
  private readonly places = new Map<string, number[]>();

  add(one: RecordedAct): void {
    const place = this.recorded.push(one) - 1;
    for (const part of one.act.parts) {
      const known = this.places.get(part);
      if (known === undefined) this.places.set(part, [place]);
      else known.push(place);
    }
  }

  likenesses(asked: Act): { readonly one: RecordedAct; readonly likeness: number }[] {
    const shared = new Uint32Array(this.recorded.length);
    for (const part of asked.parts) for (const place of this.places.get(part) ?? []) shared[place]++;
    return this.recorded.map((one, i) => ({ one, likeness: asked.likeness(one.act, shared[i]) }));
  }
}

interface Answer {
  weight: number;
  readonly likeness: number;
  readonly after: ScreenState | undefined;
  readonly observation: string;
}

/** Of two screens that were made of the same one: what did not change is the same object in both. */
function isSameScreen(a: ScreenState | undefined, b: ScreenState | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  const { elements: ours, ...rest } = a;
  const { elements: theirs, ...others } = b;
  const ids = Object.keys(ours);
  return (
    isDeepStrictEqual(rest, others) &&
    ids.length === Object.keys(theirs).length &&
    ids.every((id) => ours[id] === theirs[id] || isDeepStrictEqual(ours[id], theirs[id]))
  );
}
