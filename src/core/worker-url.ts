// Where the compiled form of a module of ours lies: worker threads load JavaScript, while tests run the TypeScript.

/**
 * URL of `relative` (ending in `.js`) next to the module `from`. A TypeScript source `src/…` maps to its build in `dist/…`.
 * @param from `import.meta.url` of the caller
 */
export function compiledUrl(from: string, relative: string): string {
  const url = new URL(relative, from).href;
  if (!from.endsWith('.ts')) return url;
  const at = url.lastIndexOf('/src/');
  return `${url.slice(0, at)}/dist/${url.slice(at + '/src/'.length)}`;
}
