// Laying one configuration over another: profiles of a scenario file, and `--set path=value` flags.

import { parseDocument } from 'yaml';
import { reverieError } from '../core/errors.js';

export type ConfigObject = { [key: string]: unknown };

/** Keys that choose which other keys a section has. */
const CHOOSERS = ['algorithm', 'kind'];

/**
 * `over` laid over `base`: objects key by key, everything else replaced whole. Where it chooses another algorithm or
 * kind, that section starts anew, as the old one's keys mean nothing to it. Neither argument is changed.
 */
export function layered(base: ConfigObject, over: ConfigObject): ConfigObject {
  if (CHOOSERS.some((key) => Object.hasOwn(over, key) && Object.hasOwn(base, key) && over[key] !== base[key]))
    return over;
  const out: ConfigObject = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const below = out[key];
    put(out, key, isConfigObject(value) && isConfigObject(below) ? layered(below, value) : value);
  }
  return out;
}

/**
 * One `--set` flag, such as `rl.gamma=0.98` or `rollout.horizon=[1000, 5000, 1, 15]`, as a partial configuration.
 * The value is YAML, so numbers, booleans, null, quoted strings and flow arrays are what they look like.
 * @throws FLAG_INVALID when it is not `path=value` or the value is not YAML
 */
export function parseOverride(flag: string): ConfigObject {
  const at = flag.indexOf('=');
  const path = at < 0 ? [] : flag.slice(0, at).trim().split('.');
  if (path.length === 0 || path.some((key) => key === '')) {
    throw reverieError('FLAG_INVALID', { flag: '--set', value: flag, expected: 'path=value, such as rl.gamma=0.98' });
  }
  const document = parseDocument(flag.slice(at + 1), { schema: 'core' });
  if (document.errors.length > 0) {
    throw reverieError(
      'FLAG_INVALID',
      { flag: '--set', value: flag, expected: 'a YAML value after the equals sign' },
      document.errors[0],
    );
  }
  return path.reduceRight<unknown>((value, key) => put({}, key, value), document.toJS()) as ConfigObject;
}

export function isConfigObject(value: unknown): value is ConfigObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Plain assignment would let a key called `__proto__` change the prototype instead of being refused as unknown. */
function put(target: ConfigObject, key: string, value: unknown): ConfigObject {
  return Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
}
