// What is refused before any backend is asked: tools that do not exist and arguments that break a tool's schema.

import { createHash } from 'node:crypto';
import type { JsonObject } from '../../core/canonical-json.js';
import { canonicalJson } from '../../core/canonical-json.js';
import { nearest } from '../../core/errors.js';
import { compileSchema, type SchemaCheck } from '../state/schema.js';
import type { CallSpec, ToolSpec } from './domain.js';
import { exactPrediction, type Prediction } from './prediction.js';

export interface CallChecks {
  /** What is wrong with a call, one sentence each; empty if a tool can be asked. */
  problems(call: CallSpec): readonly string[];
  /** The answer to a call that has problems. */
  refuse(problems: readonly string[]): Prediction;
}

const remembered = new WeakMap<readonly ToolSpec[], CallChecks>();

/**
 * Checks of calls against the schemas of these tools. A schema that says nothing of further arguments allows none.
 * @throws SCHEMA_INVALID
 */
export function callChecks(tools: readonly ToolSpec[]): CallChecks {
  let checks = remembered.get(tools);
  if (checks === undefined) {
    checks = compiledChecks(tools);
    remembered.set(tools, checks);
  }
  return checks;
}

function compiledChecks(tools: readonly ToolSpec[]): CallChecks {
  const checks = new Map<string, SchemaCheck>(
    tools.map(({ name, parameters }) => [name, compileSchema(closed(parameters), `the tool "${name}"`)]),
  );
  const modelVersion = `schema:${createHash('sha256').update(canonicalJson(tools)).digest('hex').slice(0, 16)}`;
  return {
    problems: ({ name, arguments: args }) => {
      const check = checks.get(name);
      if (check !== undefined) return check(args).map((problem) => `the arguments of ${name} are wrong: ${problem}`);
      const known = nearest(name.slice(0, 80), [...checks.keys()]);
      return [`unknown tool "${name.slice(0, 80)}"${known === undefined ? '' : ` (did you mean "${known}"?)`}`];
    },
    refuse: (problems) => {
      const outcome = { operations: [], observation: `Error: ${problems.join('; ')}`, isError: true };
      return exactPrediction(outcome, { backend: 'schema', modelVersion, why: problems });
    },
  };
}

const OPEN = ['additionalProperties', 'unevaluatedProperties', 'patternProperties', 'allOf', 'anyOf', 'oneOf', '$ref'];

function closed(parameters: JsonObject): JsonObject {
  return OPEN.some((key) => key in parameters) ? parameters : { ...parameters, additionalProperties: false };
}
