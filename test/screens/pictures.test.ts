// What a screen looks like: pictures and boxes in Chromium, which are no part of what is told of it, and where there are none.

import { existsSync } from 'node:fs';
import { afterEach, expect, it } from 'vitest';
import type { ScreenState } from '../../src/env/screens/screen-state.js';
import type { Picture, ToolsDomain } from '../../src/env/tools/domain.js';
import { rulesResponder } from '../../src/env/tools/rules-responder.js';
import type { Screenshot } from '../../src/env/tools/text-environment.js';
import { screenEnvironment } from '../../src/screens/screen-environment.js';
import { chromiumProgram } from '../../src/screens/screen-player.js';
import type { ScreensDomainOptions } from '../../src/screens/screens-domain.js';
import type { Turn } from '../../src/serve/core/session-contract.js';
import { stepResult } from '../../src/serve/protocols/mcp.js';
import { rulesEnvironment } from '../env/tools/library.js';
import { pagesDomain } from './fixture.js';

const open: ToolsDomain[] = [];
afterEach(() => {
  for (const domain of open.splice(0)) domain.close();
});

function lived(options: Partial<ScreensDomainOptions>) {
  const domain = pagesDomain('order', options);
  open.push(domain);
  return screenEnvironment(rulesEnvironment(domain));
}

const seen = (info: object) => (info as { readonly screenshot: Screenshot }).screenshot;

it.skipIf(!existsSync(chromiumProgram()))(
  'is shown in Chromium, beside the tree and not in it',
  async () => {
    const env = lived({ browser: 'chromium', screenshots: true });
    const first = await env.reset({ task: 'order.1', seed: 1 });
    const { media_type, width, height, data, boxes } = seen(first.info);
    expect({ media_type, width, height }).toEqual({ media_type: 'image/png', width: 500, height: 320 });
    const png = Buffer.from(data, 'base64');
    expect([png.toString('latin1', 1, 4), png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual(['PNG', 500, 320]);
    const { elements } = env.tools.state as ScreenState;
    const idOf = (name: string) => Object.keys(elements).find((id) => elements[id].name === name)!;
    expect(boxes[idOf('Send')][2]).toBeGreaterThan(20);
    expect(Object.keys(boxes).every((id) => elements[id] !== undefined)).toBe(true);
    expect(JSON.stringify(env.tools.state)).not.toMatch(/png|boxes|picture/);

    const ticked = await env.step(`click('${idOf('cream')}')`);
    expect(ticked.observation).toContain("checkbox 'cream', focused, checked='true'");
    expect(seen(ticked.info).data).not.toBe(data);
    const ended = await env.step(`click('${idOf('Send')}')`);
    // The last one, of a page that is not held any more.
    expect([ended.terminated, seen(ended.info).data.length > 1000]).toEqual([true, true]);
    expect(seen((await env.reset({ task: 'order.1', seed: 1 })).info)).toEqual(seen(first.info));

    const turn = { ...ticked, observation: ticked.observation, stepCount: 1, episodeId: 'e', return: 0 } as Turn;
    const { content } = stepResult(turn, []);
    const image = { type: 'image', mimeType: 'image/png', data: seen(ticked.info).data };
    expect(content).toEqual([{ type: 'text', text: ticked.observation }, image]);
  },
  60_000,
);

it('is refused where it cannot be had', () => {
  expect(() => pagesDomain('order', { browser: 'jsdom', screenshots: true })).toThrowError(
    expect.objectContaining({ code: 'ENV_UNUSABLE', message: expect.stringMatching(/jsdom has no layout/) }),
  );
});

it('is none of a dream, whose states nobody has seen', async () => {
  const domain = pagesDomain('order');
  open.push(domain);
  const picture: Picture = { png: new Uint8Array([1]), width: 1, height: 1, boxes: {} };
  const rules = Object.assign(Object.create(domain.rules!), { picture: () => picture });
  const asked = (backend: 'real' | 'rules') => rulesResponder({ ...domain, rules }, backend).picture?.({});
  expect([asked('real'), asked('rules')]).toEqual([picture, undefined]);
});
