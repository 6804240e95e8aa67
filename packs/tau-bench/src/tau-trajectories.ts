// Reads recorded trajectories of τ-bench's first release: task, trial, reward and messages.

import path from 'node:path';
import { type CallSpec, type JsonObject, type Message, type ToolCall, z } from 'reverie/extend';
import { checkData, dataInvalid, parseJson, readDataText } from './tau-files.js';

export interface TauTrajectory {
  /** Unique in its file: task and trial. */
  readonly id: string;
  /** Task of that number in tasks.json. */
  readonly taskId: string;
  readonly trial: number;
  readonly reward: number;
  readonly messages: readonly Message[];
  /** What the simulated user was told. */
  readonly instruction: string;
  /** What it was judged by at the time: calls whose end state was compared, texts the agent had to say. */
  readonly reference: { readonly calls: readonly CallSpec[]; readonly communicate: readonly string[] };
}

const jsonObject = z.record(z.string(), z.json());

const messageSchema = z.object({
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  content: z.string().nullish(),
  tool_calls: z
    .array(z.object({ id: z.string(), function: z.object({ name: z.string(), arguments: z.string() }) }))
    .nullish(),
  tool_call_id: z.string().optional(),
  name: z.string().optional(),
});

type RawMessage = z.infer<typeof messageSchema>;

const trajectorySchema = z.object({
  task_id: z.union([z.number(), z.string()]),
  trial: z.number(),
  reward: z.number(),
  info: z.object({
    task: z.object({
      instruction: z.string(),
      actions: z.array(z.object({ name: z.string(), kwargs: jsonObject })),
      outputs: z.array(z.string()),
    }),
  }),
  traj: z.array(messageSchema),
});

/**
 * @param file as published with τ-bench ("historical trajectories"): a JSON list, or one trajectory a line
 * @throws TAU_DATA_MISSING, TAU_DATA_INVALID naming the file and the line
 */
export async function readTauTrajectories(file: string): Promise<TauTrajectory[]> {
  const text = await readDataText(path.dirname(file), path.basename(file));
  if (text.trimStart().startsWith('[')) {
    const list = checkData(file, parseJson(file, text), z.array(z.unknown()));
    return list.map((entry, i) => trajectory(`${file}, entry ${i + 1}`, entry));
  }
  return text.split('\n').flatMap((line, i) => {
    const where = `${file}, line ${i + 1}`;
    return line.trim() === '' ? [] : [trajectory(where, parseJson(where, line))];
  });
}

function trajectory(where: string, entry: unknown): TauTrajectory {
  const { task_id, trial, reward, info, traj } = checkData(where, entry, trajectorySchema);
  return {
    id: `${task_id}/${trial}`,
    taskId: String(task_id),
    trial,
    reward,
    messages: traj.map((raw, i) => message(`${where}, message ${i + 1}`, raw)),
    instruction: info.task.instruction,
    reference: {
      calls: info.task.actions.map(({ name, kwargs }) => ({ name, arguments: kwargs as JsonObject })),
      communicate: info.task.outputs,
    },
  };
}

function message(where: string, raw: RawMessage): Message {
  const content = raw.content ?? '';
  switch (raw.role) {
    case 'assistant':
      return {
        role: 'assistant',
        content: raw.content ?? null,
        ...(raw.tool_calls?.length ? { toolCalls: raw.tool_calls.map((call) => toolCall(where, call)) } : {}),
      };
    case 'tool':
      if (raw.tool_call_id === undefined || raw.name === undefined) {
        throw dataInvalid(where, 'a tool message needs tool_call_id and name');
      }
      return { role: 'tool', toolCallId: raw.tool_call_id, name: raw.name, content, isError: isErrorText(content) };
    default:
      return { role: raw.role, content };
  }
}

/** Arguments that are no JSON are kept as the model wrote them. */
function toolCall(where: string, { id, function: called }: NonNullable<RawMessage['tool_calls']>[number]): ToolCall {
  let value: unknown;
  try {
    value = JSON.parse(called.arguments);
  } catch {
    return { id, name: called.name, arguments: {}, rawArguments: called.arguments };
  }
  const parsed = jsonObject.safeParse(value);
  if (!parsed.success) throw dataInvalid(where, `arguments of "${called.name}" are no JSON object`);
  return { id, name: called.name, arguments: parsed.data as JsonObject };
}

function isErrorText(content: string): boolean {
  return content.startsWith('Error: ') || content.startsWith('Unknown action ');
}
