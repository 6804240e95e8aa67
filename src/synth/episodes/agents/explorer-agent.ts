// An agent that finds out what a world of text does, for records that models are learned from. Some episodes begin by the task's solution
// and leave it anywhere; else it draws, of what can be done, a form of command ("take ... from ..."), then a command of it: by preference what was seldom possible
// in the episode, and was not done yet as things stand, as what a model was never shown is what there is to learn (in the way of R-MAX,
// Brafman and Tennenholtz 2002). Now and then it guesses: a form of all there are, with things that are near, or what can be done with one thing exchanged. Most guesses are
// refused, and by as little as one fact, which is what preconditions are told by.

import type { JsonObject } from '../../../core/canonical-json.js';
import { NO_COST } from '../../../core/cost.js';
import { reverieError } from '../../../core/errors.js';
import { remembered } from '../../../core/remembered.js';
import { Rng } from '../../../core/rng.js';
import { applyOperations } from '../../../env/state/operations.js';
import type { FactTable, Scene, ToolRules, ToolsDomain } from '../../../env/tools/domain.js';
import { callsOf, type ToolCall } from '../../../env/tools/message.js';
import { initialStateOf } from '../../../env/tools/situation.js';
import type { ToolsAction, ToolsPolicy, ToolsPolicyQuery } from '../../../env/tools/tools-family.js';
import { Situation, splitByNames } from '../../../worldmodel/situation.js';

interface ExplorerOptions {
  /** Share of commands that it guesses. */
  readonly guesses: number;
  /** Share of episodes that begin with the task's solution, guesses aside, up to any place in it. */
  readonly follows: number;
}

type Rules = ToolRules & Required<Pick<ToolRules, 'scene' | 'admissible' | 'commands'>>;

/** Probability that a thing of a guess is a near one. */
const NEAR = 0.85;
/** Facts between a thing that is near and the only thing of its type, such as the agent. */
const REACH = 2;

export class ExplorerAgent implements ToolsPolicy {
  readonly version: string;
  private readonly rules: Rules;
  private readonly tool: string;
  /** After calls of episodes under way, so that none is worked out twice. */
  private readonly states = new WeakMap<ToolCall, JsonObject>();
  private readonly possible = new WeakMap<JsonObject, ReadonlyMap<string, readonly string[]>>();

  /** @throws DOMAIN_UNFIT unless the domain's rules know all commands of a state's world */
  constructor(
    private readonly domain: ToolsDomain,
    private readonly options: ExplorerOptions,
  ) {
    const { rules, tools } = domain;
    if (rules?.scene === undefined || rules.admissible === undefined || rules.commands === undefined)
      throw reverieError('DOMAIN_UNFIT', {
        problem: `The agent "explorer" cannot act in domain "${domain.id}", whose rules do not list the commands of a state.`,
        hint: 'Take a domain of PDDL games (text-games, alfworld), or another agent.kind.',
      });
    this.rules = rules as Rules;
    this.tool = tools[0].name;
    this.version = `explorer, ${options.guesses} guessed, ${options.follows} follow`;
  }

  act(query: ToolsPolicyQuery): { action: ToolsAction; cost: typeof NO_COST } {
    const made = query.messages.flatMap(callsOf);
    const call = { id: `call_${made.length}`, name: this.tool, arguments: { text: this.command(query, made) } };
    return { action: { content: null, toolCalls: [call] }, cost: NO_COST };
  }

  private command(query: ToolsPolicyQuery, made: readonly ToolCall[]): string {
    const { task, seed, step } = query;
    const { guesses } = this.options;
    const rng = Rng.fromSeed(seed).split('explorer', step);
    const state = this.stateAfter(initialStateOf(this.domain, task), made);
    const possible = this.rules.admissible(state);
    const scene = this.rules.scene(state);
    if (possible.length === 0 || rng.uniform() < guesses) return this.guess(state, scene, possible, rng);
    const next = nextOf(this.followed(query), made);
    return next !== undefined && possible.includes(next) ? next : this.newest(query, state, made, rng);
  }

  /**
   * A form, likelier the fewer times it was possible in the episode, and the fewer times its least said command was said as things
   * stand with what it names; then such a command.
   */
  private newest(query: ToolsPolicyQuery, state: JsonObject, made: readonly ToolCall[], rng: Rng): string {
    const said = new Map<string, number>();
    const chances = new Map<string, number>();
    let before = initialStateOf(this.domain, query.task);
    for (const call of made) {
      const key = this.circumstances(String(call.arguments.text), before);
      said.set(key, 1 + (said.get(key) ?? 0));
      for (const form of this.formsIn(before).keys()) chances.set(form, 1 + (chances.get(form) ?? 0));
      before = this.stateAfter(before, [call]);
    }
    const options = [...this.formsIn(state)].map(([form, commands]) => {
      const times = commands.map((command) => said.get(this.circumstances(command, state)) ?? 0);
      const least = Math.min(...times);
      const weight = 1 / (1 + least) ** 2 / (1 + (chances.get(form) ?? 0));
      return { commands: commands.filter((_, i) => times[i] === least), weight };
    });
    let left = rng.uniform() * options.reduce((sum, { weight }) => sum + weight, 0);
    const found = options.find(({ weight }) => {
      left -= weight;
      return left < 0;
    });
    const { commands } = found ?? options[options.length - 1];
    return commands[rng.int(commands.length)];
  }

