import { randomBytes } from "node:crypto";
import { BeadsError, BusyError, DaemonUnreachableError, TooLargeError, byCode } from "./errors.js";
import type { ClaimOver } from "./types.js";

/**
 * The version of the protocol that this library speaks, as the daemon reads it. A daemon that is older exits, and the `bd`
 * that is found starts a newer one.
 */
export const PROTOCOL = "0.10.0";

/** How often a request is sent again when the daemon ends before it replies. */
export const ATTEMPTS = 8;

/** The longest time that one request may take beyond the time it waits for. */
const PATIENCE_MS = 60_000;

/** The same for calls that take as long as a remote or a file needs: the largest `sync.deadline`. */
const LONG_PATIENCE_MS = 24 * 60 * 60_000;
const LONG_CALLS = new Set(["sync", "import", "import_rescued"]);

/** The daemon closes the connection on a longer line, which looks as if it had ended. */
const MAX_FRAME_BYTES = 16 * 1024 * 1024;

/** The daemon ended before it replied, or exits for a newer one. The request can be sent again. */
export class LostReply extends Error {}

/** The daemon runs but did not reply in time. */
export class NoReply extends Error {}

/** Returns an id that lets a change survive a lost reply. The daemon remembers it for two minutes. */
export function shortLivedId(): string {
  return `~${randomBytes(16).toString("hex")}`;
}

/** Returns the line of a request. */
export function encode(
  call: unknown,
  actor: string,
  session: string | undefined,
  requestId: string | null,
): string {
  const request: Record<string, unknown> = {
    client: PROTOCOL,
    actor,
    call,
    output: { format: "value", dialect: "spec" },
  };
  if (session) request["session"] = session;
  if (requestId !== null) request["request_id"] = requestId;
  const line = `${JSON.stringify(request)}\n`;
  const size = Buffer.byteLength(line);
  if (size > MAX_FRAME_BYTES) {
    throw new TooLargeError(`the request has ${size} bytes, more than the limit of ${MAX_FRAME_BYTES}`, "too_large");
  }
  return line;
}

/** Returns how long the reply to a call may take. */
export function patience(call: unknown): number {
  const name = typeof call === "string" ? call : (Object.keys(call ?? {})[0] ?? "");
  const wait = (call as { wait?: { ms: number } } | null)?.wait;
  return (LONG_CALLS.has(name) ? LONG_PATIENCE_MS : PATIENCE_MS) + (wait?.ms ?? 0);
}

/** Returns the error for a daemon that runs but does not reply. */
export function noReply(call: unknown, requestId: string | null): BeadsError {
  const message = `the daemon did not reply within ${patience(call) / 1000} s`;
  if (requestId === null) return new BusyError(message, "busy", null, "try again; bd daemon status shows its process");
  const error = new BusyError(`${message}; the request may still be carried out`, "busy", null, howToRepeat(requestId));
  error.requestId = requestId;
  return error;
}

/** Returns the error for a daemon that ended each time that the request was sent. */
export function noDaemon(last: string, requestId: string | null): BeadsError {
  const message = `the daemon ended ${ATTEMPTS} times before it replied: ${last}`;
  const code = "daemon_unreachable";
  if (requestId === null) return new DaemonUnreachableError(message, code, null, byCode.get(code)?.[1] ?? null);
  const hint = howToRepeat(requestId);
  const error = new DaemonUnreachableError(`${message}; the request may have been carried out`, code, null, hint);
  error.requestId = requestId;
  return error;
}

function howToRepeat(requestId: string): string {
  if (!requestId.startsWith("~")) return `repeat it only with the same request_id, ${JSON.stringify(requestId)}`;
  const id = JSON.stringify(requestId);
  return `repeat it only with request_id ${id} and within two minutes; later, check first whether it was carried out`;
}

/** Returns how long to wait before a request is sent again: a daemon that exits needs a moment. */
export function pauseMs(attempt: number): number {
  return 2 * 2 ** attempt;
}

interface ErrorBody {
  code?: string;
  message?: string;
  details?: unknown;
  hint?: string | null;
}

/** Returns the error object for an error of the daemon. */
export function errorOf(body: ErrorBody): BeadsError {
  const code = body.code ?? "";
  const [kind, hint] = byCode.get(code) ?? [BeadsError, null];
  return new kind(body.message ?? code, code, body.details ?? null, body.hint ?? hint);
}

/** Returns the result of a reply, or throws its error. */
export function decode(line: string, onClaimOver: (over: ClaimOver[]) => void): unknown {
  const reply = JSON.parse(line) as { result?: unknown; error?: ErrorBody; claim_over?: ClaimOver[] };
  if (reply.claim_over) onClaimOver(reply.claim_over);
  if (reply.error) {
    if (reply.error.code === "daemon_older") throw new LostReply(reply.error.message);
    throw errorOf(reply.error);
  }
  return reply.result;
}
