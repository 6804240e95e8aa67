// A client that begins an episode and is gone without a word, as a trainer that was killed: no farewell of the protocol, no close
// frame of WebSocket (RFC 6455), the connection reset. Libraries are too polite for that, so its few bytes are written here.

import { connect as connectPlain } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { CheckFailed, type Server } from './validate-contract.js';

/** Milliseconds for the answer to the reset. */
const PATIENCE = 30_000;
/** Both protect browsers from pages that they run, and may be anything here. */
const KEY = Buffer.from('reverie-validate').toString('base64');
const MASK = Buffer.from('mask');
const TEXT_FRAME = 0x81;
const HEAD_END = '\r\n\r\n';
const MASKED = 0x80;
/** In place of a length: two bytes follow that have it. */
const LONG = 126;

/**
 * Resolves once the server has answered the reset, and the connection is broken; false where it let nobody in.
 * @throws CheckFailed where it does not answer at all
 */
export async function vanish({ url, headers }: Server, reset: object): Promise<boolean> {
  const { hostname, port, pathname, protocol, host } = new URL(`${url}/ws`);
  const isTls = protocol === 'https:';
  const to = { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || (isTls ? 443 : 80) };
  const socket = isTls ? connectTls({ ...to, servername: to.host }) : connectPlain(to);
  const asked = [
    `GET ${pathname} HTTP/1.1`,
    `host: ${host}`,
    'connection: upgrade',
    'upgrade: websocket',
    'sec-websocket-version: 13',
    `sec-websocket-key: ${KEY}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  socket.setEncoding('latin1');
  socket.setTimeout(PATIENCE, () => socket.destroy(new Error(`no answer in ${PATIENCE / 1000} s`)));
  const chunks: AsyncIterator<string> = socket[Symbol.asyncIterator]();
  const more = async () => (await chunks.next()).value ?? '';
  try {
    socket.write(`${asked.join('\r\n')}\r\n\r\n`);
    let heard = '';
    for (let chunk = await more(); chunk !== ''; chunk = heard.includes(HEAD_END) ? '' : await more()) heard += chunk;
    if (!heard.startsWith('HTTP/1.1 101')) return false;
    socket.write(maskedFrame(JSON.stringify({ type: 'reset', data: reset })));
    return isAnswer(heard.slice(heard.indexOf(HEAD_END) + HEAD_END.length) || (await more()));
  } catch (error) {
    throw new CheckFailed(`${url}/ws: ${(error as Error).message}`);
  } finally {
    if (isTls) socket.destroy();
    else socket.resetAndDestroy();
  }
}

/** A server that is full says so without being asked, or closes at once. */
function isAnswer(frame: string): boolean {
  return frame.charCodeAt(0) === TEXT_FRAME && !/"type":\s*"error"/.test(frame);
}

/** Clients mask what they send; lengths up to 65,535 bytes. */
function maskedFrame(text: string): Buffer {
  const payload = Buffer.from(text);
  const isShort = payload.length < LONG;
  const head = Buffer.alloc(isShort ? 2 : 4);
  head[0] = TEXT_FRAME;
  head[1] = MASKED | (isShort ? payload.length : LONG);
  if (!isShort) head.writeUInt16BE(payload.length, 2);
  return Buffer.concat([head, MASK, payload.map((byte, i) => byte ^ MASK[i % MASK.length])]);
}
