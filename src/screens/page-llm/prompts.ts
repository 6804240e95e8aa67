// The prompts of the stages: a system prompt that is the same for all pages, and one user message of sections, each a line of JSON
// (UI-Simulator's stages, arXiv 2510.14969, section 3.1; what the agent is asked to do is not told, so that no page helps it).

import type { Json } from '../../core/canonical-json.js';
import type { ChatMessage } from '../../llm/language-model.js';
import { DATA_NOTICE, renderSections, type Section } from '../../worldmodel/llm/sections.js';

/** Counts changes of the prompts that can change answers. */
export const PROMPT_VERSION = 1;

export type Stage = 'overview' | 'operations' | 'draft' | 'tree' | 'html';

const ROLE =
  'You simulate the pages of a web application that an agent uses. The agent takes an action, and you say what the page becomes, as its program and a browser would: without helping the agent, and without hindering it.';

const SCREEN =
  'Section Screen is what is seen: an element a line, its id in brackets, its role, its name in quotes, its state. Section Acted is the elements acted on, with those that hold them, whole. What is not on the screen does not exist.';
const MEMORY = 'Section Memory is what earlier pages of this episode said. Stay true to it, and to section Episode.';
const REFERENCES =
  'Section References shows what such actions came to elsewhere, in pages that are real. They show how pages behave; what they speak of may be otherwise here. Copy their manner, not their content.';

const RULES: Readonly<Record<Stage, readonly string[]>> = {
  overview: [
    SCREEN,
    MEMORY,
    REFERENCES,
    'A page that stays and shows one thing more or less is a change. A link that leads elsewhere, or a form that is sent, is another page.',
    'shows is held against the page that is written afterwards: claim what is certain, and nothing else.',
    'memory is for what would be contradicted otherwise: what was bought, written, sent or deleted, a price, a name.',
  ],
  operations: [
    SCREEN,
    REFERENCES,
    'Section Overview is what is to be seen afterwards. Change what brings it about, and nothing else.',
    'operations are JSON Patch on "elements", a map from ids to {"role", "name", "children": [ids], ...}, and on "focused", an id or "". An element that comes is added under an id that is at least the one of section Next, and its id is put into the children of what holds it; one that goes is removed, with all it holds, and so is its id.',
    'Flags (checked, selected, expanded, disabled) are true or false; value is a text.',
  ],
  draft: [
    MEMORY,
    REFERENCES,
    'Section Overview is what the next page is. Write that page out in plain text: its parts from top to bottom, each text, link, button and field in its words, and what fields hold.',
    'Be as rich as a real page. Where it has a list of things to choose from, it has at least six, which differ in what one would compare them by.',
    'Write the page and nothing else.',
  ],
  tree: [
    'Section Overview is what the page is, section Draft what is on it. Write it as elements, in the order of the page, leaving nothing out that can be read or acted on.',
    'Fields have a state value, boxes and radio buttons a state checked, options stand within their combobox or listbox and one of them is selected. Text that is all there is in an element is its name; StaticText holds no elements.',
  ],
  html: [
    'Section Page is the page before the action as HTML, its elements by their data-bid, which the action names. What is not on it does not exist.',
    MEMORY,
    REFERENCES,
    'Section Overview is what is to be seen afterwards.',
    'Write the whole page after the action as HTML that stands alone: no scripts, no styles, no pictures, nothing from elsewhere. No script is run, and handlers do nothing.',
    'Where the page stays, an element that was there keeps its data-bid, and one that is new has none. On another page none has one, and its title is the one of the overview. The element that has the keyboard has the attribute data-focused.',
  ],
};

const KEYS: Readonly<Record<Stage, string | undefined>> = {
  overview: 'thought, overview, outcome, title, shows, memory, confidence',
  operations: 'reasoning, operations, confidence',
  draft: undefined,
  tree: 'reasoning, elements, confidence',
  html: 'reasoning, html, confidence',
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
