// The OpenAPI 3.1 document of what this server offers, made of what its facades say of their routes.
// https://spec.openapis.org/oas/v3.1.1.html

import { z } from 'zod';
import type { AnswerDescription, BodyDescription, RouteDescription } from './facade.js';

/** Schemas the document names once: by `.meta({ id })`. */
type Json = Record<string, unknown>;

export interface OpenApiDocument {
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
  'Environments, dreamt or real, for agents to be trained and evaluated in. A session is one agent in one environment: ' +
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
