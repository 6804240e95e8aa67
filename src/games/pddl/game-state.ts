// The typed state of a game, as JSON: the facts that can change, by predicate, with objects by the names that texts call them by.

import type { JsonObject } from '../../core/canonical-json.js';
import { reverieError } from '../../core/errors.js';
import type { Scene } from '../../env/tools/domain.js';
import type { Operation } from '../../env/tools/prediction.js';
import type { TextGame } from './text-game.js';
import type { WorldState } from './world.js';

/** `facts.inreceptacle["apple 1, fridge 1"]` is true or absent; `not_...` are facts made false that the texts can tell of. */
export interface GameState extends JsonObject {
  readonly game: string;
  /** SHA-256 of the game's texts: the state belongs to no other. */
  readonly hash: string;
  readonly facts: { readonly [predicate: string]: { readonly [objects: string]: true } };
}

export const GAME_STATE_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    game: { type: 'string' },
    hash: { type: 'string' },
    facts: {
      type: 'object',
      additionalProperties: { type: 'object', additionalProperties: { const: true } },
    },
  },
  required: ['game', 'hash', 'facts'],
  additionalProperties: false,
};

export const NO_GAME: GameState = { game: '', hash: '', facts: {} };

/** A bit of a world's state, and where it stands in the JSON. */
interface Place {
  readonly atom: number;
  readonly denied: boolean;
  readonly predicate: string;
  readonly objects: string;
}

/** Translates between the states of one game's worlds and JSON. */
export class StateForm {
  /** What states call objects, by their number. */
  readonly names: readonly string[];
  private readonly places: readonly Place[];
  private readonly byName: ReadonlyMap<string, ReadonlyMap<string, Place>>;

  constructor(
    private readonly id: string,
    private readonly game: TextGame,
  ) {
    const { predicates, args } = game.plan.task;
    const names = distinctNames(game);
    this.names = names;
    const place = (atom: number, denied: boolean): Place => ({
      atom,
      denied,
      predicate: `${denied ? 'not_' : ''}${predicates[atom]}`,
      objects: args[atom].map((object) => names[object]).join(', '),
    });
    this.places = [
      ...predicates.map((_, atom) => place(atom, false)),
      ...game.remembered.map((atom) => place(atom, true)),
    ];
    const byName = new Map<string, Map<string, Place>>();
    for (const one of this.places) {
      const known = byName.get(one.predicate) ?? new Map();
      byName.set(one.predicate, known.set(one.objects, one));
    }
    this.byName = byName;
  }

  /** What there is in the game, in the order of its objects' ids, and what no action changes. */
  scene(): Scene {
    const { constant, universe } = this.game.plan.task;
    const { names } = this;
    const facts: Record<string, Record<string, true>> = {};
    for (const { predicate, args } of constant) {
      facts[predicate] ??= {};
      facts[predicate][args.map((object) => names[object]).join(', ')] = true;
    }
    const order = [...names.keys()].sort((a, b) => (universe.names[a] < universe.names[b] ? -1 : 1));
    return { objects: order.map((i) => ({ name: names[i], type: universe.types[i] })), facts };
  }

  write(state: WorldState): GameState {
    const facts: Record<string, Record<string, true>> = {};
    for (const predicate of this.byName.keys()) facts[predicate] = {};
    for (const place of this.places) if (bit(state, place) === 1) facts[place.predicate][place.objects] = true;
    return { game: this.id, hash: this.game.hash, facts };
  }

  /** Facts that the game does not know are passed over. @throws GAME_CHANGED if the state belongs to other texts */
  read({ hash, facts }: GameState): WorldState {
    if (hash !== this.game.hash) throw reverieError('GAME_CHANGED', { game: this.id, hash, found: this.game.hash });
    const count = this.game.plan.task.predicates.length;
    const state = { truth: new Uint8Array(count), denied: new Uint8Array(count) };
    for (const [predicate, all] of Object.entries(facts)) {
      const known = this.byName.get(predicate);
      for (const objects of Object.keys(all)) {
        const place = known?.get(objects);
        if (place !== undefined) (place.denied ? state.denied : state.truth)[place.atom] = 1;
      }
    }
    return state;
  }

  /** What changes one state into the other. */
  operations(before: WorldState, after: WorldState): Operation[] {
    return this.places.flatMap((place): Operation[] => {
      const is = bit(after, place);
      if (bit(before, place) === is) return [];
      const path = `/facts/${escaped(place.predicate)}/${escaped(place.objects)}`;
      return [is === 1 ? { op: 'add', path, value: true } : { op: 'remove', path }];
    });
  }
}

function bit({ truth, denied }: WorldState, place: Place): number {
  return (place.denied ? denied : truth)[place.atom];
}

/** Names as texts have them; an object that shares its name with another goes by its id. */
function distinctNames({ entities }: TextGame): string[] {
  const times = new Map<string, number>();
  const plain = entities.map(({ name }) => name.trim());
  for (const name of plain) times.set(name, (times.get(name) ?? 0) + 1);
  return entities.map(({ id }, i) => (times.get(plain[i]) === 1 ? plain[i] : id));
}

function escaped(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}
