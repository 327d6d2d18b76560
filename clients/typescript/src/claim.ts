import type { Client } from "./client.js";
import { BeadsError } from "./errors.js";
import type { Brief, ClaimOver, Claimed, Closed, CloseFields, NoteAnswer } from "./types.js";

/** Something other than this worker ended the claim; `over` says why, if the daemon knows. */
export class ClaimEnded extends Error {
  constructor(
    bead: string,
    readonly over: ClaimOver | null,
  ) {
    super(`the claim on ${bead} is over: ${over?.reason ?? "unknown"}`);
    this.name = "ClaimEnded";
  }
}

/** A bead that this worker holds. */
export class Claim {
  readonly id: string;
  readonly title: string;
  readonly fence: string;
  /** Aborts when something other than this worker ended the claim; its reason is a `ClaimEnded`. */
  readonly signal: AbortSignal;
  isFinished = false;
  activeAt = performance.now();
  private readonly controller = new AbortController();

  constructor(
    readonly client: Client,
    readonly bead: Claimed,
    /** It was claimed before this worker started. */
    readonly resumed: boolean,
  ) {
    this.id = bead.id;
    this.title = bead.title;
    if (bead.fence === null) throw new TypeError("a claim has a fence");
    this.fence = bead.fence;
    this.signal = this.controller.signal;
  }

  /** Title, description, acceptance criteria, notes and finished blockers. */
  get brief(): Brief | null {
    return this.bead.brief ?? null;
  }

  /** Counts as activity: the lease is kept only while there is some. */
  touch(): void {
    this.activeAt = performance.now();
  }

  /** Adds a note under the fence of this claim. */
  note(text: string): Promise<NoteAnswer> {
    this.touch();
    return this.fenced(this.client.note(this.id, text, { fence: this.fence }));
  }

  /** Closes the bead under the fence of this claim. */
  async finish(reason = "", fields: CloseFields = {}): Promise<Closed> {
    return this.ending(this.client.close(this.id, { ...fields, reason, fence: this.fence }));
  }

  /** Offers the bead to another actor. */
  async handOver(to: string, text = ""): Promise<void> {
    await this.ending(this.client.handOver(this.id, to, { fence: this.fence, text }));
  }

  /** Asks a person and gives the claim back; the bead is ready again once there is an answer. */
  async ask(question: string, options: string[] = []): Promise<void> {
    await this.ending(this.client.ask(this.id, question, { fence: this.fence, options }));
  }

  /** Gives the claim back. */
  async release(reason = ""): Promise<void> {
    await this.ending(this.client.unclaim(this.id, { fence: this.fence, reason }));
  }

  /** Runs work, and rejects with `ClaimEnded` when the claim ends; the work gets the signal. Counts as activity. */
  async run<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    this.signal.throwIfAborted();
    const active = setInterval(() => this.touch(), 1000);
    let stop = (): void => {};
    const ended = new Promise<never>((_, reject) => {
      stop = () => reject(this.signal.reason as Error);
      this.signal.addEventListener("abort", stop);
    });
    try {
      return await Promise.race([work(this.signal), ended]);
    } finally {
      clearInterval(active);
      this.signal.removeEventListener("abort", stop);
    }
  }

  /** Marks the end of the claim as this worker's own: the daemon also reports it, possibly before it replies. */
  private async ending<T>(call: Promise<T>): Promise<T> {
    this.isFinished = true;
    const settled = call.catch((error: unknown) => {
      this.isFinished = false;
      throw error;
    });
    return this.fenced(settled);
  }

  /** Throws `ClaimEnded` when a call under the fence is refused because the claim is over. */
  private async fenced<T>(call: Promise<T>): Promise<T> {
    try {
      return await call;
    } catch (error) {
      if (!isOver(error)) throw error;
      this.end(null);
      throw this.signal.aborted ? this.signal.reason : new ClaimEnded(this.id, null);
    }
  }

  /** Releases the bead unless the claim is over. */
  async giveBack(): Promise<void> {
    if (this.isFinished || this.signal.aborted) return;
    try {
      await this.release("the worker stopped before it was finished");
    } catch (error) {
      if (!(error instanceof ClaimEnded)) throw error;
    }
  }

  end(over: ClaimOver | null): void {
    if (this.isFinished || this.signal.aborted) return;
    const reported = this.client.claimsOver.find((one) => one.fence === this.fence);
    this.controller.abort(new ClaimEnded(this.id, over ?? reported ?? null));
  }
}

/** What a call under a fence answers when its claim is over. */
const OVER = new Set(["stale_claim", "not_holder", "closed", "cancelled", "deleted", "archived"]);

/** Returns whether an error says that the claim is over. */
export function isOver(error: unknown): boolean {
  return error instanceof BeadsError && OVER.has(error.code);
}
