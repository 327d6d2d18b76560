import { type ChildProcess, spawn } from "node:child_process";
import { createConnection } from "node:net";
import type { Duplex, Readable, Writable } from "node:stream";
import { LostReply, NoReply } from "./request.js";

/** What sockets, pipes of a child and the child have in common. */
interface Handle {
  ref?(): unknown;
  unref?(): unknown;
}

/** A connection that answers one line with one line: a socket, or the program `bd call`. */
export class LineStream {
  private buffered: Buffer[] = [];
  private waiting: { resolve: (line: string) => void; reject: (error: Error) => void } | null = null;
  private ended: Error | null = null;

  private constructor(
    private readonly input: Readable,
    private readonly output: Writable,
    private readonly process: ChildProcess | null,
  ) {
    input.on("data", (part: Buffer) => this.receive(part));
    input.on("end", () => this.end("the connection ended before the reply"));
    for (const stream of [input, output]) stream.on("error", (error: Error) => this.end(error.message));
  }

  /** Connects to a socket. */
  static connect(path: string): Promise<LineStream> {
    return new Promise((resolve, reject) => {
      const socket: Duplex = createConnection({ path });
      socket.once("error", reject);
      socket.once("connect", () => {
        socket.removeListener("error", reject);
        resolve(new LineStream(socket, socket, null));
      });
    });
  }

  /** Starts a program that answers lines. */
  static run(command: string, args: string[]): LineStream {
    const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
    const stream = new LineStream(child.stdout, child.stdin, child);
    child.on("error", (error) => stream.end(error.message));
    return stream;
  }

  /** Sends a line and returns the answer. Rejects with `NoReply`, and closes, if that takes too long. */
  exchange(line: string, timeoutMs: number): Promise<string> {
    if (this.ended) return Promise.reject(this.ended);
    this.keepProgramAlive(true);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.waiting = null;
        reject(new NoReply());
        // The daemon would deliver a late reply to nobody; now it gives back a bead that it hands out.
        this.close();
      }, timeoutMs);
      this.waiting = {
        resolve: (answer) => (clearTimeout(timer), resolve(answer)),
        reject: (error) => (clearTimeout(timer), reject(error)),
      };
      this.output.write(line);
    });
  }

  /** An idle connection lets the program end. */
  release(): void {
    this.keepProgramAlive(false);
  }

  /** Ends the connection at once, without sending the rest of a request. */
  close(): void {
    this.end("closed");
    this.output.destroy();
    this.input.destroy();
    this.process?.kill("SIGKILL");
    this.keepProgramAlive(false);
  }

  private keepProgramAlive(keeps: boolean): void {
    for (const one of [this.input, this.output, this.process] as (Handle | null)[]) {
      if (keeps) one?.ref?.();
      else one?.unref?.();
    }
  }

  private receive(part: Buffer): void {
    this.buffered.push(part);
    if (!part.includes(10)) return;
    const line = Buffer.concat(this.buffered).toString("utf8");
    this.buffered = [];
    const waiting = this.waiting;
    this.waiting = null;
    waiting?.resolve(line);
  }

  private end(message: string): void {
    this.ended ??= new LostReply(message);
    this.waiting?.reject(this.ended);
    this.waiting = null;
  }
}
