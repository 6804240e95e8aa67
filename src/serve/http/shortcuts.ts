// Requests that are answered past fastify: plain ones, whose answer waits for nothing. They meet the same guards and get the
// same answer. One that a guard refuses, or that is unusual in any way, walks through fastify as if nobody had looked at it.
// A request is answered in the turn it came in or not here, so here none is half sent, slow or given up.

import type { IncomingMessage, OutgoingHttpHeader, RequestListener, ServerResponse } from 'node:http';
import type { FastifyBaseLogger } from 'fastify';
import type { Owner } from '../core/session-contract.js';
import { type Answered, LEFT, type RequestLog } from '../observe/request-log.js';
import type { Access } from './access.js';
import type { RequestMeter } from './byte-meter.js';
import { failedAnswer } from './error-answer.js';
import { answerHeaders, guardRequest } from './guard-requests.js';
import type { HttpLimits } from './http-limits.js';
import { parseJson } from './json-guard.js';
import type { Caller } from './tokens.js';
import { traceIdOf } from './trace-id.js';

/** A POST of JSON that can be answered at once. */
export interface Shortcut {
  /** Its route, as fastify has it, with one `:id`. */
  readonly path: string;
  /** Whether it may be answered at once. Changes nothing. */
  canAnswer(id: string, owner: Owner): boolean;
  /** What its route answers with status 200; undefined: it cannot be answered at once, and nothing was done. @throws as its route */
  answer(id: string, body: unknown, owner: Owner): unknown;
}

/** What every request is held to, whichever way it takes. */
export interface RequestWatch {
  readonly limits: HttpLimits;
  readonly access: Access;
  readonly log: RequestLog;
  /** None: bytes are not limited. */
  readonly meter?: RequestMeter;
  /** None: nothing is logged. */
  readonly logger?: FastifyBaseLogger;
}

interface Way {
  readonly shortcut: Shortcut;
  readonly pattern: RegExp;
}

/** A request on its way. */
interface Visitor {
  readonly shortcut: Shortcut;
  readonly id: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly usual: RequestListener;
  /** Milliseconds. */
  readonly startedAt: number;
}

/** What waits to be sent. */
interface Answer {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly text: string;
  readonly answered: Answered;
}

const ANSWER_TYPE = 'application/json; charset=utf-8';

export class Shortcuts {
  private ways: readonly Way[] = [];
  private watch: RequestWatch | undefined;
  private readonly answers: Answer[] = [];

  open(shortcuts: readonly Shortcut[], watch: RequestWatch): void {
    this.ways = shortcuts.map((shortcut) => ({ shortcut, pattern: urlPattern(shortcut.path) }));
    this.watch = watch;
  }

  /** From here on every request takes the usual way. */
  close(): void {
    this.ways = [];
  }

  /** Of a server whose requests otherwise are for `usual`. */
  listener(usual: RequestListener): RequestListener {
    return (request, response) => {
      const visitor = isPlain(request, response) ? this.visitor(request, response, usual) : undefined;
      // A body that came with its head is there in the next tick.
      if (visitor === undefined) usual(request, response);
      else process.nextTick(this.receive, visitor);
    };
  }

  private visitor(request: IncomingMessage, response: ServerResponse, usual: RequestListener): Visitor | undefined {
    for (const { shortcut, pattern } of this.ways) {
      const id = pattern.exec(request.url!)?.[1];
      if (id !== undefined) return { shortcut, id, request, response, usual, startedAt: performance.now() };
    }
    return undefined;
  }

  private readonly receive = (visitor: Visitor): void => {
    const { request, response, usual } = visitor;
    const caller = this.callerOf(request);
    if (caller === undefined || !this.isAnswered(visitor, caller)) usual(request, response);
  };

  /** Who asks, where no guard objects. */
  private callerOf(request: IncomingMessage): Caller | undefined {
    const { limits, access, meter } = this.watch!;
    try {
      guardRequest(request, limits);
      access.checkOrigin(request);
      const caller = access.callerOf(request);
      meter?.check({ raw: request, caller });
      return caller;
    } catch {
      return undefined;
    }
  }

