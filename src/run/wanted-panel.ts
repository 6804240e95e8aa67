// `--panel`: the panel that a run must have, by its hash or as the result of another run.

import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { reverieError } from '../core/errors.js';
import type { WantedPanel } from '../core/panel.js';
import type { JobContext } from './job.js';
import { RESULT_FILE } from './run-folder.js';
import type { AnyScenario } from './scenario.js';

const HASH = /^[0-9a-f]{16}$/;

/** @throws PANEL_UNREADABLE where it is neither a hash nor a file or run that names a panel */
export function wantedPanel({ inputs }: Pick<JobContext<AnyScenario>, 'inputs'>): WantedPanel | undefined {
  return inputs.panel === undefined ? undefined : givenPanel(inputs.panel);
}

/** Of a hash, or a file or folder of a run. @throws PANEL_UNREADABLE */
export function givenPanel(given: string): WantedPanel {
  if (HASH.test(given) && !existsSync(given)) return { hash: given };
  const panel = readPanel(given);
  if (panel === undefined) throw reverieError('PANEL_UNREADABLE', { given });
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
