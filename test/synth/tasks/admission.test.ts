// Admission: a task is taken only if its reference passes its verifier and every way to fail does not.

import { describe, expect, it } from 'vitest';
import type { ToolsTask } from '../../../src/env/tools/domain.js';
import { rulesResponder } from '../../../src/env/tools/rules-responder.js';
import type { Responder } from '../../../src/env/tools/tools-family.js';
import { Admissions } from '../../../src/synth/tasks/admission.js';
import type { TaskProposal } from '../../../src/synth/tasks/task-checks.js';
import { CANCEL, KEPT, shop } from './shop.js';

const domain = shop();

/** A new task in the shop, good as it stands. */
const GOOD: ToolsTask = {
  id: 'new',
  family: 'whatever',
  user: { goal: 'You moved house. Order ORD-2060 of Gita should be sent to Brno, your customer number being cus_142.' },
  verifier: { assert: [{ path: '/orders/ORD-2060/city', equals: 'Brno' }] },
  reference: {
    calls: [{ name: 'change_city', arguments: { order_id: 'ORD-2060', city: 'Brno' } }],
    say: 'It is changed.',
  },
};

function propose(changes: Partial<ToolsTask> = {}, seed: ToolsTask = CANCEL): TaskProposal {
  return { task: { ...GOOD, ...changes }, seed, problems: [] };
}

async function reasons(changes: Partial<ToolsTask>, seed?: ToolsTask): Promise<string[]> {
  const admission = await new Admissions(domain).admit(propose(changes, seed));
  return admission.admitted ? [] : admission.reasons.map(({ code, detail }) => `${code}: ${detail}`);
}

describe('a good task', () => {
  it('is admitted with family, split and origin of its seed', async () => {
    const admission = await new Admissions(domain).admit(propose());
    expect(admission).toMatchObject({
      admitted: true,
      task: {
        family: 'cancel',
        split: 'train',
        origin: { seeds: ['cancel-lamp'], strategy: 'entity-swap', modelVersion: '' },
      },
    });
  });

  it('may ask the agent to refrain, if the verifier refuses to do it', async () => {
    const calls = [{ name: 'get_order', arguments: { order_id: 'ORD-2060' } }];
    const failures = [{ name: 'changes it', calls: GOOD.reference!.calls }];
    const refrain = { verifier: { notCalled: ['change_city'] }, reference: { calls, say: 'That cannot be done.' } };
    expect(await reasons({ ...refrain, failures })).toEqual([]);
    expect(await reasons(refrain)).toEqual(['verifier_weak: no way to fail was found that the verifier refuses']);
  });
});

