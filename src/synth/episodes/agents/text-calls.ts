// Parses tool calls in a model's text, in the syntax of its chat template, if the server has no parser for them.

import { isJsonObject, type Json, type JsonObject, parsedJson } from '../../../core/canonical-json.js';

interface TextCall {
  readonly name: string;
  /** JSON text. */
  readonly arguments: string;
}

/** Blocks with a call as JSON, or with the tool's name in their head and arguments as JSON or single parameters. */
const BLOCKS: readonly RegExp[] = [
  // Hermes and Qwen; MiniMax and others with a prefix.
  /<(?:[\w-]+:)?tool_calls?>(?<body>.*?)(?:<\/(?:[\w-]+:)?tool_calls?>|$)/gs,
  /<function_calls?>(?<body>.*?)(?:<\/function_calls?>|$)/gs,
  // Llama 3.1 and 4.
  /<function=(?<name>[^>]+)>(?<body>.*?)<\/function>/gs,
  /<\|python_tag\|>(?<body>.*?)(?:<\|eo[mt]_id\|>|$)/gs,
  // Mistral.
  /\[TOOL_CALLS\](?<body>.*)$/gs,
  // Kimi K2.
  /<\|tool_call_begin\|>\s*(?:functions\.)?(?<name>[^:<\s]+)(?::\d+)?\s*<\|tool_call_argument_begin\|>(?<body>.*?)<\|tool_call_end\|>/gs,
  // DeepSeek.
  /<｜tool▁call▁begin｜>(?:function<｜tool▁sep｜>)?(?<name>[^\n<]+?)(?:<｜tool▁sep｜>|\n)(?<body>.*?)<｜tool▁call▁end｜>/gs,
  // The whole reply is a code block or the JSON of calls.
  /^\s*```(?:json|tool_call|tool_code)?\s*(?<body>[[{].*[\]}])\s*```\s*$/gs,
  /^\s*(?<body>[[{].*[\]}])\s*$/gs,
];
/** Remains of tags around blocks. */
const MARKS =
  /<\|?\/?(?:tool_calls?_section_(?:begin|end)|tool_calls?)\|?>|<｜tool▁(?:calls|outputs)▁(?:begin|end)｜>|<\|eo[mt]_id\|>/g;
const INNER = /<(?:function=|invoke name=)"?(?<name>[^">]+)"?>(?<body>.*?)(?:<\/(?:function|invoke)>|$)/gs;
const PARAMETER = /<parameter(?:=| name=)"?(?<key>[^">]+)"?>\n?(?<value>.*?)\n?<\/parameter>/gs;

/** Calls of a domain's tools, and the text without them; no calls if a block names no tool, or an unknown tool occurs among several. */
export function callsInText(
  text: string,
  known: readonly { readonly name: string; readonly parameters: JsonObject }[],
): { text: string; calls: readonly TextCall[] } {
  const tools = new Map(known.map(({ name, parameters }) => [name, (parameters.properties ?? {}) as JsonObject]));
  for (const block of BLOCKS) {
    const calls: TextCall[] = [];
    const rest = text.replace(block, (whole, ...groups) => {
      const { name, body } = groups.at(-1) as { name?: string; body: string };
      const found = callsOf(body, tools, name?.trim()).filter((call) => tools.has(call.name));
      calls.push(...found);
      return found.length > 0 ? '' : whole;
    });
    if (calls.length > 0) return { text: rest.replace(MARKS, '').trim(), calls };
  }
  return { text, calls: [] };
}

function callsOf(body: string, tools: ReadonlyMap<string, JsonObject>, name?: string): TextCall[] {
  const inner = [...body.matchAll(INNER)];
  if (inner.length > 0) return inner.flatMap(({ groups }) => callsOf(groups!.body, tools, groups!.name.trim()));
  const parameters = [...body.matchAll(PARAMETER)];
  if (name !== undefined && parameters.length > 0) {
    const given = parameters.map(({ groups }): [string, Json] => [
      groups!.key,
      parameterOf(groups!.value, tools.get(name)?.[groups!.key]),
    ]);
    return [{ name, arguments: JSON.stringify(Object.fromEntries(given)) }];
  }
  const json = body.replace(/^\s*```(?:json)?|```\s*$/g, '').trim();
  if (name !== undefined) return [{ name, arguments: json }];
  // Several calls are a list or a sequence.
  const read = parsedJson(json) ?? parsedJson(`[${json.replace(/\}\s*[;,]?\s*\{/g, '},{')}]`);
  return [read ?? null].flat().flatMap(callOf);
}

function callOf(value: Json): TextCall[] {
  if (!isJsonObject(value)) return [];
  const { name, arguments: given = value.parameters, function: called } = value;
  if (isJsonObject(called ?? null)) return callOf(called);
  if (typeof name !== 'string' || given === undefined) return [];
  return [{ name, arguments: typeof given === 'string' ? given : JSON.stringify(given) }];
}

/** A parameter in tags is text unless its schema has another type. */
function parameterOf(text: string, schema: Json | undefined): Json {
  const isText = isJsonObject(schema ?? null) && [(schema as JsonObject).type].flat().includes('string');
  return isText ? text : (parsedJson(text) ?? text);
}
