// What the stages reply. Every key is required and none is free, as strict servers ask; trees are told flat, an element a line with its
// depth, as grammars of servers differ in what they make of recursion.

import { z } from 'zod';
import { replySchema } from '../../worldmodel/llm/prediction-schema.js';

const reasoning = z.string().describe('What the page does with the action, and what follows from that.');
const confidence = z.number().describe('Probability in [0, 1] that the page becomes this, if the overview is right.');

/** Properties that a reply may give an element; flags are told as "true" or "false". */
export const TOLD_PROPERTIES = [
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

export const htmlReply = z.strictObject({
  reasoning,
  html: z.string().describe('The whole page after the action as HTML.'),
  confidence,
});

export type OverviewReply = z.output<typeof overviewReply>;
export type TreeReply = z.output<typeof treeReply>;
export type TreeElement = TreeReply['elements'][number];

export const SCHEMAS = {
  overview: replySchema('page_overview', overviewReply),
  operations: replySchema('page_operations', operationsReply),
  tree: replySchema('page_tree', treeReply),
  html: replySchema('page_html', htmlReply),
};
