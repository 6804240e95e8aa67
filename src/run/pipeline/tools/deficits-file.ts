// What lost a run's episodes, kept in its folder.

import { join } from 'node:path';
import { sealedText, writeFileAtomic } from '../../../core/files.js';
import type { ToolsDomain } from '../../../env/tools/domain.js';
import type { Deficit } from '../../../synth/signals/deficits.js';

export async function writeDeficits(
  folder: string,
  { id: domain }: Pick<ToolsDomain, 'id'>,
  deficits: readonly Deficit[],
): Promise<void> {
  const text = sealedText({ format: 'reverie-deficits/1', domain, deficits });
  await writeFileAtomic(join(folder, 'deficits.json'), text);
}