  /** What is possible, by form. */
  private formsIn(state: JsonObject): ReadonlyMap<string, readonly string[]> {
    return remembered(this.possible, state, () => formsOf(this.rules.admissible(state), this.rules.scene(state)));
  }

  /** A command, and all that is so just now of what it names. */
  private circumstances(command: string, state: JsonObject): string {
    const scene = this.rules.scene(state);
    const facts = state.facts as FactTable;
    const at = new Situation({ ...scene, facts: {} }, facts);
    const { objects } = splitByNames(command, scene);
    const named = objects.flatMap((object) =>
      Object.keys(facts).flatMap((predicate) =>
        [0, 1].flatMap((place) => at.about(predicate, place, object).map((row) => `${predicate} ${row.join()}`)),
      ),
    );
    return [command, ...named].join('; ');
  }

  /** What of the solution this episode follows: up to any place in it, as nothing can be seen after its end. */
  private followed({ task, seed }: ToolsPolicyQuery): readonly Pick<ToolCall, 'arguments'>[] {
    const rng = Rng.fromSeed(seed).split('explorer follows');
    const calls = task.reference?.calls ?? [];
    return rng.uniform() < this.options.follows ? calls.slice(0, 1 + rng.int(calls.length)) : [];
  }

  private stateAfter(start: JsonObject, made: readonly ToolCall[]): JsonObject {
    let state = start;
    for (const call of made) {
      const after = this.states.get(call) ?? applyOperations(state, this.rules.execute(state, call).operations);
      this.states.set(call, after);
      state = after;
    }
    return state;
  }

  private guess(state: JsonObject, scene: Scene, possible: readonly string[], rng: Rng): string {
    const isVaried = possible.length > 0 && rng.uniform() < 1 / 3;
    const model = isVaried ? drawn(possible, scene, rng) : drawn(this.rules.commands(state), scene, rng);
    const { between, objects } = splitByNames(model, scene);
    if (objects.length === 0) return model;
    const near = nearThings(new Situation(scene, state.facts as FactTable));
    const types = new Map(scene.objects.map(({ name, type }) => [name, type]));
    const changed = isVaried ? rng.int(objects.length) : -1;
    const others = objects.map((object, i) => {
      if (isVaried && i !== changed) return object;
      const alike = scene.objects.flatMap(({ name, type }) => (type === types.get(object) ? [name] : []));
      const close = !isVaried && rng.uniform() < NEAR ? alike.filter((name) => near.has(name)) : [];
      const from = close.length > 0 ? close : alike;
      return from[rng.int(from.length)];
    });
    return between.reduce((text, piece, i) => `${text}${others[i - 1]}${piece}`);
  }
}

/** The solution's next command: it is as far as its commands were taken in their order. */
function nextOf(calls: readonly Pick<ToolCall, 'arguments'>[], made: readonly ToolCall[]): string | undefined {
  let at = 0;
  for (const { arguments: given } of made) if (at < calls.length && given.text === calls[at].arguments.text) at += 1;
  return calls[at] === undefined ? undefined : String(calls[at].arguments.text);
}

/** A form of command, evenly, then one of its commands. */
function drawn(commands: readonly string[], scene: Scene, rng: Rng): string {
  const forms = [...formsOf(commands, scene).values()];
  const form = forms[rng.int(forms.length)];
  return form[rng.int(form.length)];
}

const known = new WeakMap<readonly string[], ReadonlyMap<string, readonly string[]>>();

/** Commands by what they are without names of things; a list is worked out once. */
function formsOf(commands: readonly string[], scene: Scene): ReadonlyMap<string, readonly string[]> {
  return remembered(known, commands, () => {
    const types = new Map(scene.objects.map(({ name, type }) => [name, type]));
    const byForm = new Map<string, string[]>();
    for (const command of commands) {
      const { between, objects } = splitByNames(command, scene);
      const form = between.reduce((text, piece, i) => `${text}{${types.get(objects[i - 1])}}${piece}`);
      byForm.set(form, [...(byForm.get(form) ?? []), command]);
    }
    return new Map([...byForm].sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

/** Things that a few facts lead to from those that are the only ones of their type. */
function nearThings(at: Situation): Set<string> {
  const { objects } = at.scene;
  const counts = new Map<string, number>();
  for (const { type } of objects) counts.set(type, (counts.get(type) ?? 0) + 1);
  const predicates = [...new Set([...Object.keys(at.facts), ...Object.keys(at.scene.facts)])];
  const near = new Set(objects.flatMap(({ name, type }) => (counts.get(type) === 1 ? [name] : [])));
  let edge = [...near];
  for (let i = 0; i < REACH; i++) {
    const rows = edge.flatMap((name) =>
      predicates.flatMap((one) => [0, 1].flatMap((place) => at.about(one, place, name))),
    );
    edge = [...new Set(rows.flat())].filter((name) => !near.has(name));
    for (const name of edge) near.add(name);
  }
  return near;
}
