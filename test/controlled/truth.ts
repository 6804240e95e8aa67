// The truth a controlled model answers from: the domain's rules, and which task it is about.

import type { Json, JsonObject } from '../../src/core/canonical-json.js';
import { applyOperations } from '../../src/env/state/operations.js';
import { callChecks } from '../../src/env/tools/check-action.js';
import type { CallSpec, ToolsDomain, ToolsTask } from '../../src/env/tools/domain.js';
import type { Operation, Prediction } from '../../src/env/tools/prediction.js';
import { rulesResponder } from '../../src/env/tools/rules-responder.js';
import { initialStateOf } from '../../src/env/tools/situation.js';
import type { CallQuery } from '../../src/env/tools/tools-family.js';
import { asObject, asText } from './asked.js';

export interface Outcome {
  readonly operations: readonly Operation[];
  readonly observation: string;
  readonly isError: boolean;
}

/** Of a task without an opening so many words of its goal are said: more would give the goal away. */
const OPENING_WORDS = 14;

/** What the user of a task says first. */
export function openingOf({ opening, goal }: Pick<ToolsTask['user'], 'opening' | 'goal'>): string {
  return opening ?? goal.split(/\s+/).slice(0, OPENING_WORDS).join(' ');
}

export class Truth {
  private readonly rules;
  private readonly byOpening = new Map<string, ToolsTask>();
  private readonly byGoal = new Map<string, ToolsTask>();

  constructor(
    readonly domain: ToolsDomain,
    tasks: readonly ToolsTask[] = [],
  ) {
    this.rules = rulesResponder(domain);
    for (const task of [...domain.tasks, ...tasks]) this.know(task);
  }

  know(task: ToolsTask): void {
    this.byGoal.set(task.user.goal, task);
    this.byOpening.set(openingOf(task.user), task);
  }

  taskOfOpening(opening: string): ToolsTask | undefined {
    return this.byOpening.get(opening);
  }

  taskOfGoal(goal: string): ToolsTask | undefined {
    return this.byGoal.get(goal);
  }

  initialState(task: ToolsTask | undefined): JsonObject {
    return task === undefined ? this.domain.initialState : initialStateOf(this.domain, task);
  }

  /** What breaks a tool's schema is refused, as environments do; conversations hold such calls too. */
  outcome(state: JsonObject, call: CallSpec): Outcome {
    const checks = callChecks(this.domain.tools);
    const problems = checks.problems(call);
    if (problems.length > 0) return checks.refuse(problems);
    const query = { domain: this.domain, state, call: { id: 'asked', ...call } } as unknown as CallQuery;
    const { operations, observation, isError } = this.rules.answer(query) as Prediction;
    return { operations, observation, isError };
  }

  /** Outcome and the state after it. */
  step(state: JsonObject, call: CallSpec): Outcome & { readonly after: JsonObject } {
    const outcome = this.outcome(state, call);
    return { ...outcome, after: applyOperations(state, outcome.operations) };
  }

  kindOf(tool: string): 'read' | 'write' | 'generic' {
    return this.domain.tools.find(({ name }) => name === tool)?.kind ?? 'generic';
  }

  ends(tool: string, isError: boolean): boolean {
    return !isError && this.domain.tools.some(({ name, terminates }) => name === tool && terminates === true);
  }

  /** The state that a prompt's sections tell a part of: as it was at the episode's start, then what changed; the rest is as in `hidden`. */
  stateShown({ State, Changed, Collections }: Readonly<Record<string, Json>>, hidden: () => JsonObject): JsonObject {
    const cuts = Object.keys(asObject(Collections));
    const base = Collections === undefined ? {} : hidden();
    const { removed, partial, ...changed } = asObject(Changed);
    const overlays = (over: JsonObject, shown: JsonObject, cut: readonly string[]): JsonObject => {
      const parts = Object.entries(shown).map(([key, part]) => [key, overlaid(over[key], part, `/${key}`, cut)]);
      return { ...over, ...Object.fromEntries(parts) };
    };
    const start = overlays(base, asObject(State), cuts);
    const inner = Array.isArray(partial) ? partial.map(asText) : [];
    const now = overlays(start, changed, [...Object.keys(changed).map((key) => `/${key}`), ...inner]);
    const gone = new Set(Array.isArray(removed) ? removed.map(asText) : []);
    return Object.fromEntries(
      Object.entries(now).map(([key, part]) => {
        const lacks = Object.keys(asObject(part)).some((entry) => gone.has(`/${key}/${entry}`));
        if (!lacks) return [key, part];
        return [
          key,
          Object.fromEntries(Object.entries(asObject(part)).filter(([entry]) => !gone.has(`/${key}/${entry}`))),
        ];
      }),
    );
  }
}

/** `shown` where it is whole; where it is cut (`cuts`: paths), its entries over those of `base`. */
function overlaid(base: Json | undefined, shown: Json, path: string, cuts: readonly string[]): Json {
  const inside = cuts.filter((cut) => cut.startsWith(path) && (cut.length === path.length || cut[path.length] === '/'));
  if (inside.length === 0) return shown;
  const below = asObject(base);
  const merged: Record<string, Json> = inside.includes(path) ? { ...below } : {};
  for (const [key, part] of Object.entries(asObject(shown)))
    merged[key] = inside.every((cut) => cut === path) ? part : overlaid(below[key], part, `${path}/${key}`, inside);
  return merged;
}
