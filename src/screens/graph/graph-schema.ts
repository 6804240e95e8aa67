// A navigation graph as a file says it (GUI Exploration Lab): pages with their elements, edges between them, the data beneath, and tasks.
// Plain data in YAML or JSON; nothing of it is code.

import { z } from 'zod';
import { ELEMENT_PROPERTIES } from '../../env/screens/screen-state.js';

const name = z.string().regex(/^[A-Za-z][\w-]*$/, 'a name has letters, digits, "_" and "-", and begins with a letter');
const scalar = z.union([z.string(), z.number(), z.boolean()]);
const scalars = z.record(z.string(), scalar);
const columns = z.record(name, z.enum(['text', 'number', 'flag']));

const cellSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), value: z.string().default('') }),
  z.strictObject({ type: z.literal('number'), value: z.number().default(0) }),
  z.strictObject({ type: z.literal('flag'), value: z.boolean().default(false) }),
  z.strictObject({ type: z.literal('record'), columns, value: scalars.optional() }),
  z.strictObject({ type: z.literal('table'), columns, rows: z.array(scalars).default([]) }),
  z.strictObject({ type: z.literal('sum'), of: name, columns: z.array(name).min(1) }),
  z.strictObject({ type: z.literal('count'), of: name }),
]);

const amount = {
  count: z.number().int().min(0).optional(),
  atLeast: scalar.optional(),
  atMost: scalar.optional(),
};

export interface GraphCondition {
  readonly value?: string | number | boolean;
  readonly is?: string | number | boolean;
  readonly not?: string | number | boolean;
  readonly contains?: string | number | boolean;
  readonly oneOf?: readonly (string | number | boolean)[];
  readonly rows?: string;
  readonly where?: Readonly<Record<string, string | number | boolean>>;
  readonly page?: string;
  readonly element?: string;
  readonly property?: string;
  readonly any?: readonly GraphCondition[];
  readonly count?: number;
  readonly atLeast?: string | number | boolean;
  readonly atMost?: string | number | boolean;
}

/** Exactly one of `value`, `rows`, `page`, `element` and `any` says what is looked at. */
const conditionSchema: z.ZodType<GraphCondition> = z
  .strictObject({
    value: scalar.optional(),
    is: scalar.optional(),
    not: scalar.optional(),
    contains: scalar.optional(),
    oneOf: z.array(scalar).optional(),
    rows: name.optional(),
    where: scalars.optional(),
    page: name.optional(),
    element: name.optional(),
    property: z.enum(['name', ...Object.keys(ELEMENT_PROPERTIES)]).optional(),
    get any() {
      return z.array(conditionSchema).min(1).optional();
    },
    ...amount,
  })
  .refine(
    (one) => ['value', 'rows', 'page', 'element', 'any'].filter((key) => key in one).length === 1,
    'a condition has exactly one of value, rows, page, element and any',
  ) as z.ZodType<GraphCondition>;

const conditions = z.array(conditionSchema).min(1);
/** Of an element: so, not so, or so where all conditions hold. */
const flag = z.union([z.boolean(), conditions]).optional();

export interface GraphElement {
  readonly id?: string;
  readonly role: string;
  readonly name: string;
  readonly bind?: string;
  readonly value?: string;
  readonly option?: string;
  readonly options?: readonly string[] | { readonly of: string; readonly column: string };
  readonly each?: string;
  readonly as?: string;
  readonly where?: readonly GraphCondition[];
  readonly when?: readonly GraphCondition[];
  readonly children: readonly GraphElement[];
  readonly [property: string]: unknown;
}

const elementSchema: z.ZodType<GraphElement> = z.strictObject({
  id: name.optional(),
  role: z.string().min(1),
  name: z.string().default(''),
  bind: name.optional(),
  value: z.string().optional(),
  option: z.string().optional(),
  options: z.union([z.array(z.string()).min(1), z.strictObject({ of: name, column: name })]).optional(),
  each: name.optional(),
  as: name.optional(),
  where: conditions.optional(),
  when: conditions.optional(),
  classes: z.string().optional(),
  color: z.string().optional(),
  checked: flag,
  selected: flag,
  expanded: flag,
  disabled: flag,
  readonly: flag,
  multiline: flag,
  get children() {
    return z.array(elementSchema).default([]);
  },
}) as unknown as z.ZodType<GraphElement>;

const changeSchema = z.union([
  z.strictObject({ set: name, to: scalar }),
  z.strictObject({ add: scalar, to: name }),
  z.strictObject({ toggle: name }),
  z.strictObject({ append: scalars, to: name }),
  z.strictObject({ remove: name, where: scalars.optional() }),
  z.strictObject({ update: name, where: scalars.optional(), set: scalars.optional(), add: scalars.optional() }),
]);
export type GraphChange = z.output<typeof changeSchema>;

const edgeSchema = z.strictObject({
  page: name,
  on: name,
  action: z.enum(['click', 'dblclick', 'hover', 'focus', 'fill', 'clear', 'press', 'select_option']).default('click'),
  key: z.string().min(1).optional(),
  when: conditions.optional(),
  changes: z.array(changeSchema).default([]),
  to: name.optional(),
});
export type GraphEdge = z.output<typeof edgeSchema>;

const drawSchema = z.union([
  name,
  z.array(scalar).min(1),
  z.strictObject({ from: name, where: conditions.optional() }),
]);
export type GraphDraw = z.output<typeof drawSchema>;

const taskSchema = z.strictObject({
  name,
  start: name.optional(),
  draw: z.record(name, drawSchema).default({}),
  changes: z.array(changeSchema).default([]),
  goal: z.string().min(1),
  done: conditions.optional(),
  over: conditions.optional(),
  answer: scalar.optional(),
});
export type GraphTask = z.output<typeof taskSchema>;

export const graphSchema = z.strictObject({
  title: z.string().min(1),
  policy: z.string().min(1).optional(),
  goalKinds: z.array(z.string().min(1).max(400)).optional(),
  start: name,
  data: z.record(name, cellSchema).default({}),
  pages: z.record(name, z.strictObject({ title: z.string(), elements: z.array(elementSchema) })),
  edges: z.array(edgeSchema).default([]),
  tasks: z.array(taskSchema).min(1),
});
export type GraphFile = z.output<typeof graphSchema>;
export type GraphCell = GraphFile['data'][string];
export type Columns = z.output<typeof columns>;
