import type { Client } from "./client.js";
import { BeadsError, ClosedError, NotHolderError, NothingReadyError, StaleClaimError } from "./errors.js";
import type { Brief, ClaimOver, Claimed, Closed, CloseFields, Filter, NoteAnswer, ReadyFilter } from "./types.js";

/** One wait for work. The daemon waits, so a longer time costs nothing; a shorter one ends a stopped worker sooner. */
const WAIT_MS = 30_000;

/** The claim ended while work was going on; `over` says why, if the daemon knows. */
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
  /** Aborts when the claim ended without this worker's doing; its reason is a `ClaimEnded`. */
  readonly signal: AbortSignal;
  isFinished = false;
  activeAt = Date.now();
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
    this.activeAt = Date.now();
  }

  /** Adds a note under the fence of this claim. */
  note(text: string): Promise<NoteAnswer> {
    this.touch();
    return this.client.note(this.id, text, { fence: this.fence });
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
    const active = setInterval(() => this.touch(), 1000);
    let stop = (): void => {};
    const ended = new Promise<never>((_, reject) => {
      stop = () => reject(this.signal.reason as Error);
      if (this.signal.aborted) stop();
      this.signal.addEventListener("abort", stop);
    });
    try {
      return await Promise.race([work(this.signal), ended]);
    } finally {
      clearInterval(active);
      this.signal.removeEventListener("abort", stop);
    }
  }

  /** Ends the claim by this worker's doing: the daemon reports that end, too, and may do so before it replies. */
  private async ending<T>(call: Promise<T>): Promise<T> {
    this.isFinished = true;
    try {
      return await call;
    } catch (error) {
      this.isFinished = false;
      if (isOver(error)) this.end(null);
      throw error;
    }
  }

  end(over: ClaimOver | null): void {
    if (!this.isFinished && !this.signal.aborted) this.controller.abort(new ClaimEnded(this.id, over));
  }
}

/** How a worker claims. */
export interface WorkerOptions {
  filter?: Filter;
  /** Only descendants of this bead. */
  under?: string;
  leaseMs?: number;
  /** Claim only what the remote confirms. */
  confirm?: boolean;
  /** End the loop when nothing is ready, instead of waiting for work. */
  once?: boolean;
  /** How often the lease is renewed. */
  beatMs?: number;
  /** After this time without activity the lease runs out. */
  quietMs?: number;
}

/**
 * Yields claimed beads: `for await (const claim of new Worker(client))`.
 *
 * Beads that the actor still holds come first, so a worker that was restarted resumes. While the loop's body runs, the lease
 * is kept as long as there is activity. A body that neither finishes nor hands over its bead gives it back.
 */
export class Worker implements AsyncIterable<Claim> {
  private stopped = false;

  constructor(
    private readonly client: Client,
    private readonly options: WorkerOptions = {},
  ) {}

  /** Ends the loop after the current bead. */
  stop(): void {
    this.stopped = true;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Claim> {
    for (const held of await this.client.claimMine(this.lease())) {
      if (this.stopped) return;
      yield* this.workOn(held, true);
    }
    const { filter, under, once, confirm } = this.options;
    const ready: ReadyFilter = { filter: filter ?? {}, ...(under ? { under } : {}) };
    while (!this.stopped) {
      let claimed: Claimed;
      try {
        const wait = { wait_ms: once ? 0 : WAIT_MS, confirm: confirm ?? false };
        claimed = await this.client.claimNext({ filter: ready, ...this.lease(), ...wait });
      } catch (error) {
        if (!(error instanceof NothingReadyError)) throw error;
        if (once) return;
        continue;
      }
      yield* this.workOn(claimed, false);
    }
  }

  private lease(): { lease_ms?: number } {
    return this.options.leaseMs === undefined ? {} : { lease_ms: this.options.leaseMs };
  }

  private async *workOn(claimed: Claimed, resumed: boolean): AsyncGenerator<Claim> {
    const claim = new Claim(this.client, claimed, resumed);
    const state = { over: false };
    const beat = setInterval(() => void this.beat(claim), this.options.beatMs ?? 20_000);
    void this.watch(claim, state).catch(() => {});
    try {
      yield claim;
    } finally {
      state.over = true;
      clearInterval(beat);
      if (!claim.isFinished && !claim.signal.aborted) {
        await claim.release("the worker stopped before it was finished").catch((error: unknown) => {
          if (!isOver(error)) throw error;
        });
      }
    }
  }

  /** Renews the lease while there is activity. */
  private async beat(claim: Claim): Promise<void> {
    if (claim.signal.aborted || Date.now() - claim.activeAt > (this.options.quietMs ?? 900_000)) return;
    try {
      await this.client.renew(claim.id, { fence: claim.fence, ...this.lease() });
    } catch (error) {
      // A store that is busy or damaged does not end the claim; the next beat tries again.
      if (isOver(error)) claim.end(null);
    }
  }

  /** Waits for the end of the claim. A failure leaves it to the next beat to notice. */
  private async watch(claim: Claim, state: { over: boolean }): Promise<void> {
    const call = { wait: { ms: WAIT_MS, call: { query: { claim_over: { fence: claim.fence } } } } };
    while (!state.over) {
      const answer = (await this.client.request(call)) as { over?: boolean; claim_over?: ClaimOver } | null;
      if (!answer?.over) continue;
      if (!state.over) claim.end(answer.claim_over ?? null);
      return;
    }
  }
}

function isOver(error: unknown): boolean {
  return (
    error instanceof BeadsError &&
    (error instanceof StaleClaimError || error instanceof NotHolderError || error instanceof ClosedError)
  );
}
