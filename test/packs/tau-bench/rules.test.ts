// The rules of both domains in both releases over made-up data: what they answer to the calls of made-up/calls.yaml, and all that
// those changed; what was answered before alike is not written again. Where a change is meant, `npx vitest run` with this file and
// -u writes made-up/answers.txt anew.

import { describe, expect, test } from 'vitest';
import { madeUp, madeUpCalls, tauBench } from './fixture.js';

test('answer as recorded, and a refusal changes nothing', async () => {
  const lines: string[] = [];
  for (const domain of ['airline', 'retail'] as const) {
    for (const release of ['tau1', 'tau2'] as const) {
      const before = new Set<string>();
      for (const calls of madeUpCalls(domain)) {
        const bench = await tauBench(domain, release);
        lines.push('', `${domain}, ${release}`);
        for (const { name, arguments: args } of calls) {
          const answered = `${name} ${JSON.stringify(args)}\n  ${bench.call(name, args)}`;
          if (!before.has(answered)) lines.push(answered);
          before.add(answered);
        }
      }
    }
  }
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot(madeUp('answers.txt'));
});

describe('airline', () => {
  test.each(['tau1', 'tau2'] as const)(
    '%s: keys that mean something to JavaScript are as any other',
    async (release) => {
      const bench = await tauBench('airline', release);
      const bob = { first_name: 'Bob', last_name: 'Lee', dob: '1991-01-01' };
      const passenger = JSON.parse(`{"__proto__": {"seat": "1A"}, ${JSON.stringify(bob).slice(1)}`);
      const answer = bench.call('update_reservation_passengers', { reservation_id: 'R00001', passengers: [passenger] });
      const [kept] = bench.state.reservations.R00001.passengers;
      expect(Object.keys(kept)).toEqual([...(release === 'tau1' ? ['__proto__'] : []), ...Object.keys(bob)]);
      expect(answer.includes('"passengers": [{"__proto__": {"seat": "1A"}, ')).toBe(release === 'tau1');
    },
  );

  test.each(['tau1', 'tau2'] as const)('%s has its tools', async (release) => {
    const { domain } = await tauBench('airline', release);
    const names = domain.tools.map(({ name }) => name);
    expect([names.includes('think'), names.includes('get_flight_status')]).toEqual([
      release === 'tau1',
      release === 'tau2',
    ]);
    const terminal = domain.tools.filter(({ terminates }) => terminates).map(({ name }) => name);
    expect(terminal).toEqual(release === 'tau1' ? ['transfer_to_human_agents'] : []);
  });

  test('preconditions are the reasons why a call fails', async () => {
    const { domain } = await tauBench('airline', 'tau2');
    const booking = madeUpCalls('airline')[1][0];
    const reasons = (change: object) =>
      domain.rules!.preconditions(domain.initialState, {
        ...{ id: 'c', name: booking.name, arguments: { ...booking.arguments, ...change } },
      });
    expect(reasons({})).toEqual(['Payment amount does not add up, total price is 230, but paid 200']);
    expect(reasons({ insurance: 'no' })).toEqual([]);
    expect(reasons({ cabin: 'first' })).toEqual([expect.stringContaining('/cabin must be one of')]);
  });
});
