// Errors of who may reach a server and with what: addresses, tokens, origins, and requests too large or too many.

import type { ErrorEntry } from './error-entry.js';

export const ACCESS_ERRORS = {
  // where a server listens
  ADDRESS_NEEDS_TOKEN: {
    status: 400,
    message: 'Not listening on "{host}" ({address}) without tokens: whoever reaches that address could use the server.',
    hint: 'Give --token-file FILE or set REVERIE_TOKEN; or listen on 127.0.0.1, which only this machine reaches.',
  },
  ADDRESS_UNUSABLE: {
    status: 400,
    message: 'Cannot listen on "{host}", port {port}: {problem}.',
    hint: 'Give --host an address of this machine, such as 127.0.0.1 or 0.0.0.0, and --port one that may be used.',
  },
  PORT_TAKEN: {
    status: 409,
    message: 'Port {port} of "{host}" is taken: something listens there already.',
    hint: 'Give another --port, or 0 for a free one.',
  },
  // tokens
  TOKENS_INVALID: {
    status: 400,
    message: 'Tokens of {source}: {problem}.',
    hint: 'docs/serving.md shows a token file: a list of {name, token or sha256, operator, quota}.',
  },
  TOKEN_NEEDED: {
    status: 401,
    message: 'This server asks for a token.',
    hint: 'Send it as "Authorization: Bearer TOKEN" or "X-API-Key: TOKEN"; clients that can set no header take http://user:TOKEN@host.',
  },
  TOKEN_WRONG: {
    status: 401,
    message: 'The token is none of this server.',
    hint: 'Ask the operator for one; tokens are told apart to the last character.',
  },
  OPERATOR_NEEDED: {
    status: 403,
    message: 'This is for operators of the server.',
    hint: 'Use a token that the token file marks with operator: true.',
  },
  // where requests come from
  HOST_REFUSED: {
    status: 421,
    message: 'This server is not called "{host}".',
    hint: 'Ask it by the address it listens on, or start it with --allow-host NAME.',
  },
  ORIGIN_REFUSED: {
    status: 403,
    message: 'Requests from pages of "{origin}" are refused.',
    hint: 'Pages of other sites may not use this server; --allow-host NAME lets those of one host in.',
  },
  // too large, too many
  BODY_TOO_LARGE: {
    status: 413,
    message: 'The request is larger than {limit} bytes.',
    hint: 'Send less at a time, or ask the operator for a larger --max-body-bytes.',
  },
  BODY_TYPE_REFUSED: {
    status: 415,
    message: 'Bodies of type {type} are not read here.',
    hint: 'Send JSON as it is: content-type application/json, and no content-encoding.',
  },
  URL_TOO_LONG: {
    status: 414,
    message: 'The URL is longer than {limit} characters.',
    hint: 'What is long belongs into the body.',
  },
  REQUESTS_TOO_MANY: {
    status: 429,
    message: 'More than {limit} requests wait on this connection.',
    hint: 'Await answers before sending more.',
  },
} as const satisfies Record<string, ErrorEntry>;
