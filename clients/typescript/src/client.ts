import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { lstat } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Api, type Retry } from "./api.js";
import { DaemonUnreachableError } from "./errors.js";
import { LineStream } from "./line-stream.js";
import { LostReply, decode, encode, errorOf, patience, pauseMs } from "./request.js";
import type { ClaimOver, EventAnswer } from "./types.js";

/** How often a request is sent again when the daemon ends before it replies. */
const ATTEMPTS = 8;

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
  /** Claims that ended without this client's doing. */
  readonly claimsOver: ClaimOver[] = [];
  private readonly idle: LineStream[] = [];

  private constructor(
    private readonly bd: string,
    private readonly directory: string,
    private readonly socket: string,
    readonly actor: string,
    private readonly session: string | undefined,
    private useSocket: boolean,
  ) {
    super();
  }

  /** Finds the store of a directory. */
  static async open(options: ClientOptions = {}): Promise<Client> {
    const bd = options.bd ?? process.env["BD"] ?? (existsSync(OWN_BD) ? OWN_BD : "bd");
    const directory = options.directory ?? ".";
    const place = (await json(bd, ["-C", directory, "where", "--json=spec"])) as { socket: string };
    let actor = options.actor ?? process.env["BD_ACTOR"];
    if (!actor) actor = ((await json(bd, ["-C", directory, "info", "--json=spec"])) as { actor: string }).actor;
    const session = options.session ?? (process.env["BD_SESSION"] || undefined);
    return new Client(bd, directory, place.socket, actor, session, options.useSocket ?? true);
  }

  /** Sends a call as docs/PROTOCOL.md describes it, and again if the daemon ends before it replies. */
  async request(call: unknown, options: RequestOptions = {}): Promise<unknown> {
    const line = encode(call, this.actor, this.session, options);
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
    throw new DaemonUnreachableError(
      `the daemon ended ${ATTEMPTS} times before it replied: ${last}`,
      "daemon_unreachable",
    );
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
        if (await isOurs(dirname(this.socket))) return await LineStream.connect(this.socket);
        throw new Error(`${this.socket} may belong to another user`);
      } catch {
        if (attempt === 0) await json(this.bd, ["-C", this.directory, "status", "--json=spec"]);
        else this.useSocket = false;
      }
    }
    return LineStream.run(this.bd, ["-C", this.directory, "call"]);
  }
}

/** Returns whether only this user can have made sockets in a directory: in one of others, anyone could be listening. */
async function isOurs(directory: string): Promise<boolean> {
  const found = await lstat(directory);
  return found.isDirectory() && found.uid === process.getuid?.() && (found.mode & 0o077) === 0;
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
