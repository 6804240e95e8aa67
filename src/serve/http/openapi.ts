// What a protocol adds to the server, and /openapi.json, which describes the native API.

import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Sessions } from '../core/sessions.js';
import type { HttpLimits } from './requests.js';

export interface ProtocolContext {
  readonly sessions: Sessions;
  /** Who asks, once the request was let in. */
  readonly ownerOf: (request: FastifyRequest) => string;
  readonly version: string;
  /** What frames and bodies are held to; bodies of JSON were already. */
  readonly limits: HttpLimits;
}

/** Routes that translate between a protocol and the sessions. */
export interface ProtocolRoutes {
  readonly name: string;
  /** Path that clients are given after the server's address; none unless given. With `:env` it is one address an environment. */
  readonly path?: string;
  /** Environment variables that its clients read the server's address from. */
  readonly variables?: readonly string[];
  /** First segments of its routes' paths, which no environment may be called. */
  readonly reserved: readonly string[];
  register(app: FastifyInstance, context: ProtocolContext): void | Promise<void>;
}

/** A route as /openapi.json describes it. */
export interface RouteDescription {
  readonly method: 'get' | 'post' | 'delete';
  /** As fastify has it: `/v1/sessions/:id`. */
  readonly path: string;
  /** A few words; imperative. */
  readonly summary: string;
  readonly description?: string;
  /** An object of what may stand behind the `?`. */
  readonly query?: z.ZodObject;
  readonly body?: BodyDescription;
  /** Of the answer, which docs/native-api.md describes; 200 unless given; 204: an empty one. */
  readonly status?: 201 | 204;
  /** The answer's content type, where it is not JSON. */
  readonly type?: string;
}

interface BodyDescription {
  /** None: bytes of `type`. */
  readonly schema?: z.ZodType;
  readonly type?: string;
  readonly example?: unknown;
  /** Whether there may be none. */
  readonly optional?: boolean;
}

type Json = Record<string, unknown>;

const errorSchema = z.object({
  error: z.object({
    code: z.string().describe('What went wrong, for programs: it stays as it is between versions'),
    message: z.string().describe('What went wrong, for people, naming the value'),
    hint: z.string().describe('The way out'),
  }),
});

const DESCRIPTION =
  'Environments, simulated or real, for agents to be trained and evaluated in. A session is one agent in one environment: ' +
  'open it, reset it, step it until terminated or truncated. Errors are `{"error": {"code", "message", "hint"}}`.';

export function openApiDocument(routes: readonly RouteDescription[], version: string): Json {
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [route.method]: operationOf(route) };
  }
  return {
    openapi: '3.1.1',
    info: { title: 'Reverie', version, description: DESCRIPTION },
    servers: [{ url: '/' }],
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer', description: 'Where the server asks for a token' } },
    },
    security: [{ token: [] }, {}],
  };
}

function operationOf(route: RouteDescription): Json {
  const { method, path, summary, description, query, body, status = 200, type } = route;
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name]) => {
    return { name, in: 'path', required: true, schema: { type: 'string' } };
  });
  const inQuery = Object.entries(query?.shape ?? {}).map(([name, schema]) => {
    const { description: about, ...json } = jsonSchema(schema as z.ZodType);
    return { name, in: 'query', required: false, description: about, schema: json };
  });
  const content = (of = 'application/json', schema?: z.ZodType, example?: unknown) => {
    return { [of]: { ...(schema && { schema: jsonSchema(schema) }), ...(example !== undefined && { example }) } };
  };
  const error = { description: 'It could not be done', content: content(undefined, errorSchema) };
  const done = { description: 'Done', ...(status !== 204 && { content: content(type) }) };
  return {
    operationId: `${method}${path.replace(/[^a-zA-Z0-9]+/g, '_')}`,
    summary,
    ...(description !== undefined && { description }),
    parameters: [...inPath, ...inQuery],
    ...(body !== undefined && {
      requestBody: { required: !body.optional, content: content(body.type, body.schema, body.example) },
    }),
    responses: { [status]: done, default: error },
  };
}

export function jsonSchema(schema: z.ZodType): Json {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io: 'input' });
  return json;
}
