// An episode as an MCP server: the environment's tools, a resource with what there is to know of it, and a prompt that
// begins another.

import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import {
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  GetPromptRequestSchema,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
  type Tool,
} from '@modelcontextprotocol/sdk/types.js';
import { ReverieError } from '../../../errors.js';
import type { Servable } from '../../../run/index.js';
import { offeredTools } from '../tool-calls.js';
import type { McpEpisode } from './episode.js';
import { refusalResult, stepResult } from './step-result.js';
import { wishedEpisode, wishSchema } from './wish.js';

const RESOURCE = 'reverie://episode';
const PROMPT = 'start';
/** Of the protocol (2025-06-18, resources): there is no such resource. */
const RESOURCE_UNKNOWN = -32002;

export function episodeServer(episode: McpEpisode, version: string): Server {
  const { served } = episode;
  const server = new Server(
    { name: 'reverie', title: `Reverie: ${served.name}`, version },
    { capabilities: { tools: {}, resources: {}, prompts: {} }, instructions: instructionsOf(served) },
  );
  addTools(server, episode);
  addResource(server, episode);
  addPrompt(server, episode);
  return server;
}

function addTools(server: Server, episode: McpEpisode): void {
  const { served } = episode;
  const tools = offeredTools(served).map(({ name, description, parameters }) => {
    return { name, description, inputSchema: { ...parameters, type: 'object' } as Tool['inputSchema'] };
  });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal }): Promise<CallToolResult> => {
    const { name, arguments: given = {} } = params;
    return told(async () => {
      try {
        const begun = await episode.ensure(signal);
        // Who begins by a call has not seen what there was to see.
        const before = begun === undefined ? [] : [episode.told.first];
        return stepResult(await episode.step({ name, arguments: given }, signal), before);
      } catch (error) {
        return refusalResult(error);
      }
    });
  });
}

function addResource(server: Server, episode: McpEpisode): void {
  const description = 'Rules, and what there is to see now: at first what the user says. Begins the episode.';
  server.setRequestHandler(ListResourcesRequestSchema, () => ({
    resources: [{ uri: RESOURCE, name: 'episode', title: 'The episode', description, mimeType: 'application/json' }],
  }));
  server.setRequestHandler(ReadResourceRequestSchema, ({ params: { uri } }, { signal }) =>
    told(async () => {
      if (uri !== RESOURCE) throw new McpError(RESOURCE_UNKNOWN, `There is no resource ${uri}. There is: ${RESOURCE}`);
      await episode.ensure(signal);
      const { env, status, episodeId, task, seed, stepCount } = episode.state;
      const { rules, first } = episode.told;
      const facts = {
        env,
        status,
        episode_id: episodeId,
        task,
        seed,
        step_count: stepCount,
        rules,
        observation: first,
      };
      return { contents: [{ uri, mimeType: 'application/json', text: JSON.stringify(facts, null, 2) }] };
    }),
  );
}

function addPrompt(server: Server, episode: McpEpisode): void {
  const description =
    'Begins an episode, another one if arguments are given or the last has ended; tells how it opens.';
  const args = Object.entries(wishSchema.shape).map(([name, schema]) => ({ name, description: schema.description }));
  server.setRequestHandler(ListPromptsRequestSchema, () => ({
    prompts: [{ name: PROMPT, title: 'Start an episode', description, arguments: args }],
  }));
  server.setRequestHandler(GetPromptRequestSchema, ({ params }, { signal }) =>
    told(async () => {
      const { name, arguments: given = {} } = params;
      if (name !== PROMPT) {
        throw new McpError(ErrorCode.InvalidParams, `There is no prompt ${name}. There is: ${PROMPT}`);
      }
      const isWished = Object.keys(given).length > 0;
      if (isWished) await episode.begin(wishedEpisode(episode.served, given), signal);
      else if (episode.state.status === 'done') await episode.begin(undefined, signal);
      else await episode.ensure(signal);
      const { rules, first } = episode.told;
      const text = [rules, first].filter((part) => part !== '').join('\n\n');
      return { messages: [{ role: 'user' as const, content: { type: 'text' as const, text } }] };
    }),
  );
}

/** Errors in the words of the protocol, with the catalogue's code. */
async function told<R>(work: () => Promise<R>): Promise<R> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ReverieError)) throw error;
    const { code, message, hint, status } = error;
    const kind = status < 500 ? ErrorCode.InvalidParams : ErrorCode.InternalError;
    throw new McpError(kind, `${message} ${hint}`, { code, hint });
  }
}

function instructionsOf({ family, policy, description }: Servable): string {
  const where = `The resource ${RESOURCE} (or the prompt "${PROMPT}") tells how the episode opens: read it first.`;
  return [family === 'vector' ? description : policy, where].filter((part) => part !== '').join('\n\n');
}
