// The door for the command line: the parts of this room, each loaded by the command that uses it.

export const load = {
  glue: () => import('./glue/glue.js'),
  glueTarget: () => import('./glue/glue.js'),
  log: () => import('./observe/log.js'),
  port: async () => ({ ...(await import('./http/port.js')), ...(await import('./http/http-limits.js')) }),
  server: () => import('./server.js'),
  tokens: () => import('./http/tokens.js'),
  validation: () => import('./validate/validate.js'),
};
