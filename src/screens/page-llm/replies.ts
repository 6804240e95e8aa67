// What the stages reply. Every key is required and none is free, as strict servers ask; trees are told flat, an element a line with its
// depth, as grammars of servers differ in what they make of recursion.

import { z } from 'zod';
import type { Json } from '../../core/canonical-json.js';
import type { ChatMessage } from '../../llm/language-model.js';
import { minConfidence, replyKeys } from '../../worldmodel/llm/entry.js';
import { DATA_NOTICE, renderSections, type Section } from '../../worldmodel/llm/prompt.js';
import { replySchema } from '../../worldmodel/llm/replies.js';

const reasoning = z.string().describe('What the page does with the action, and what follows from that.');
const confidence = z.number().describe('Probability in [0, 1] that the page becomes this, if the overview is right.');

/** Properties that a reply may give an element; flags are told as "true" or "false". */
const TOLD_PROPERTIES = [
  ...(['value', 'checked', 'selected', 'expanded'] as const),
  ...(['disabled', 'readonly', 'multiline', 'multiselectable'] as const),
] as const;

/** What can be claimed of an element. */
const CLAIMED = ['name', 'value', 'checked', 'selected', 'expanded', 'disabled', 'focused', 'gone'] as const;

export const overviewReply = z.strictObject({
  thought: z.string().describe('What the element acted on is, what the page does with such an action.'),
  overview: z.string().describe('What is seen afterwards, in a sentence or two.'),
  outcome: z
    .enum(['page', 'change', 'nothing'])
    .describe('Another page, a change of this one (a box ticked, a list opened, a message), or nothing to be seen.'),
  title: z.string().describe('Title of the other page; "" unless the outcome is page.'),
  shows: z
    .array(
      z.strictObject({
        id: z.string().describe('An element of the screen.'),
        property: z.enum(CLAIMED),
        value: z.string().describe('What it is afterwards: the text, or "true" or "false".'),
      }),
    )
    .describe('What of the elements acted on is other than before, where it can be said; empty for another page.'),
  memory: z.string().describe('A fact that later pages must agree with, such as what was bought; "" for none.'),
  confidence: z.number().describe('Probability in [0, 1] that this is what follows.'),
});

export const operationsReply = z.strictObject({
  reasoning,
  operations: z
    .array(
      z.strictObject({
        op: z.enum(['add', 'replace', 'remove']),
        path: z.string().describe('JSON Pointer: /elements/ID, /elements/ID/PROPERTY or /focused.'),
        value: z.string().describe('The new value as JSON text, a string in quotes; "null" for remove.'),
      }),
    )
    .describe('Changes of the elements, JSON Patch.'),
  confidence,
});

export const treeReply = z.strictObject({
  reasoning,
  elements: z
    .array(
      z.strictObject({
        depth: z.int().min(0).describe('0 for what stands on the page itself, one more for what an element holds.'),
        role: z.string().describe('A role of WAI-ARIA, such as link; StaticText for bare text, generic for a box.'),
        name: z.string().describe('What it reads; "" where it has no words of its own.'),
        states: z.array(z.strictObject({ property: z.enum(TOLD_PROPERTIES), value: z.string() })),
      }),
    )
    .describe('Elements in the order of the page.'),
  confidence,
});

export type OverviewReply = z.output<typeof overviewReply>;
type TreeReply = z.output<typeof treeReply>;
export type TreeElement = TreeReply['elements'][number];

export const SCHEMAS = {
  overview: replySchema('page_overview', overviewReply),
  operations: replySchema('page_operations', operationsReply),
  tree: replySchema('page_tree', treeReply),
};

/** Counts changes of the prompts that can change answers. */
export const PROMPT_VERSION = 2;

export type Stage = 'overview' | 'operations' | 'draft' | 'tree';

const ROLE =
  'You simulate the pages of a web application that an agent uses. The agent takes an action, and you say what the page becomes, as its program and a browser would: without helping the agent, and without hindering it.';

const SCREEN =
  'Section Screen is what is seen: an element a line, its id in brackets, its role, its name in quotes, its state. Section Acted is the elements acted on, with those that hold them, whole. What is not on the screen does not exist.';
const MEMORY = 'Section Memory is what earlier pages of this episode said. Stay true to it, and to section Episode.';
const RULES: Readonly<Record<Stage, readonly string[]>> = {
  overview: [
    SCREEN,
    MEMORY,
    'A page that stays and shows one thing more or less is a change. A link that leads elsewhere, or a form that is sent, is another page.',
    'shows is held against the page that is written afterwards: claim what is certain, and nothing else.',
    'memory is for what would be contradicted otherwise: what was bought, written, sent or deleted, a price, a name.',
  ],
  operations: [
    SCREEN,
    'Section Overview is what is to be seen afterwards. Change what brings it about, and nothing else.',
    'operations are JSON Patch on "elements", a map from ids to {"role", "name", "children": [ids], ...}, and on "focused", an id or "". An element that comes is added under an id that is at least the one of section Next, and its id is put into the children of what holds it; one that goes is removed, with all it holds, and so is its id.',
    'Flags (checked, selected, expanded, disabled) are true or false; value is a text.',
  ],
  draft: [
    MEMORY,
    'Section Overview is what the next page is. Write that page out in plain text: its parts from top to bottom, each text, link, button and field in its words, and what fields hold.',
    'Be as rich as a real page. Where it has a list of things to choose from, it has at least six, which differ in what one would compare them by.',
    'Write the page and nothing else.',
  ],
  tree: [
    'Section Overview is what the page is, section Draft what is on it. Write it as elements, in the order of the page, leaving nothing out that can be read or acted on.',
    'Fields have a state value, boxes and radio buttons a state checked, options stand within their combobox or listbox and one of them is selected. Text that is all there is in an element is its name; StaticText holds no elements.',
  ],
};

const KEYS: Readonly<Record<Stage, string | undefined>> = {
  overview: 'thought, overview, outcome, title, shows, memory, confidence',
  operations: 'reasoning, operations, confidence',
  draft: undefined,
  tree: 'reasoning, elements, confidence',
};

/** Instructions stand in the system prompt alone; what is told in sections is data. */
export function stageMessages(stage: Stage, sections: Readonly<Record<string, Json>>): ChatMessage[] {
  const keys = KEYS[stage];
  const system = [
    ROLE,
    DATA_NOTICE,
    `## Rules\n${RULES[stage].map((rule, i) => `${i + 1}. ${rule}`).join('\n')}`,
    'Where there is a section Refused, your answer before had the problems that it names: answer anew, without them.',
    keys === undefined
      ? 'Reply with the text of the page.'
      : `Reply with one JSON object with the keys ${keys}, in this order.`,
  ];
  const told: Section[] = Object.entries(sections).map(([heading, content]) => ({ heading, content }));
  return [
    { role: 'system', content: system.join('\n\n') },
    { role: 'user', content: renderSections(told) },
  ];
}

// What a scenario says of the writer of pages: section `model.page-llm`.

export const pageLlmSection = z
  .strictObject({
    ...replyKeys('reply of a stage'),
    minConfidence,
  })
  // Without a default: where it is not asked for, a scenario says nothing of it.
  .describe('Backend `page-llm`: a language model (section `llm` says which) that writes what pages become.');

export type PageLlmSettings = z.output<typeof pageLlmSection>;
