// The filter that holds calls against their tools' schemas.

import { describe, expect, it } from 'vitest';
import type { AssistantMessage } from '../../../src/env/tools/message.js';
import { schemaFilter } from '../../../src/synth/quality/form-filters.js';
import { call, parcelDomain, record, type Turn } from '../episode-records.js';

const domain = parcelDomain();
const context = { domain, taskOf: () => undefined };
const judged = (turns: Turn[]) => schemaFilter(domain).judge(record({ turns }), context);
const callsOf = (judgement: ReturnType<typeof judged>) => {
  if (!('repaired' in judgement)) throw new Error(JSON.stringify(judgement));
  return judgement.repaired.messages
    .filter((message): message is AssistantMessage => message.role === 'assistant')
    .flatMap((message) => message.toolCalls ?? []);
};

describe('the schema filter', () => {
  it('repairs arguments written as text, numbers in quotes and texts without them', () => {
    const judgement = judged([
      { user: 'P100 to 4' },
      call('move_parcel', { parcel_id: 100, shelf: '4', options: '{"fragile": "true"}' }),
      call('get_parcel', '{"parcel_id": "P100",}'),
    ]);
    expect(judgement).toMatchObject({ note: 'arguments repaired' });
    const [moved, got] = callsOf(judgement);
    expect(moved.arguments).toEqual({ parcel_id: '100', shelf: 4, options: { fragile: true } });
    expect(moved.rawArguments).toBe('{"parcel_id":100,"shelf":"4","options":"{\\"fragile\\": \\"true\\"}"}');
    expect(got.arguments).toEqual({ parcel_id: 'P100' });
    if ('repaired' in judgement) expect(judgement.repaired.steps[0].action.toolCalls?.[0]).toEqual(moved);
  });

  it('masks a call that was refused, and keeps the rest', () => {
    const judgement = judged([
      { user: 'P100 to 4' },
      call('move_parcel', { parcel_id: 'P100' }, 'Error: shelf is missing', { isError: true }),
      call('move_parcel', { parcel_id: 'P100', shelf: 4 }),
    ]);
    expect(judgement).toMatchObject({ note: 'refused call masked', repaired: { masked: [2], return: 1 } });
  });

  it('cuts before a wrong call that was answered as if it were right', () => {
    const judgement = judged([
      { user: 'P100 to 4' },
      call('get_parcel', { parcel_id: 'P100' }),
      call('teleport_parcel', { parcel_id: 'P100' }, 'teleported'),
      { say: 'Done.' },
    ]);
    expect(judgement).toMatchObject({
      note: 'cut before a call that does not fit its schema',
      repaired: { return: null, verdict: { reward: null }, truncated: true, terminated: false },
    });
    if ('repaired' in judgement)
      expect(judgement.repaired.messages.at(-1)).toMatchObject({ role: 'tool', name: 'get_parcel' });
  });
});
