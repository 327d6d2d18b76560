import { randomBytes } from "node:crypto";
import { BeadsError, byCode } from "./errors.js";
import type { ClaimOver } from "./types.js";

/**
 * The version of the protocol that this library speaks, as the daemon reads it. A daemon that is older exits, and the `bd`
 * that is found starts a newer one.
 */
export const PROTOCOL = "0.10.0";

/** The longest time that one request may take beyond the time it waits for. */
const PATIENCE_MS = 60_000;

/** The daemon ended before it replied, or exits for a newer one. The request can be sent again. */
export class LostReply extends Error {}

/** Returns the line of a request. A change gets an id that lets it survive a lost reply. */
export function encode(
  call: unknown,
  actor: string,
  session: string | undefined,
  options: { request_id?: string; changes?: boolean },
): string {
  const request: Record<string, unknown> = {
    client: PROTOCOL,
    actor,
    call,
    output: { format: "value", dialect: "spec" },
  };
  if (session) request["session"] = session;
  if (options.request_id || options.changes) {
    request["request_id"] = options.request_id ?? `~${randomBytes(16).toString("hex")}`;
  }
  return `${JSON.stringify(request)}\n`;
}

/** Returns how long the reply to a call may take. */
export function patience(call: unknown): number {
  const wait = (call as { wait?: { ms: number } } | null)?.wait;
  return PATIENCE_MS + (wait?.ms ?? 0);
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
