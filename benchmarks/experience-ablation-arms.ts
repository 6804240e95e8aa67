// The arms of experience.ablation: plain text simulation, and what each further part of the experience model adds to it.

import type { ToolsDomain } from '../src/env/tools/domain.js';
import type { Responder } from '../src/env/tools/tools-family.js';
import { unaidedResponder } from '../src/fidelity/tools/own-task.js';
import type { LanguageModel } from '../src/llm/language-model.js';
import type { ExperienceIndex } from '../src/replay/experience/experience.js';
import { makeRouter } from '../src/worldmodel/tools/make-router.js';
import { parseToolsModelConfig, type ToolsModelConfig } from '../src/worldmodel/tools/tools-model-schema.js';

export interface Arm {
  readonly name: string;
  /** In a report. */
  readonly meaning: string;
  readonly mode: 'text' | 'typed';
  readonly k: number;
  /** Whether preconditions and invariants of the domain's rules check what the model proposes. */
  readonly knowsRules: boolean;
  readonly backends: ToolsModelConfig['backends'];
}

export const ARMS: readonly Arm[] = [
  {
    name: 'text',
    meaning: 'the model writes observations; no state, nothing retrieved',
    mode: 'text',
    k: 0,
    knowsRules: false,
    backends: ['llm'],
  },
  {
    name: '+retrieval',
    meaning: 'and is shown 20 like transitions of the seed logs',
    mode: 'text',
    k: 20,
    knowsRules: false,
    backends: ['llm'],
  },
  {
    name: '+typed',
    meaning: 'and proposes changes of a typed state, checked by schema and for unknown ids, repaired once',
    mode: 'typed',
    k: 20,
    knowsRules: false,
    backends: ['llm'],
  },
  {
    name: '+checks',
    meaning: "and preconditions and invariants of the domain's rules refuse what cannot be",
    mode: 'typed',
    k: 20,
    knowsRules: true,
    backends: ['llm'],
  },
  {
    name: '+router',
    meaning: 'and exact code answers reads, exact replay what was recorded; the model the rest',
    mode: 'typed',
    k: 20,
    knowsRules: true,
    backends: ['rules', 'replay', 'llm'],
  },
];

/** Sizes of prompts and replies; defaults are the product's. */
export type PromptSizes = Partial<Pick<ToolsModelConfig['llm'], 'historyTokens' | 'stateTokens' | 'maxTokens'>> & {
  /** Transitions shown, where any are. */
  readonly k?: number;
  /** Characters of each. */
  readonly maxChars?: number;
};

export interface ArmParts {
  /** With rules. */
  readonly domain: ToolsDomain;
  readonly index: ExperienceIndex;
  readonly model: LanguageModel;
  readonly sizes?: PromptSizes;
}

/** The domain as the arm may know it. */
export function knownDomain({ knowsRules }: Arm, domain: ToolsDomain): ToolsDomain {
  return knowsRules ? domain : bareDomain(domain);
}

/** Who answers calls of an arm, of any task, each without what is remembered of the task itself. */
export function armResponder(arm: Arm, { domain, index, model, sizes = {} }: ArmParts): Responder {
  const known = knownDomain(arm, domain);
  const { k = arm.k, maxChars, ...llm } = sizes;
  const config = parseToolsModelConfig({
    kind: 'tools',
    backends: arm.backends,
    rules: { tools: 'reads' },
    llm: { mode: arm.mode, ...llm, retrieval: { k: Math.min(arm.k, k), exceptOwnTask: true, maxChars } },
  });
  const make = (seen: ExperienceIndex) => makeRouter(config, { domain: known, index: seen, model });
  const unaided = unaidedResponder({ version: arm.name, index, make });
  return { ...unaided, answer: (query, signal) => unaided.answer({ ...query, domain: known }, signal) };
}

const bare = new WeakMap<ToolsDomain, ToolsDomain>();

/** What a team has that has no code of its tools. */
function bareDomain(domain: ToolsDomain): ToolsDomain {
  const { rules: _, ...rest } = domain;
  const made = bare.get(domain) ?? { ...rest, version: `${domain.version}, without rules` };
  bare.set(domain, made);
  return made;
}
