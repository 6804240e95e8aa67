// How a step is asked and answered in words. Asked: the call, the goal, the world around the call, earlier steps that speak of the same
// things, the last steps. Answered: whether it is done, what changes, what is said, and whether that ends the episode, with its reward.

import { canonicalJson } from '../../core/canonical-json.js';
import type { CallSpec } from '../../env/tools/domain.js';
import type { Operation } from '../../env/tools/prediction.js';
import { isMark, mark, Names, type Piece, readText, type Splitter, written } from './script.js';
import type { ObjectTypes, World, WorldForm, WorldKind } from './worlds.js';
import { FactForm, namePieces, ScreenForm, TextForm, ValueForm } from './worlds.js';

/** What a model was trained to be shown. */
export interface FormSettings {
  readonly world: WorldKind;
  /** Last steps of the episode that are shown. */
  readonly history: number;
  /** Earlier steps that are shown for the names they share with the call. */
  readonly memory: number;
  /** Of facts. */
  readonly types: ObjectTypes;
  /** Of entities and elements: values that are spelt. */
  readonly shared: readonly string[];
}

export interface PastStep {
  readonly call: CallSpec;
  readonly observation: string;
}

export interface StepQuestion {
  readonly call: CallSpec;
  readonly goal: string;
  /** Before the call; absent where it is not known. */
  readonly world?: World;
  /** The episode so far, oldest first. */
  readonly past: readonly PastStep[];
}

export interface StepAnswer {
  readonly isError: boolean;
  readonly operations: readonly Operation[];
  readonly observation: string;
  /** The reward, where the step ends the episode. */
  readonly ends?: number;
}

/** A question in words, and what its slots stand for. */
export interface Asked {
  readonly pieces: readonly Piece[];
  readonly names: Names;
  readonly split: Splitter;
  readonly world: World | undefined;
  readonly call: CallSpec;
}

export class StepForm {
  private readonly form: WorldForm;

  constructor(readonly settings: FormSettings) {
    const { world, types, shared } = settings;
    const forms: Readonly<Record<WorldKind, () => WorldForm>> = {
      facts: () => new FactForm(types),
      values: () => new ValueForm(shared),
      elements: () => new ScreenForm(shared),
      unseen: () => new TextForm(),
    };
    this.form = forms[world]();
  }

  ask({ call, goal, world, past }: StepQuestion): Asked {
    const { history, memory, world: kind } = this.settings;
    const names = new Names();
    const said = callText(call);
    const { pieces, split } = this.form.around(call, said, world, names);
    const recent = history === 0 ? [] : past.slice(-history);
    const earlier = past.slice(0, past.length - recent.length);
    const steps = [
      ...recalled(earlier, memory, split(said).objects, split).map((step) => ['memory', step] as const),
      ...recent.map((step) => ['past', step] as const),
    ];
    for (const [, step] of steps) {
      for (const text of [callText(step.call), step.observation])
        for (const name of split(text).objects) names.assign(name);
    }
    const shown: Piece[] = [
      mark('call'),
      ...written(said, split, names),
      // Among entities a goal is the user's story, and decides nothing that a call does; a screen's is told with it.
      ...(kind === 'values' || kind === 'elements' ? [] : [mark('goal'), { text: goal }]),
      ...(kind === 'unseen' ? namePieces(names) : pieces),
      ...steps.flatMap(([which, step]) => [
        mark(which),
        ...written(callText(step.call), split, names),
        mark('says'),
        ...written(step.observation, split, names),
      ]),
      mark('answer'),
    ];
    return { pieces: shown, names, split, world, call };
  }

  /** An answer in the words of its question; undefined where there are none for its operations. */
  answer({ isError, operations, observation, ends }: StepAnswer, { names, split }: Asked): Piece[] | undefined {
    const changes = this.form.write(operations, names, split);
    if (changes === undefined) return undefined;
    return [
      mark(isError ? 'refused' : 'done'),
      ...changes,
      mark('says'),
      ...written(observation, split, names),
      ...(ends === undefined ? [mark('goes-on')] : [mark('ends'), { text: ` ${ends}` }]),
    ];
  }

  /** What an answer says; a sentence where it says nothing that can be understood. */
  read(pieces: readonly Piece[], { names, world, call }: Asked): StepAnswer | string {
    const [first, ...rest] = pieces;
    if (first === undefined || !(isMark(first, 'done') || isMark(first, 'refused')))
      return 'it does not say whether the call is carried out';
    const says = rest.findIndex((piece) => isMark(piece, 'says'));
    const end = rest.findIndex((piece) => isMark(piece, 'goes-on') || isMark(piece, 'ends'));
    if (says < 0 || end < says) return 'it breaks off';
    const done = isMark(first, 'done') ? call : undefined;
    const operations = this.form.read(rest.slice(0, says), names, world, done);
    if (operations === undefined) return 'it changes what cannot be read';
    const observation = readText(rest.slice(says + 1, end), names);
    if (observation === undefined) return 'it speaks of a thing that has no name here';
    const reward = isMark(rest[end], 'ends') ? Number(readText(rest.slice(end + 1), names)) : undefined;
    return {
      isError: isMark(first, 'refused'),
      operations,
      observation,
      ...(reward !== undefined && Number.isFinite(reward) && { ends: reward }),
    };
  }
}

/** Earlier steps that share most names with the call, the later the better; in their order, one of each call. */
function recalled(past: readonly PastStep[], most: number, spoken: readonly string[], split: Splitter): PastStep[] {
  if (most === 0) return [];
  const wanted = new Set(spoken);
  const latest = new Map(past.map((step, i) => [callText(step.call), i]));
  const scored = [...latest.values()].map((i) => {
    const own = new Set([callText(past[i].call), past[i].observation].flatMap((text) => split(text).objects));
    return { i, score: [...wanted].filter((name) => own.has(name)).length };
  });
  const best = scored.filter(({ score }) => score > 0).sort((a, b) => b.score - a.score || b.i - a.i);
  const kept = best.slice(0, most).map(({ i }) => i);
  return kept.sort((a, b) => a - b).map((i) => past[i]);
}

/** A call of a tool whose one argument is a text is told by that text. */
export function callText({ name, arguments: given }: CallSpec): string {
  const values = Object.values(given);
  if (values.length === 1 && typeof values[0] === 'string') return `${name}: ${values[0].trim()}`;
  return `${name} ${canonicalJson(given)}`;
}
