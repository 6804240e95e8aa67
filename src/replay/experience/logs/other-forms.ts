// Converts logs of other formats to OpenAI conversations: ATIF and ADP trajectories, Anthropic's content blocks, and
// sessions of Claude Code, with one message on each line.

import { z } from 'zod';

/** A conversation in the form of OpenAI's chat completions. */
export interface OtherForm {
  readonly id?: unknown;
  readonly task?: unknown;
  readonly reward?: unknown;
  readonly messages: unknown;
  /** The row and version of the simulator, if the log names one. */
  readonly simulated?: { readonly row: number; readonly version: string };
}

const any = z.unknown().optional();
const said = z.looseObject({ role: z.string(), content: any });
const block = z.looseObject({ type: z.string() });
const blocks = z.array(block);

const anthropic = z.looseObject({ messages: z.array(said), system: any });
const atif = z.looseObject({
  schema_version: z.string().startsWith('ATIF'),
  trajectory_id: any,
  steps: z.array(
    z.looseObject({
      source: z.string(),
      message: any,
      reasoning_content: any,
      tool_calls: z.array(z.looseObject({ tool_call_id: any, function_name: any, arguments: any })).nullish(),
      observation: z
        .looseObject({
          results: z.array(
            z.looseObject({
              source_call_id: any,
              content: any,
              extra: z.looseObject({ is_error: z.boolean().optional() }).nullish(),
            }),
          ),
        })
        .nullish(),
    }),
  ),
  extra: z.looseObject({}).nullish(),
});
const adp = z.looseObject({
  content: z.array(z.looseObject({ class_: z.string(), content: any })),
  details: z.looseObject({}).nullish(),
});

/** Undefined if it has none of these formats. */
export function otherForm(record: object): OtherForm | undefined {
  const trajectory = atif.safeParse(record).data;
  if (trajectory !== undefined)
    return { ...known(trajectory.extra), id: trajectory.trajectory_id, messages: ofAtif(trajectory) };
  const steps = adp.safeParse(record).data;
  if (steps !== undefined) return { ...known(steps.details), id: steps.id, messages: ofAdp(steps) };
  const conversation = anthropic.safeParse(record).data;
  if (conversation === undefined || !conversation.messages.some(({ content }) => hasBlocks(content))) return undefined;
  const { messages, system, ...rest } = conversation;
  const first = textOf(system) === '' ? [] : [{ role: 'system', content: textOf(system) }];
  return { ...rest, messages: [...first, ...messages.flatMap(ofAnthropic)] };
}

/** Fields of Reverie's own exports beside the conversation. */
function known(extra: Readonly<Record<string, unknown>> | null | undefined): Omit<OtherForm, 'messages'> {
  const { task, reward, source, row, responder_version: version } = extra ?? {};
  const isSimulated = source === 'synthetic' && typeof row === 'number' && typeof version === 'string';
  return { task, reward, ...(isSimulated && { simulated: { row, version } }) };
}

function called(id: unknown, name: unknown, given: unknown) {
  return { id, function: { name, arguments: given } };
}

function ofAtif({ steps }: z.output<typeof atif>): object[] {
  return steps.flatMap(({ source, message, reasoning_content, tool_calls, observation }) => {
    const calls = (tool_calls ?? []).map((call) => called(call.tool_call_id, call.function_name, call.arguments));
    const answers = (observation?.results ?? []).map(({ source_call_id, content, extra }) => {
      if (calls.length === 0) return { role: 'user', content };
      return { role: 'tool', tool_call_id: source_call_id, content, is_error: extra?.is_error };
    });
    if (source !== 'agent') return [{ role: source, content: message }, ...answers];
    return [
      { role: 'assistant', content: message, reasoning_content, ...(calls.length > 0 && { tool_calls: calls }) },
      ...answers,
    ];
  });
}

function ofAdp({ content, details }: z.output<typeof adp>): object[] {
  const first =
    typeof details?.policy === 'string' && details.policy !== '' ? [{ role: 'system', content: details.policy }] : [];
  let isOpen = false;
  const messages = content.map((part) => {
    const { class_: kind, content: text, source, tool_call_id: id, reasoning_content } = part;
    if (kind === 'text_observation') {
      const isAnswer = source !== 'user' && isOpen;
      isOpen &&= !isAnswer;
      return isAnswer ? { role: 'tool', tool_call_id: id, content: text } : { role: 'user', content: text };
    }
    if (kind === 'message_action') return { role: 'assistant', content: text, reasoning_content };
    isOpen = true;
    const [name, given] =
      kind === 'api_action' ? [part.function, part.kwargs] : [kind, { language: part.language, content: text }];
    const turn = { role: 'assistant', content: part.description ?? null, reasoning_content };
    return { ...turn, tool_calls: [called(id, name, given)] };
  });
  return [...first, ...messages];
}

/** Whether a content has parts other than text. */
function hasBlocks(content: unknown): boolean {
  return blocks.safeParse(content).data?.some(({ type }) => /^(tool_use|tool_result|thinking)$/.test(type)) ?? false;
}

function ofAnthropic({ role, content }: z.output<typeof said>): object[] {
  const parts = blocks.safeParse(content).data;
  if (parts === undefined) return [{ role, content }];
  const of = (type: string) => parts.filter((part) => part.type === type);
  const text = textOf(parts);
  if (role === 'assistant') {
    const calls = of('tool_use').map(({ id, name, input }) => called(id, name, input));
    const reasoning_content = of('thinking')
      .map(({ thinking }) => thinking)
      .join('\n\n');
    return [{ role, content: text || null, reasoning_content, ...(calls.length > 0 && { tool_calls: calls }) }];
  }
  const answers = of('tool_result').map(({ tool_use_id, content: answer, is_error }) => {
    return { role: 'tool', tool_call_id: tool_use_id, content: textOf(answer), is_error };
  });
  return [...answers, ...(text === '' && answers.length > 0 ? [] : [{ role, content: text }])];
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return (blocks.safeParse(content).data ?? []).map(({ text }) => (typeof text === 'string' ? text : '')).join('');
}

const line = z.looseObject({
  sessionId: z.string(),
  type: z.string(),
  isSidechain: z.boolean().nullish(),
  isMeta: z.boolean().nullish(),
  message: said.optional(),
});

/** Groups the lines of Claude Code's sessions in one file; subagents are left out. */
export class SessionLines {
  private readonly sessions = new Map<string, { readonly where: string; readonly messages: z.output<typeof said>[] }>();

  /** Whether a record is a line of a session. */
  take(where: string, value: unknown): boolean {
    const read = line.safeParse(value).data;
    if (read === undefined) return false;
    const { sessionId, type, isSidechain, isMeta, message } = read;
    if (message === undefined || isSidechain || isMeta || !/^(user|assistant)$/.test(type)) return true;
    const session = this.sessions.get(sessionId) ?? { where, messages: [] };
    this.sessions.set(sessionId, session);
    // A turn is logged block by block.
    const last = session.messages.at(-1);
    const isSame = last?.id !== undefined && last.id === message.id;
    const [before, more] = [last?.content, message.content].map((content) => blocks.safeParse(content).data);
    if (isSame && before && more) session.messages.splice(-1, 1, { ...message, content: [...before, ...more] });
    else session.messages.push(message);
    return true;
  }

  /** Each session as one record, in order of their starts. */
  records(): { readonly where: string; readonly value: unknown }[] {
    return [...this.sessions].map(([id, { where, messages }]) => ({ where, value: { id, messages } }));
  }
}
