// A client that acts in sessions by the native API, for tests of what the page shows of it.

import { ask } from '../running-server.js';

export class SessionClient {
  private constructor(
    readonly url: string,
    readonly id: string,
  ) {}

  static async open(server: string, env: string, start: object): Promise<SessionClient> {
    const { body } = await ask(`${server}/v1/sessions`, { env });
    const client = new SessionClient(`${server}/v1/sessions/${body.id}`, body.id);
    await client.post('reset', start);
    return client;
  }

  async post(verb: string, body: object = {}) {
    const answer = await ask(`${this.url}/${verb}`, body);
    if (answer.status >= 300) throw new Error(JSON.stringify(answer.body));
    return answer.body;
  }

  act(action: unknown) {
    return this.post('step', { action });
  }

  call(name: string, given: object) {
    return this.act({ tool_calls: [{ name, arguments: given }] });
  }

  say(content: string) {
    return this.act({ content });
  }
}

/** The task `unlock-after-holiday` of the service desk, solved. */
export async function unlockAccount(client: SessionClient) {
  await client.say('Please tell me your employee number and badge number.');
  await client.call('verify_identity', { employee_id: 'EMP-1042', badge_number: 'LK-41042' });
  await client.call('get_employee', { employee_id: 'EMP-1042' });
  await client.call('restore_access', { employee_id: 'EMP-1042', action: 'unlock' });
  await client.call('update_ticket', { ticket_id: 'TCK-20831', status: 'closed', resolution: 'access_granted' });
  return client.say('Your account is unlocked and I have closed TCK-20831. Is there anything else I can do for you?');
}
