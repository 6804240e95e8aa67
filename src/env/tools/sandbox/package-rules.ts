// Rules that come with the package are part of its code, as those of τ-bench's domains are, and run like it: without a sandbox.
// They are known by their bytes, so no folder, name or scenario makes others pass for them.

/** SHA-256 of each rules file of the package. */
const PACKAGE_RULES: ReadonlySet<string> = new Set([
  // cellar
  '1b6ce5f275ac9281ba8490fb0882b2a5ace8107c337ba0f549dea1f53091a77e',
  // helpdesk
  'b6f45fe188d0cac1cb6cf146e67be183e74d02d28712df9f18e56bdde0e11848',
]);

/** @param version SHA-256 (hex) of a rules file's text */
export function isOfPackage(version: string): boolean {
  return PACKAGE_RULES.has(version);
}
