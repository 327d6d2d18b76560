import { lstat, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { LineStream } from "./line-stream.js";
import type { DaemonStatus } from "./types.js";

/** The socket of a store's daemon. */
export class DaemonSocket {
  /** The socket file that was compared with the daemon's, and whether they are the same. */
  private compared: { file: string; isOurs: Promise<boolean> } | null = null;

  constructor(
    readonly path: string,
    /** Asks `bd` for the daemon of the store. */
    private readonly daemon: () => Promise<DaemonStatus>,
  ) {}

  /** Connects, unless another user or the daemon of another repository may be listening. */
  async connect(): Promise<LineStream> {
    if (!(await isPrivate(dirname(this.path)))) throw new Error(`${this.path} may belong to another user`);
    const file = await identity(this.path);
    const stream = await LineStream.connect(this.path);
    try {
      if (!(await this.isOurs(file))) throw new Error(`${this.path} belongs to another repository`);
      if ((await identity(this.path)) !== file) throw new Error(`${this.path} was replaced`);
      return stream;
    } catch (error) {
      stream.close();
      throw error;
    }
  }

  /**
   * Returns whether the daemon of the store listens on a socket file. Another repository may have the same path, for example in
   * another container. Node cannot look at the lock on the store, so `bd` does, once for each daemon: each makes a new file.
   */
  private async isOurs(file: string): Promise<boolean> {
    if (this.compared?.file !== file) this.compared = { file, isOurs: this.ask(file) };
    const { compared } = this;
    let isOurs = false;
    try {
      isOurs = await compared.isOurs;
    } finally {
      if (!isOurs && this.compared === compared) this.compared = null;
    }
    return isOurs;
  }

  private async ask(file: string): Promise<boolean> {
    const { running, socket } = await this.daemon();
    return running && (await identity(socket)) === file;
  }
}

/** Returns whether only this user can have made sockets in a directory: in one of others, anyone could be listening. */
async function isPrivate(directory: string): Promise<boolean> {
  const found = await lstat(directory);
  return found.isDirectory() && found.uid === process.getuid?.() && (found.mode & 0o077) === 0;
}

/** Identifies a file. The next one may have the same number, but not the same time of change. */
async function identity(path: string): Promise<string> {
  const { dev, ino, ctimeNs } = await stat(path, { bigint: true });
  return `${dev} ${ino} ${ctimeNs}`;
}