describe('a task is refused', () => {
  it('whose reference runs into an error or does not pass', async () => {
    const shipped = [{ name: 'cancel_order', arguments: { order_id: 'ORD-2001', reason: 'found cheaper' } }];
    expect((await reasons({ reference: { calls: shipped } }))[0]).toContain(
      'reference_fails: cancel_order answers "Error: order is',
    );
    expect((await reasons({ verifier: { assert: [{ path: '/orders/ORD-2060/city', equals: 'Linz' }] } }))[0]).toContain(
      'reference_fails: state: /orders/ORD-2060/city',
    );
    const late = [{ name: 'hand_over', arguments: { summary: 's' } }, ...GOOD.reference!.calls];
    expect((await reasons({ reference: { calls: late } }))[0]).toContain('its last 1 calls come after its end');
  });

  it('whose calls break their schemas or name what is not there', async () => {
    expect(await reasons({ reference: { calls: [{ name: 'fly', arguments: {} }] } })).toEqual([
      'bad_call: there is no tool "fly"',
    ]);
    expect((await reasons({ reference: { calls: [{ name: 'get_order', arguments: { order: 'x' } }] } }))[0]).toContain(
      'bad_call: get_order',
    );
    const unknown = [{ name: 'get_order', arguments: { order_id: 'ORD-9999' } }, ...GOOD.reference!.calls];
    expect((await reasons({ reference: { calls: unknown } })).join()).toContain(
      'unknown_id: get_order is given the id "ORD-9999"',
    );
  });

  it('whose verifier lets a failure pass, given or made', async () => {
    const weak = {
      verifier: { assert: [{ path: '/orders/ORD-2060/id', equals: 'ORD-2060' }], communicate: ['changed'] },
    };
    const failures = [
      {
        name: 'sends it elsewhere',
        calls: [{ name: 'change_city', arguments: { order_id: 'ORD-2060', city: 'Linz' } }],
        say: 'changed',
      },
    ];
    expect((await reasons({ ...weak, failures }))[0]).toContain(
      'verifier_weak: the verifier passes an agent that sends it elsewhere',
    );
    const two = [...GOOD.reference!.calls, { name: 'give_credit', arguments: { customer_id: 'cus_142', amount: 7 } }];
    expect(await reasons({ reference: { calls: two } })).toEqual([
      'verifier_weak: the verifier passes an agent that leaves out give_credit (call 2)',
    ]);
    const named = { goal: `${GOOD.user.goal} You also want a credit of 7.` };
    const creditOnly = [
      { path: '/customers/cus_142/credit', exists: true },
      { path: '/orders/ORD-2060/city', equals: 'Brno' },
    ];
    expect(
      (await reasons({ user: named, verifier: { assert: creditOnly }, reference: { calls: two } })).join(),
    ).toContain('leaves out give_credit');
    expect(await reasons({ user: named, verifier: { state: 'reference' }, reference: { calls: two } })).toEqual([]);
  });

  it('that needs a judge, or has nothing to verify or to do', async () => {
    expect((await reasons({ verifier: { rubric: ['The agent is kind.'] } }))[0]).toContain('undecidable');
    expect(await reasons({ verifier: {} })).toEqual(['malformed: it has no verifier']);
    expect(await reasons({ user: { goal: ' ' }, reference: undefined })).toEqual([
      'malformed: it has no goal',
      'malformed: it has no reference solution',
    ]);
  });

  it('whose start cannot be', async () => {
    expect(
      (await reasons({ initialOperations: [{ op: 'replace', path: '/orders/none/city', value: 1 }] }))[0],
    ).toContain('bad_start: Operation replace');
    expect(
      await reasons({ initialOperations: [{ op: 'replace', path: '/customers/cus_100/credit', value: 5000 }] }),
    ).toEqual(['bad_start: too much credit']);
    expect((await reasons({ initialOperations: [{ op: 'remove', path: '/orders' }] }))[0]).toContain('bad_start');
  });

  it('that says what another says', async () => {
    expect((await reasons({ user: { goal: CANCEL.user.goal, opening: CANCEL.user.opening } }))[0]).toContain(
      'near_duplicate: it says what task "cancel-lamp" says',
    );
  });

  it('made from a task kept for evaluation', async () => {
    expect(await reasons({}, KEPT)).toEqual(['seed_split: its seed "kept" is kept for test']);
  });
});

describe('without rules', () => {
  const spec = shop(undefined, false);

  it('a responder plays the task, and the end of the reference is what it played', async () => {
    const rules = rulesResponder(domain);
    let answers = 0;
    const responder: Responder = {
      ...rules,
      answer: (query) => {
        answers++;
        return rules.answer({ ...query, domain });
      },
    };
    const proposal = propose({ verifier: { state: 'reference' } });
    expect(await new Admissions(spec, responder).admit(proposal)).toMatchObject({ admitted: true });
    expect(answers).toBeGreaterThan(0);
    const wrong = propose({ verifier: { assert: [{ path: '/orders/ORD-2060/city', equals: 'Linz' }] } });
    expect(await new Admissions(spec, responder).admit(wrong)).toMatchObject({ admitted: false });
  });

  it('somebody must', () => {
    expect(() => new Admissions(spec)).toThrow('has no rules to play new tasks by');
  });
});