  private isAnswered(visitor: Visitor, caller: Caller): boolean {
    const { shortcut, id, request } = visitor;
    const { limits } = this.watch!;
    const bytes = shortcut.canAnswer(id, caller.owner) ? arrivedBody(request, limits.bodyBytes) : undefined;
    if (bytes === undefined) return false;
    const isDone = this.answer(visitor, caller, parsed(bytes, limits));
    if (!isDone) request.unshift(bytes);
    return isDone;
  }

  /** Whether it was answered. @param body  undefined: what is no JSON is not answered here */
  private answer({ shortcut, id, request, response, startedAt }: Visitor, caller: Caller, body: unknown): boolean {
    if (body === undefined) return false;
    const { limits, logger } = this.watch!;
    const trace = traceIdOf(request);
    const ownLog = logger?.child({ trace });
    let status = 200;
    let failure: string | undefined;
    let text: string;
    try {
      const value = shortcut.answer(id, body, caller.owner);
      if (value === undefined) return false;
      text = JSON.stringify(value);
    } catch (error) {
      const failed = failedAnswer(error, { id: trace, headers: request.headers, log: ownLog }, limits);
      ({ status, code: failure } = failed);
      text = JSON.stringify(failed.body);
    }
    writeHead(response, status, answerHeaders(trace, request.headers), text);
    const { method, url } = request as { method: string; url: string };
    const answered = { method, url, route: shortcut.path, status, startedAt, caller, failure, log: ownLog };
    this.send({ request, response, text, answered });
    return true;
  }

  /** With all others of this turn of the loop: a client that is woken for each alone costs more than the answers do. */
  private send(answer: Answer): void {
    if (this.answers.push(answer) === 1) setImmediate(this.sendAll);
  }

  private readonly sendAll = (): void => {
    const { log, meter } = this.watch!;
    for (const { request, response, text, answered } of this.answers.splice(0)) {
      response.end(text);
      log.tell(request.socket.destroyed ? { ...answered, status: LEFT } : answered);
      meter?.count({ raw: request, caller: answered.caller });
    }
  };
}

function parsed(bytes: Buffer, limits: HttpLimits): unknown {
  try {
    return parseJson(bytes.toString(), limits);
  } catch {
    return undefined;
  }
}

function writeHead(response: ServerResponse, status: number, headers: OutgoingHttpHeader[], text: string): void {
  headers.push('content-type', ANSWER_TYPE, 'content-length', Buffer.byteLength(text));
  response.writeHead(status, headers);
}

// Which requests are plain: nothing about them is unusual, and all of their body came with their head.

/** As clients write it; fastify knows other ways. */
const JSON_TYPES = new Set(['application/json', 'application/json; charset=utf-8']);

/** A POST of JSON whose length is told, with nobody before it on its connection who was not answered yet. */
function isPlain({ method, httpVersion, headers }: IncomingMessage, response: ServerResponse): boolean {
  return (
    method === 'POST' &&
    // One that comes while another waits for its answer has no connection yet, and keeps its turn.
    response.socket !== null &&
    httpVersion === '1.1' &&
    headers['content-length'] !== undefined &&
    JSON_TYPES.has(headers['content-type'] ?? '') &&
    headers.expect === undefined
  );
}

/**
 * The body of a plain request, if all of it is there; undefined: it was not touched. To be asked a tick after the request
 * came: what arrived with its head is parsed by then.
 * @param limit  bytes
 */
function arrivedBody(request: IncomingMessage, limit: number): Buffer | undefined {
  const length = Number(request.headers['content-length']);
  if (length > limit || request.readableLength !== length) return undefined;
  return (request.read() as Buffer | null) ?? undefined;
}

/** Urls of a route with one `:id`; its first group is the id. Those with an id that would have to be decoded do not match. */
function urlPattern(path: string): RegExp {
  return new RegExp(`^${path.replace(':id', '([\\w-]{1,255})')}$`);
}
