// What a protocol's facade is given: it adds its routes to the application and translates between them and the sessions.

import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Sessions } from '../core/sessions.js';
import type { HttpLimits } from './requests.js';

export interface FacadeContext {
  readonly sessions: Sessions;
  /** Who asks, once the request was let in. */
  readonly ownerOf: (request: FastifyRequest) => string;
  readonly version: string;
  /** What frames and bodies are held to; bodies of JSON were already. */
  readonly limits: HttpLimits;
}

export interface Facade {
  readonly name: string;
  /** First segments of its routes' paths, which no environment may be called. */
  readonly reserved: readonly string[];
  /** What /openapi.json and /docs tell of it. */
  readonly routes?: readonly RouteDescription[];
  register(app: FastifyInstance, context: FacadeContext): void | Promise<void>;
}

// What is told of a route: enough for the OpenAPI document and the page made of it.

export interface RouteDescription {
  readonly method: 'get' | 'post' | 'delete';
  /** As fastify has it: `/v1/sessions/:id`. */
  readonly path: string;
  /** Heading it stands under. */
  readonly tag: string;
  /** A few words; imperative. */
  readonly summary: string;
  readonly description?: string;
  /** What the parts of the path are, by name. */
  readonly parameters?: Readonly<Record<string, string>>;
  /** An object of what may stand behind the `?`. */
  readonly query?: z.ZodObject;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: BodyDescription;
  readonly answer: AnswerDescription;
}

interface BodyDescription {
  readonly schema: z.ZodType;
  readonly example?: unknown;
  /** Whether there must be one. Default: true. */
  readonly required?: boolean;
  /** Other content types it may come in, and what they hold. */
  readonly binary?: Readonly<Record<string, string>>;
}

interface AnswerDescription {
  readonly status: number;
  readonly description: string;
  /** None: an empty answer. */
  readonly schema?: z.ZodType;
  readonly binary?: Readonly<Record<string, string>>;
}

/** Schemas the document names once: by `.meta({ id })`. */
type Json = Record<string, unknown>;

interface OpenApiDocument {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Json>>; readonly securitySchemes: Json };
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
}

export interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, Json>>;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description?: string;
  readonly schema: Json;
}

export type Content = Readonly<Record<string, { readonly schema?: Json; readonly example?: unknown }>>;

const errorSchema = z
  .object({
    error: z.object({
      code: z.string().describe('What went wrong, for programs: it stays as it is between versions'),
      message: z.string().describe('What went wrong, for people, naming the value'),
      hint: z.string().describe('The way out'),
    }),
  })
  .meta({ id: 'Error' });

const DESCRIPTION =
  'Environments, simulated or real, for agents to be trained and evaluated in. A session is one agent in one environment: ' +
  'open it, reset it, step it until terminated or truncated. Errors are `{"error": {"code", "message", "hint"}}`.';

/** @param routes  of every facade; a path that two describe is the first one's */
export function openApiDocument(routes: readonly RouteDescription[], version: string): OpenApiDocument {
  const schemas = new Schemas();
  const paths: Record<string, Record<string, Operation>> = {};
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/g, '{$1}');
    paths[path] ??= {};
    paths[path][route.method] ??= operationOf(route, schemas);
  }
  return {
    openapi: '3.1.1',
    info: { title: 'Reverie', version, description: DESCRIPTION },
    servers: [{ url: '/' }],
    tags: [...new Set(routes.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: {
      schemas: schemas.named,
      securitySchemes: { token: { type: 'http', scheme: 'bearer', description: 'Where the server asks for a token' } },
    },
    security: [{ token: [] }, {}],
  };
}

/** Schemas as JSON; what has an id is written once and referred to. */
class Schemas {
  readonly named: Record<string, Json> = {};

  of(schema: z.ZodType, io: 'input' | 'output'): Json {
    const { $defs, $schema: _, ...json } = z.toJSONSchema(schema, { io, override: keepId }) as Json;
    Object.assign(this.named, relocated($defs ?? {}));
    const id = schema.meta()?.id;
    if (id === undefined) return relocated(json);
    this.named[id] = relocated(json);
    return { $ref: `#/components/schemas/${id}` };
  }
}

/** `id` would be read as a keyword of older drafts. */
function keepId({ jsonSchema }: { jsonSchema: { id?: unknown } }): void {
  delete jsonSchema.id;
}

/** References within a schema point into the document instead. */
function relocated(json: object): Json {
  return JSON.parse(JSON.stringify(json).replaceAll('"#/$defs/', '"#/components/schemas/'));
}

function operationOf(route: RouteDescription, schemas: Schemas): Operation {
  const { method, path, tag, summary, description, body, answer } = route;
  const parameters = parametersOf(route, schemas);
  return {
    operationId: `${method}${path.replace(/[^a-zA-Z0-9]+/g, '_')}`,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : { requestBody: { required: body.required ?? true, content: contentOf(body, 'input', schemas) } }),
    responses: {
      [answer.status]: answerOf(answer, schemas),
      default: {
        description: 'It could not be done',
        content: { 'application/json': { schema: schemas.of(errorSchema, 'output') } },
      },
    },
  };
}

