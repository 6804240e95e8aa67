// How a step is asked and answered in words. Asked: the call, the goal, the state around the call. Answered: whether it is done, what
// changes, what is said, and whether that ends the episode, with its reward.

import { canonicalJson } from '../../core/canonical-json.js';
import type { CallSpec } from '../../env/tools/domain.js';
import type { Operation } from '../../env/tools/prediction.js';
import { isMark, mark, Names, type Piece, readText, type Splitter, written } from './script.js';
import { FactForm, type ObjectTypes, ValueForm, type World, type WorldForm, type WorldKind } from './worlds.js';

/** What a model was trained to be shown. */
export interface FormSettings {
  readonly world: WorldKind;
  /** Of facts. */
  readonly types: ObjectTypes;
  /** Of entities: values that are spelt. */
  readonly shared: readonly string[];
}

export interface StepQuestion {
  readonly call: CallSpec;
  readonly goal: string;
  /** Before the call. */
  readonly world: World;
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
  readonly world: World;
}

export class StepForm {
  private readonly form: WorldForm;

  constructor(readonly settings: FormSettings) {
    const { world, types, shared } = settings;
    this.form = world === 'facts' ? new FactForm(types) : new ValueForm(shared);
  }

  ask({ call, goal, world }: StepQuestion): Asked {
    const names = new Names();
    const said = callText(call);
    const { pieces, split } = this.form.around(call, said, world, names);
    // Among entities a goal is the user's story, and decides nothing that a call does.
    const told: Piece[] = this.settings.world === 'facts' ? [mark('goal'), { text: goal }] : [];
    return {
      pieces: [mark('call'), ...written(said, split, names), ...told, ...pieces, mark('answer')],
      ...{ names, split, world },
    };
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
  read(pieces: readonly Piece[], { names, world }: Asked): StepAnswer | string {
    const [first, ...rest] = pieces;
    if (first === undefined || !(isMark(first, 'done') || isMark(first, 'refused')))
      return 'it does not say whether the call is carried out';
    const says = rest.findIndex((piece) => isMark(piece, 'says'));
    const end = rest.findIndex((piece) => isMark(piece, 'goes-on') || isMark(piece, 'ends'));
    if (says < 0 || end < says) return 'it breaks off';
    const operations = this.form.read(rest.slice(0, says), names, world);
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

/** A call of a tool whose one argument is a text is told by that text. */
function callText({ name, arguments: given }: CallSpec): string {
  const values = Object.values(given);
  if (values.length === 1 && typeof values[0] === 'string') return `${name}: ${values[0].trim()}`;
  return `${name} ${canonicalJson(given)}`;
}
