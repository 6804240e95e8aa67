// Reads the file of a graph: what is wrong with it is one error that names the place.

import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { type ReverieError, reverieError } from '../../core/errors.js';
import { parseStrictly } from '../../env/strict-parse.js';
import { jsonProblem, STATE_LIMITS } from '../../env/tools/json-limits.js';
import { checkGraph, GraphFault } from './graph-check.js';
import { type GraphFile, graphSchema } from './graph-schema.js';

/** @throws FILE_INVALID, UNKNOWN_KEY */
export function readGraph(file: string): GraphFile {
  let value: unknown;
  try {
    value = parse(readFileSync(file, 'utf8').replace(/^\uFEFF/, ''));
  } catch (error) {
    throw graphInvalid(file, 'the file', (error as Error).message.split('\n')[0], error);
  }
  const problem = jsonProblem(value, STATE_LIMITS);
  if (problem !== undefined) throw graphInvalid(file, 'the file', problem);
  const graph = parseStrictly(graphSchema, value, file, (found) => {
    const [place, ...rest] = found.split(': ');
    return rest.length === 0 ? graphInvalid(file, 'the file', found) : graphInvalid(file, place, rest.join(': '));
  });
  try {
    checkGraph(graph);
  } catch (error) {
    if (error instanceof GraphFault) throw graphInvalid(file, error.place, error.message);
    throw error;
  }
  return graph;
}

export function graphInvalid(file: string, place: string, problem: string, cause?: unknown): ReverieError {
  return reverieError(
    'FILE_INVALID',
    {
      problem: `The navigation graph "${file}" cannot be used: ${place}: ${problem}.`,
      hint: 'See docs/screens.md for what pages, edges, data and tasks may say.',
    },
    cause,
  );
}