function parametersOf({ path, parameters = {}, query, headers = {} }: RouteDescription, schemas: Schemas): Parameter[] {
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name]) => {
    return { name, in: 'path' as const, required: true, description: parameters[name], schema: { type: 'string' } };
  });
  const inQuery = Object.entries(query?.shape ?? {}).map(([name, schema]) => {
    const { description, ...json } = schemas.of(schema as z.ZodType, 'input');
    return { name, in: 'query' as const, required: false, description: description as string, schema: json };
  });
  const inHeader = Object.entries(headers).map(([name, description]) => {
    return { name, in: 'header' as const, required: false, description, schema: { type: 'string' } };
  });
  return [...inPath, ...inQuery, ...inHeader];
}

function answerOf(answer: AnswerDescription, schemas: Schemas): Json {
  const { description, schema } = answer;
  return schema === undefined
    ? { description }
    : { description, content: contentOf({ ...answer, schema }, 'output', schemas) };
}

function contentOf(
  { schema, example, binary = {} }: BodyDescription,
  io: 'input' | 'output',
  schemas: Schemas,
): Content {
  const json = { schema: schemas.of(schema, io), ...(example === undefined ? {} : { example }) };
  const others = Object.entries(binary).map(([type, description]) => [type, { schema: { description } }]);
  return { 'application/json': json, ...Object.fromEntries(others) };
}

// GET /docs: the routes as a page to read: no script, nothing fetched from elsewhere.

const STYLE = `
body{font:15px/1.5 system-ui,sans-serif;max-width:62rem;margin:0 auto;padding:1.5rem}
code{font:13px/1.45 ui-monospace,monospace}pre{overflow-x:auto;margin:.25rem 0 1rem}
@media(prefers-color-scheme:dark){body{color:#d5dbe3;background:#14171b}a{color:#7ab7ff}}
`;

/** @param base  where the server is reached, for the examples: `http://host:port` */
export function docsPage({ info, tags, paths }: OpenApiDocument, base: string): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
  const sections = tags.map(({ name }) => {
    const own = operations.filter(({ operation }) => operation.tags[0] === name);
    const shown = own.map(({ method, path, operation: { summary, description = '', requestBody } }) => {
      const example = requestBody?.content['application/json']?.example;
      const json = example && ` \\\n  -H 'content-type: application/json' -d '${JSON.stringify(example)}'`;
      const verb = method === 'GET' || json ? '' : ` -X ${method}`;
      return `<h3>${method} <code>${escaped(path)}</code></h3><p>${escaped(`${summary}. ${description}`)}</p>
<pre><code>${escaped(`curl${verb} ${base}${path}${json ?? ''}`)}</code></pre>`;
    });
    return `<h2>${escaped(name)}</h2>${shown.join('\n')}`;
  });
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${info.title} API</title><style>${STYLE}</style></head><body><h1>${info.title} API</h1>
<p>Version ${escaped(info.version)}. Fields and answers: <a href="/openapi.json">openapi.json</a>.</p>
<p>${escaped(info.description)}</p>${sections.join('\n')}</body></html>`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (one) => `&#${one.charCodeAt(0)};`);
}
