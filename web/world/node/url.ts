// `node:url` as far as the page needs it. What is addressed so lies beside the engine's files, and is looked for in vain here.

export const fileURLToPath = (url: string | URL): string => new URL(url).pathname;
