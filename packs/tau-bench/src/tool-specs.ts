// Tool specifications for agents, from τ-bench's tools.json: Python types become JSON Schema, docstrings descriptions.

import { type JsonObject, type ToolSpec, z } from 'reverie/extend';
import { CABIN, FLIGHT_INFO, FLIGHT_TYPE, INSURANCE, PASSENGER, PAYMENT } from './airline-model.js';
import { type DataModel, integer, listOf, schemaOf, text } from './data-model.js';
import type { TauRelease, TauTool } from './tool-kit.js';

export const toolsFileSchema = z
  .array(
    z.object({
      name: z.string(),
      kind: z.enum(['read', 'write', 'generic']),
      params: z.array(z.object({ name: z.string(), python_type: z.string() })),
      doc: z.string(),
    }),
  )
  .min(1);

export type ToolsFile = z.infer<typeof toolsFileSchema>;

const PYTHON_TYPES: Readonly<Record<string, DataModel>> = {
  str: text(),
  int: integer(),
  'List[str]': listOf(text()),
  FlightType: FLIGHT_TYPE,
  CabinClass: CABIN,
  Insurance: INSURANCE,
  'List[FlightInfo | dict]': listOf(FLIGHT_INFO),
  'List[Passenger | dict]': listOf(PASSENGER),
  'List[Payment | dict]': listOf(PAYMENT),
};

const THINK: ToolsFile[number] = {
  name: 'think',
  kind: 'generic',
  params: [{ name: 'thought', python_type: 'str' }],
  doc: 'Write down a thought. It changes nothing and answers nothing.\n\nArgs:\n    thought: What to think about.',
};

/**
 * Specifications of the tools that the release has.
 * @returns instead of them a sentence on the first tool that cannot be taken
 */
export function toolSpecs(
  file: ToolsFile,
  tools: Readonly<Record<string, TauTool<never>>>,
  release: TauRelease,
): ToolSpec[] | string {
  const listed = release === 'tau1' ? [...file, THINK] : file;
  const unknown = listed.find(({ name }) => !Object.hasOwn(tools, name));
  if (unknown !== undefined) return `tool "${unknown.name}" is none of this domain (${Object.keys(tools).join(', ')})`;
  const untyped = listed.flatMap(({ params }) => params).find(({ python_type: type }) => !(type in PYTHON_TYPES));
  if (untyped !== undefined) return `parameter "${untyped.name}" has the unknown type "${untyped.python_type}"`;
  return listed
    .filter(({ name }) => tools[name].only === undefined || tools[name].only === release)
    .map((tool) => toolSpec(tool, release));
}

function toolSpec({ name, kind, params, doc }: ToolsFile[number], release: TauRelease): ToolSpec {
  const { about, parameters } = parseDoc(doc);
  const properties = Object.fromEntries(
    params.map((param) => [param.name, parameterSchema(param, parameters.get(param.name), release)]),
  );
  return {
    name,
    kind,
    description: about,
    parameters: {
      type: 'object',
      properties,
      required: params.map((param) => param.name),
      additionalProperties: false,
    },
    // The successor lets the agent say that it hands over; its simulated user then ends the conversation.
    ...(name === 'transfer_to_human_agents' && release === 'tau1' ? { terminates: true } : {}),
  };
}

function parameterSchema(
  param: ToolsFile[number]['params'][number],
  description: string | undefined,
  release: TauRelease,
): JsonObject {
  const schema = schemaOf(PYTHON_TYPES[param.python_type], false);
  const described = description === undefined ? schema : { ...schema, description };
  return release === 'tau1' ? withAnyAmount({ [param.name]: described })[param.name] : described;
}

/** Amounts of money: whole in the successor, any number in the first release. */
function withAnyAmount(properties: Readonly<Record<string, JsonObject>>): Record<string, JsonObject> {
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => {
      if (name === 'amount') return [name, { ...schema, type: 'number' }];
      const items = schema.items as JsonObject | undefined;
      if (items?.properties === undefined) return [name, schema];
      const inner = withAnyAmount(items.properties as Record<string, JsonObject>);
      return [name, { ...schema, items: { ...items, properties: inner } }];
    }),
  );
}

/** A docstring in Google's style: what is said before its sections, and the text of each argument. */
export function parseDoc(doc: string): { about: string; parameters: ReadonlyMap<string, string> } {
  const [about, args = ''] = doc.split(/^Args:\s*$/m);
  const parameters = new Map<string, string>();
  let last: string | undefined;
  for (const line of args.split(/^(?:Returns|Raises):/m)[0].split('\n')) {
    const start = /^ {4}(\w+): (.*)$/.exec(line);
    if (start !== null) {
      last = start[1];
      parameters.set(last, start[2].trim());
    } else if (last !== undefined && line.trim() !== '') {
      parameters.set(last, `${parameters.get(last)} ${line.trim()}`);
    }
  }
  return { about: about.split(/^(?:Returns|Raises):/m)[0].trim(), parameters };
}
