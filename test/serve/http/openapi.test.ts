import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeApp } from '../../../src/serve/http/app.js';
import type { RunningServer } from '../../../src/serve/index.js';
import { nativeRoutes } from '../../../src/serve/protocols/native.js';
import { ask, serveScenarios } from '../running-server.js';

let server: RunningServer;
// biome-ignore lint/suspicious/noExplicitAny: a document from elsewhere
let document: any;

beforeAll(async () => {
  server = await serveScenarios(['pendulum', 'helpdesk']);
  document = (await ask(`${server.url}/openapi.json`)).body;
});
afterAll(() => server.stop(0));

describe('the OpenAPI document', () => {
  it('is one, by the specification', async () => {
    const { valid, errors } = await new Validator().validate(structuredClone(document));
    expect(errors).toBeUndefined();
    expect(valid).toBe(true);
    expect(JSON.stringify(document)).not.toContain('$defs');
    expect(document.info).toMatchObject({ title: 'Reverie', version: expect.stringMatching(/^\d+\.\d+/) });
  });

  it('has every route of the native API, and no other of it', async () => {
    const routes: string[] = [];
    const app = await makeApp({
      sessions: server.sessions,
      version: '0',
      protocols: [nativeRoutes],
      onRoute: ({ method, url }) => {
        for (const one of [method].flat()) if (one !== 'HEAD') routes.push(`${one.toLowerCase()} ${url}`);
      },
    });
    await app.close();
    const registered = routes
      .filter((route) => route.includes('/v1/'))
      .map((route) => route.replace(/:(\w+)/g, '{$1}'));
    const described = Object.entries<object>(document.paths).flatMap(([path, methods]) =>
      path.startsWith('/v1') ? Object.keys(methods).map((method) => `${method} ${path}`) : [],
    );
    expect(registered.length).toBeGreaterThan(14);
    expect(described.sort()).toEqual(registered.sort());
  });
});
