// `node:module` as far as the page needs it: packages that Node loads when they are first needed are part of the page.

import ajvDraft7 from 'ajv';
import ajvDraft2020 from 'ajv/dist/2020.js';

const bundled: Readonly<Record<string, unknown>> = {
  ajv: { Ajv: ajvDraft7, default: ajvDraft7 },
  'ajv/dist/2020.js': { Ajv2020: ajvDraft2020, default: ajvDraft2020 },
};

export function createRequire(): (name: string) => unknown {
  return (name) => {
    if (name in bundled) return bundled[name];
    throw new Error(`${name} is no part of this page`);
  };
}
