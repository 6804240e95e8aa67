// The file that says how a game sounds: templates of commands and of what is answered to them, and the rules of a text grammar.
// The form is TextWorld's for PDDL games (textworld/envs/pddl/logic/logic.ebnf).

import { pddlInvalid } from '../lists.js';
import { type Query, readQuery } from './query.js';
import { type Rhs, readSymbols } from './symbols.js';

export interface GrammarRule {
  /** What must hold for the rule to be taken; absent: it always may be. */
  readonly condition?: Query;
  readonly rhs: Rhs;
}

export interface ActionText {
  readonly template: Rhs;
  readonly feedback: Rhs;
}

export interface TextGrammar {
  /** By the action's name in lower case. */
  readonly actions: ReadonlyMap<string, ActionText>;
  /** By symbol. The first whose condition holds is taken. */
  readonly rules: ReadonlyMap<string, readonly GrammarRule[]>;
}

const TOKEN = /\s+|#[^\n]*|"""[\s\S]*?"""|"[^"]*"|::|[{};]|[\w/-]+|[\s\S]/g;

/** @throws PDDL_UNFIT */
export function readGrammar(text: string, what: string): TextGrammar {
  const tokens = [...text.matchAll(TOKEN)].map(([token]) => token).filter((token) => !/^(\s|#)/.test(token));
  const actions = new Map<string, ActionText>();
  const rules = new Map<string, readonly GrammarRule[]>();
  let at = 0;
  const take = (wanted?: string): string => {
    const token = tokens[at++];
    if (token === undefined) throw pddlInvalid(what, `it ends where ${wanted ?? 'more'} should follow`);
    if (wanted !== undefined && token !== wanted) throw pddlInvalid(what, `"${token}" stands where "${wanted}" should`);
    return token;
  };
  const field = () => {
    take('::');
    const value = take();
    take(';');
    if (!value.startsWith('"')) throw pddlInvalid(what, `"${value}" stands where a text in quotes should`);
    return value.startsWith('"""') ? value.slice(3, -3) : value.slice(1, -1);
  };
  while (at < tokens.length) {
    const head = take();
    if (head === 'grammar') addRules(field(), rules, what);
    else if (head === 'action') {
      const name = take();
      take('{');
      const fields = new Map<string, string>();
      while (tokens[at] !== '}') fields.set(take(), field());
      take('}');
      const own = fields.get('grammar');
      if (own !== undefined) addRules(own.replace(/^\s*#.*$/gm, ''), rules, what);
      const [template, feedback] = ['template', 'feedback'].map((key) => fields.get(key));
      if (template === undefined || feedback === undefined) {
        throw pddlInvalid(what, `action "${name}" needs a template and a feedback`);
      }
      actions.set(name.toLowerCase(), { template: readSymbols(template, what), feedback: readSymbols(feedback, what) });
    } else throw pddlInvalid(what, `"${head}" stands where "action" or "grammar" should`);
  }
  return { actions, rules };
}

function addRules(json: string, into: Map<string, readonly GrammarRule[]>, what: string): void {
  let parsed: unknown;
  try {
    parsed = JSON.parse(json);
  } catch (cause) {
    throw pddlInvalid(what, `a block of rules is no JSON: ${(cause as Error).message}`);
  }
  for (const [symbol, alternatives] of Object.entries(parsed as object)) {
    if (!Array.isArray(alternatives)) throw pddlInvalid(what, `the rules of "${symbol}" are no list`);
    into.set(
      symbol,
      alternatives.map(({ rhs, condition }: { rhs?: unknown; condition?: unknown }) => {
        if (typeof rhs !== 'string') throw pddlInvalid(what, `a rule of "${symbol}" has no text "rhs"`);
        const when = condition ? { condition: readQuery(String(condition), what) } : {};
        return { ...when, rhs: readSymbols(rhs, what) };
      }),
    );
  }
}
