import { execFile } from "node:child_process";
import { Api, type Retry } from "./api.js";
import { DaemonUnreachableError } from "./errors.js";
import { LineStream } from "./line-stream.js";
import { LostReply, decode, encode, errorOf, patience } from "./request.js";
import type { ClaimOver, EventAnswer } from "./types.js";

/** How often a request is sent again when the daemon ends before it replies. */
const ATTEMPTS = 8;

/** How to reach a store. */
export interface ClientOptions {
  /** Any directory of the repository; the current one if absent. */
  directory?: string;
  /** Who acts; as `bd` decides if absent. */
  actor?: string;
  /** The run of that actor. */
  session?: string;
  /** The program; `$BD` or `bd` on the search path if absent. */
  bd?: string;
  /** `false` sends every request through `bd call`. */
  useSocket?: boolean;
}

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
    const bd = options.bd ?? process.env["BD"] ?? "bd";
    const directory = options.directory ?? ".";
    const place = (await json(bd, ["-C", directory, "where", "--json=spec"])) as { socket: string };
    let actor = options.actor ?? process.env["BD_ACTOR"];
    if (!actor) actor = ((await json(bd, ["-C", directory, "info", "--json=spec"])) as { actor: string }).actor;
    return new Client(bd, directory, place.socket, actor, options.session, options.useSocket ?? true);
  }

  /** Sends a call as docs/PROTOCOL.md describes it, and again if the daemon ends before it replies. */
  async request(call: unknown, options: Retry & { changes?: boolean } = {}): Promise<unknown> {
    const line = encode(call, this.actor, this.session, options);
    let last = "";
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      let stream: LineStream | undefined;
      try {
        stream = this.idle.pop() ?? (await this.connect());
        const reply = await stream.exchange(line, patience(call));
        this.idle.push(stream);
        return decode(reply, (over) => this.claimsOver.push(...over));
      } catch (error) {
        if (!(error instanceof LostReply)) throw error;
        last = error.message;
        stream?.close();
        // The other connections lead to the same daemon.
        this.disconnect();
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
        return await LineStream.connect(this.socket);
      } catch {
        if (attempt === 0) await json(this.bd, ["-C", this.directory, "status", "--json=spec"]);
        else this.useSocket = false;
      }
    }
    return LineStream.run(this.bd, ["-C", this.directory, "call"]);
  }
}

function json(bd: string, args: string[]): Promise<unknown> {
  return new Promise((resolve, reject) => {
    execFile(bd, args, (failure, stdout, stderr) => {
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
