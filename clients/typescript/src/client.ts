import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Api, type Retry } from "./api.js";
import { DaemonSocket } from "./daemon-socket.js";
import { BeadsError, DaemonUnreachableError } from "./errors.js";
import { LineStream } from "./line-stream.js";
import {
  ATTEMPTS,
  LostReply,
  NoReply,
  decode,
  encode,
  errorOf,
  noDaemon,
  noReply,
  patience,
  pauseMs,
  shortLivedId,
} from "./request.js";
import type { ClaimOver, DaemonStatus, EventAnswer } from "./types.js";

/** How to reach a store. */
export interface ClientOptions {
  /** Any directory of the repository; the current one if absent. */
  directory?: string;
  /** Who acts; `$BD_ACTOR`, else as `bd` decides, if absent. */
  actor?: string;
  /** The run of that actor; `$BD_SESSION` if absent. */
  session?: string;
  /** The program; if absent `$BD`, the one in the package of this library, or `bd` on the search path. */
  bd?: string;
  /** `false` sends every request through `bd call`. */
  useSocket?: boolean;
}

/** How to send a request. */
export interface RequestOptions extends Retry {
  /** It changes something, so it gets a request id. */
  changes?: boolean;
  /** Gives up the request, and closes its connection. */
  signal?: AbortSignal;
}

/** The programs that npm installed with this library. They need not be on the search path. */
const OWN_BD = fileURLToPath(new URL("../bin/bd", import.meta.url));

/** A store. Each request in flight has a connection of its own, so a request that waits delays no other. */
export class Client extends Api {
  /** Claims that something other than this client ended. */
  readonly claimsOver: ClaimOver[] = [];
  private readonly idle: LineStream[] = [];

  private constructor(
    private readonly bd: string,
    private readonly directory: string,
    private readonly socket: DaemonSocket,
    readonly actor: string,
    private readonly session: string | undefined,
    private useSocket: boolean,
  ) {
    super();
  }

  /** Finds the store of a directory. */
  static async open(options: ClientOptions = {}): Promise<Client> {
    const bd = options.bd ?? (process.env["BD"] || undefined) ?? (existsSync(OWN_BD) ? OWN_BD : "bd");
    const directory = options.directory ?? ".";
    const place = (await json(bd, ["-C", directory, "where", "--json=spec"])) as { socket: string };
    let actor = options.actor ?? process.env["BD_ACTOR"];
    if (!actor) actor = ((await json(bd, ["-C", directory, "info", "--json=spec"])) as { actor: string }).actor;
    const session = options.session ?? (process.env["BD_SESSION"] || undefined);
    const daemon = (): Promise<DaemonStatus> =>
      json(bd, ["-C", directory, "daemon", "status", "--json=spec"]) as Promise<DaemonStatus>;
    return new Client(bd, directory, new DaemonSocket(place.socket, daemon), actor, session, options.useSocket ?? true);
  }

  /** Sends a call as docs/PROTOCOL.md describes it, and again if the daemon ends before it replies. */
  async request(call: unknown, options: RequestOptions = {}): Promise<unknown> {
    const requestId = options.request_id ?? (options.changes ? shortLivedId() : null);
    const line = encode(call, this.actor, this.session, requestId);
    let last = "";
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      let stream: LineStream | undefined;
      const abort = (): void => stream?.close();
      try {
        options.signal?.throwIfAborted();
        stream = this.idle.pop() ?? (await this.connect());
        options.signal?.addEventListener("abort", abort);
        if (options.signal?.aborted) abort();
        const reply = await stream.exchange(line, patience(call));
        this.idle.push(stream);
        stream.release();
        return decode(reply, (over) => this.claimsOver.push(...over));
      } catch (error) {
        if (error instanceof NoReply) throw noReply(call, requestId);
        if (!(error instanceof LostReply) || options.signal?.aborted) throw error;
        last = error.message;
        stream?.close();
        // The other connections lead to the same daemon.
        this.disconnect();
        await sleep(pauseMs(attempt));
      } finally {
        options.signal?.removeEventListener("abort", abort);
      }
    }
    throw noDaemon(last, requestId);
  }

  /** Returns all settings. */
  async settings(): Promise<Record<string, string>> {
    return (await this.request("config_list")) as Record<string, string>;
  }

  /** Yields events as they happen, each once and in order, across restarts of the daemon. */
  async *watch(since?: string, ids?: string[]): AsyncGenerator<EventAnswer> {
    let cursor = since ?? (await this.events()).cursor;
    for (;;) {
      const page = await this.events({ since: cursor, wait_ms: 30_000, ...(ids ? { ids } : {}) });
      yield* page.events;
      cursor = page.cursor;
    }
  }

  /** Closes idle connections. The client can still be used; it connects again. */
  disconnect(): void {
    for (const stream of this.idle.splice(0)) stream.close();
  }

  /** Connects, starting a daemon if there is none. Where sockets cannot be used, `bd call` answers. */
  private async connect(): Promise<LineStream> {
    for (let attempt = 0; this.useSocket && attempt < 2; attempt++) {
      try {
        return await this.socket.connect();
      } catch (error) {
        if (error instanceof BeadsError) throw error;
        if (attempt === 0) await json(this.bd, ["-C", this.directory, "status", "--json=spec"]);
        else this.useSocket = false;
      }
    }
    return LineStream.run(this.bd, ["-C", this.directory, "call"]);
  }
}

/** The longest answer of a command. */
const MAX_ANSWER_BYTES = 256 * 1024 * 1024;

function json(bd: string, args: string[]): Promise<unknown> {
  return new Promise((resolve, reject) => {
    execFile(bd, args, { maxBuffer: MAX_ANSWER_BYTES }, (failure, stdout, stderr) => {
      let answer: unknown;
      try {
        answer = JSON.parse(stdout);
      } catch {
        const message = stderr.trim() || failure?.message || "no answer";
        reject(new DaemonUnreachableError(`${bd} failed: ${message}`, "daemon_unreachable"));
        return;
      }
      const body = (answer as { error?: object }).error;
      if (failure && body) reject(errorOf(body));
      else resolve(answer);
    });
  });
}
