// The page itself: what vite has built, under a policy that lets nothing from elsewhere in.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import files from '@fastify/static';
import type { FastifyInstance } from 'fastify';
import { reverieError } from '../../errors.js';

/** Where a build of the package has the page. */
export const BUILT_PAGE = fileURLToPath(new URL('../../web/', import.meta.url));

/** Scripts, styles, requests and frames of this server alone; none of them inline. */
const POLICY = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'";

export const PAGE_HEADERS = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
} as const;

/** @param folder  what vite has built */
export async function servePageFiles(app: FastifyInstance, folder: string): Promise<void> {
  const config = { access: 'operator' } as const;
  app.get('/web', { config }, (_, reply) => reply.redirect('/web/', 308));
  if (!existsSync(join(folder, 'index.html'))) {
    app.get('/web/', { config }, () => {
      throw reverieError('PAGE_NOT_BUILT', { file: join(folder, 'index.html') });
    });
    return;
  }
  await app.register(async (scope) => {
    scope.addHook('onRoute', (route) => {
      route.config = { ...route.config, ...config };
    });
    await scope.register(files, {
      root: folder,
      prefix: '/web/',
      index: 'index.html',
      cacheControl: false,
      // Names of assets hold their hash; the page names them.
      setHeaders: (reply, path) => {
        reply.header(
          'cache-control',
          /[/\\]assets[/\\]/.test(path) ? 'public, max-age=31536000, immutable' : 'no-cache',
        );
        for (const [name, value] of Object.entries(PAGE_HEADERS)) reply.header(name, value);
      },
    });
  });
}
