// `--panel`: the panel that a run must have, by its hash or as the result of another run.

import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { reverieError } from '../core/errors.js';
import type { WantedPanel } from '../core/evaluation-set.js';
import type { JobContext } from './job.js';
import { RESULT_FILE } from './run-folder.js';
import type { AnyScenario } from './scenario.js';

const HASH = /^[0-9a-f]{16}$/;

/** @throws EVALUATION_SET_UNREADABLE where it is neither a hash nor a file or run that names a panel */
export function wantedPanel({ inputs }: Pick<JobContext<AnyScenario>, 'inputs'>): WantedPanel | undefined {
  return inputs.panel === undefined ? undefined : givenPanel(inputs.panel);
}

/** Of a hash, or a file or folder of a run. @throws EVALUATION_SET_UNREADABLE */
export function givenPanel(given: string): WantedPanel {
  if (HASH.test(given) && !existsSync(given)) return { hash: given };
  const panel = readPanel(given);
  if (panel === undefined)
    throw reverieError('EVALUATION_SET_UNREADABLE', {
      problem: `No panel is named by "${given}" (--panel).`,
      hint: 'Give the 16 hex digits that a result tells, or the result.json or folder of the run to be compared with.',
    });
  return panel;
}

function readPanel(given: string): WantedPanel | undefined {
  try {
    const file = statSync(given).isDirectory() ? join(given, RESULT_FILE) : given;
    const value = JSON.parse(readFileSync(file, 'utf8')) as {
      panel?: WantedPanel;
      provenance?: { panel?: WantedPanel };
    };
    const panel = value.panel ?? value.provenance?.panel ?? (value as unknown as WantedPanel);
    return HASH.test(panel.hash) ? panel : undefined;
  } catch {
    return undefined;
  }
}
