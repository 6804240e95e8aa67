// Pictures of an episode in files beside its record: a picture of twenty kilobytes is no part of a line of JSON, and most of an episode's
// are alike.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { sha256 } from '../../core/hash.js';
import type { Picture, ToolsEpisodeEnvironment } from '../../env/index.js';
import type { KeptPicture } from '../../replay/index.js';
import { ensureFolder, writeFileAtomic } from '../../store/atomic-file.js';

/** Folder of the files, beside the records. */
export const PICTURES_FOLDER = 'screenshots';

/** Keeps a picture, and says where. @throws STORAGE_FULL, STORAGE_FAILED */
export type KeepPicture = (picture: Picture) => Promise<KeptPicture>;

/** @param folder where the records are written. A picture is whole or not there, and the same one is written once. */
export function pictureKeeper(folder: string): KeepPicture {
  return async ({ png, ...seen }) => {
    const image = `${PICTURES_FOLDER}/${sha256(png)}.png`;
    if (!existsSync(join(folder, image))) {
      await ensureFolder(join(folder, PICTURES_FOLDER));
      await writeFileAtomic(join(folder, image), png);
    }
    return { image, ...seen };
  };
}

/** What there is to see of an environment now, kept; nothing where it has no look, or nobody keeps it. */
export async function pictured(
  environment: ToolsEpisodeEnvironment,
  keep: KeepPicture | undefined,
): Promise<{ picture?: KeptPicture }> {
  const picture = keep === undefined ? undefined : environment.picture;
  return picture === undefined ? {} : { picture: await keep!(picture) };
}
