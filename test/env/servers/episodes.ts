// Episodes in a domain that is lived on a server, call by call.

import type { ToolsDomain } from '../../../src/env/tools/domain.js';
import { makeDomain } from '../../../src/env/tools/domains.js';
import { elsewhere, realResponder } from '../../../src/env/tools/rules-responder.js';
import { ToolsEpisodeEnvironment } from '../../../src/env/tools/tools-environment.js';
import type { ToolsStepInfo } from '../../../src/env/tools/tools-family.js';

export interface Call {
  readonly name: string;
  readonly arguments: Record<string, string | number>;
}

export interface Seen {
  readonly text: string;
  readonly reward: number;
  readonly ended: boolean;
  readonly verdict?: number | null;
}

export function environmentOf(domain: ToolsDomain, maxSteps = 30): ToolsEpisodeEnvironment {
  const responder = realResponder(domain);
  return new ToolsEpisodeEnvironment({ id: 'on-a-server', domain, responder, user: elsewhere(domain)!.user, maxSteps });
}

/** One step of these calls. */
export async function act(env: ToolsEpisodeEnvironment, ...calls: readonly Call[]): Promise<Seen> {
  const toolCalls = calls.map((call, i) => ({ id: `${env.messages.length}-${i}`, ...call }));
  const { observation, reward, terminated, truncated, info } = await env.step({ content: null, toolCalls });
  const text = observation.messages.map(({ content }) => content).join('\n');
  const { verdict } = info as unknown as ToolsStepInfo;
  return { text, reward, ended: terminated || truncated, ...(verdict && { verdict: verdict.reward }) };
}

/** What is seen first. */
export async function begin(env: ToolsEpisodeEnvironment, seed: number, task?: string): Promise<string> {
  const { observation } = await env.reset({ seed, ...(task === undefined ? {} : { task }) });
  return observation.messages.at(-1)!.content ?? '';
}

/** Uses the domain of a server, and lets go of the server. */
export async function on<R>(spec: Record<string, unknown>, use: (domain: ToolsDomain) => Promise<R>): Promise<R> {
  const domain = await makeDomain(spec as never);
  try {
    return await use(domain);
  } finally {
    domain.close();
  }
}
