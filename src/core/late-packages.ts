// Packages that are loaded when they are first needed. Every process and thread imports code that may reach a server or hold a value
// to a JSON schema, most do neither, and these take a sixth of a second of a core to load.

import { createRequire } from 'node:module';
import type AdmZip from 'adm-zip';
import type * as AjvDraft7 from 'ajv';
import type * as AjvDraft2020 from 'ajv/dist/2020.js';
import type * as Undici from 'undici';

const require = createRequire(import.meta.url);

function late<T>(name: string): () => T {
  let loaded: T | undefined;
  return () => {
    loaded ??= require(name) as T;
    return loaded;
  };
}

export const admZip = late<typeof AdmZip>('adm-zip');
export const undici = late<typeof Undici>('undici');
export const ajvDraft7 = late<typeof AjvDraft7>('ajv');
export const ajvDraft2020 = late<typeof AjvDraft2020>('ajv/dist/2020.js');
