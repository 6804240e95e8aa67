// What the service desk's agent may say of records, and where the typed state shows whether it is so. Written apart from the
// filters of datasets, for this domain alone, so that one can be held against the other.

import { isJsonObject, type Json, type JsonObject } from '../src/core/canonical-json.js';

export interface Said {
  /** Who the conversation is with: whose identity was checked last. */
  readonly person: string | undefined;
  readonly state: JsonObject;
  /** All that users and tools have written so far. */
  readonly told: string;
}

interface Claim {
  readonly says: RegExp;
  holds(match: RegExpExecArray, said: Said): boolean;
}

const at = (state: JsonObject, ...keys: readonly string[]): Json | undefined =>
  keys.reduce<Json | undefined>((value, key) => (isJsonObject(value) ? value[key] : undefined), state);

const employee = ({ state, person = '' }: Said, key: string) => at(state, 'employees', person, key);
const account = (said: Said, key: string) => at(said.state, 'accounts', String(employee(said, 'username')), key);

/** The record of a collection that is called so, by its full name or a beginning of it. */
function named(state: JsonObject, collection: string, name: string): JsonObject | undefined {
  const all = Object.values((state[collection] ?? {}) as JsonObject).filter(isJsonObject);
  return all.find((record) => String(record.name).toLowerCase().startsWith(name.toLowerCase()));
}

const has = (record: JsonObject | undefined, key: string, id: string | undefined) =>
  isJsonObject(record?.[key]) && id !== undefined && id in (record[key] as JsonObject);

const CLAIMS: readonly Claim[] = [
  {
    says: /\b(?:closed|withdrawn|off the list)\b.*?|\bwork on\b/g,
    holds: (match, { state }) =>
      [...match.input.matchAll(/TCK-\d+/g)].every(([id]) => at(state, 'tickets', id, 'status') === 'closed'),
  },
  {
    says: /account is (?:unlocked|open|active)|unlocked your account|You are unlocked|sign in again|The lock (?:on your account )?is (?:gone|off)|taken the lock off/gi,
    holds: (_, said) => account(said, 'status') === 'active',
  },
  {
    says: /password is reset|reset (?:your|the) password|old password no longer|temporary (?:password|one)/gi,
    holds: (_, said) => account(said, 'mustChangePassword') === true,
  },
  {
    says: /(?:hold a licence of|a licence of|A seat of|assigned you a licence of) ([A-Z]\w+)(?= |,|\.|;)/g,
    holds: ([, name], said) => named(said.state, 'software', name) !== undefined,
  },
  {
    says: /([A-Z][\w ]+?) is (?:assigned to you|yours)|You (?:now )?(?:hold a licence of|have) ([A-Z][\w ]+?)(?: now|,|\.| and)/g,
    holds: ([, one, other], said) =>
      has(
        named(said.state, 'software', (one ?? other).replace(/^A (?:seat|licence) of /, '')),
        'assigned',
        said.person,
      ),
  },
  {
    says: /(?:licence|seat) of (\w+)[\w ]* is (?:released|free for)|released your licence of (\w+)|(\w+)[\w ]* is removed from your account/g,
    holds: ([, one, two, three], said) =>
      !has(named(said.state, 'software', one ?? two ?? three), 'assigned', said.person),
  },
  {
    says: /(?:member of|added you to|in the group|The group) "([^"]+)"(?: now| from now on| has you|\.)(?! has left)/g,
    holds: (match, said) =>
      has(named(said.state, 'groups', match[1]), 'members', said.person) !== /no longer/.test(match.input),
  },
  {
    says: /(?:taken you out of|You have left the group) "([^"]+)"/g,
    holds: ([, group], said) => !has(named(said.state, 'groups', group), 'members', said.person),
  },
  { says: /ORD-\d+/g, holds: ([id], { state }) => at(state, 'orders', id, 'status') !== undefined },
  {
    says: /DEV-\w+/g,
    holds: ([id], { state }) =>
      at(state, 'devices', id, 'status') === 'lost' && at(state, 'devices', id, 'remoteLock') === true,
  },
  {
    says: /(?:seats|all six)[\w ,]* (?:in use)/gi,
    holds: (match, { state }) => {
      const software = Object.values(state.software as JsonObject).filter(isJsonObject);
      const full = software.filter(({ name }) => match.input.includes(String(name).split(' ')[0]));
      return full.length > 0 && full.every(({ seats, seatsUsed }) => seats === seatsUsed);
    },
  },
  {
    says: /(TCK-\d+)[^.]* (?:in progress|waiting)|working on (TCK-\d+)/g,
    holds: ([text, one, other], { state }) =>
      at(state, 'tickets', one ?? other, 'status') === (text.includes('waiting') ? 'waiting' : 'in_progress'),
  },
  {
    says: /[Tt]he (hardware|network|security) team (?:has|is working)|with the (hardware|network) team/g,
    holds: (match, { state }) =>
      [...match.input.matchAll(/TCK-\d+/g)].every(
        ([id]) => at(state, 'tickets', id, 'team') === (match[1] ?? match[2]),
      ),
  },
  {
    says: /(\d+) EUR/g,
    holds: ([, amount], { told }) =>
      ['150', '300'].includes(amount) || new RegExp(`\\b${amount}\\b`).test(told) || isMultiple(amount, told),
  },
  { says: /\b(?:EMP|TCK|ORD|APR)-\d+\b/g, holds: ([id], { told }) => told.includes(id) },
];

/** Two pieces cost twice the price that a tool told. */
function isMultiple(amount: string, told: string): boolean {
  return new RegExp(`"(?:price|total)":${Number(amount) / 2}\\b`).test(told);
}

/** Sentences of a turn, each with how many claims it makes and those that do not hold. */
export function claimsIn(text: string, said: Said): { readonly claims: number; readonly wrong: readonly string[] } {
  const wrong: string[] = [];
  let claims = 0;
  for (const sentence of text.split(/(?<=[.!?;])\s+/)) {
    // What is asked, offered or made to depend on something is no claim.
    if (/\?|\bif\b|\bwould\b|cannot|\bcan only\b/i.test(sentence)) continue;
    for (const { says, holds } of CLAIMS) {
      for (const match of sentence.matchAll(says)) {
        claims++;
        if (!holds(match, said)) wrong.push(`${match[0]} (${sentence})`);
      }
    }
  }
  return { claims, wrong };
}
