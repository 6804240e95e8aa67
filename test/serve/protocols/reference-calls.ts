// Solutions that tasks of packs/helpdesk come with.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

interface Reference {
  readonly calls: readonly { readonly name: string; readonly arguments: Record<string, unknown> }[];
  readonly say: string;
}

const file = fileURLToPath(new URL('../../../packs/helpdesk/tasks.yaml', import.meta.url));

export function helpdeskReference(task: string): Reference {
  const tasks = parse(readFileSync(file, 'utf8')) as { readonly id: string; readonly reference: Reference }[];
  return tasks.find(({ id }) => id === task)!.reference;
}
