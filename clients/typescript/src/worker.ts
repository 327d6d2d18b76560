import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "./client.js";
import { BeadsError, NothingReadyError } from "./errors.js";
import type { Brief, ClaimOver, Claimed, Closed, CloseFields, Filter, NoteAnswer, ReadyFilter } from "./types.js";

/** One wait for work. The daemon waits, so a longer time costs nothing; a shorter one ends a stopped worker sooner. */
const WAIT_MS = 30_000;

/** The claim ended without this worker's doing; `over` says why, if the daemon knows. */
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

  end(over: ClaimOver | null): void {
    if (this.isFinished || this.signal.aborted) return;
    const reported = this.client.claimsOver.find((one) => one.fence === this.fence);
    this.controller.abort(new ClaimEnded(this.id, over ?? reported ?? null));
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
 *
 * Workers that run at the same time need different actors or sessions: one that starts resumes what its actor holds without
 * a session or in the same one.
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
    const held = (await this.client.claimMine(this.lease())).map((bead) => new Claim(this.client, bead, true));
    const first = held[0];
    try {
      for (let claim = first; claim && !this.stopped; claim = held[0]) {
        held.shift();
        if (claim === first || (await this.stillHolds(claim))) yield* this.workOn(claim);
      }
    } finally {
      // What it claimed again and did not come to.
      for (const claim of held) await giveBack(claim);
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
      yield* this.workOn(new Claim(this.client, claimed, false));
    }
  }

  /** Renews the lease of a bead whose turn came late. */
  private async stillHolds(claim: Claim): Promise<boolean> {
    try {
      await this.client.renew(claim.id, { fence: claim.fence, ...this.lease() });
      return true;
    } catch (error) {
      if (!isOver(error)) throw error;
      return false;
    }
  }

  private lease(): { lease_ms?: number } {
    return this.options.leaseMs === undefined ? {} : { lease_ms: this.options.leaseMs };
  }

  private async *workOn(claim: Claim): AsyncGenerator<Claim> {
    const left = new AbortController();
    const beat = setInterval(() => void this.beat(claim), this.pauseMs(claim));
    void this.watch(claim, left.signal).catch(() => {});
    try {
      yield claim;
    } finally {
      left.abort();
      clearInterval(beat);
      await giveBack(claim);
    }
  }

  /** Returns how long to wait between renewals: a third of the lease at most. */
  private pauseMs(claim: Claim): number {
    const most = this.options.beatMs ?? 20_000;
    const expires = claim.bead.assignee_expires;
    const leaseMs = this.options.leaseMs ?? (expires ? Date.parse(expires) - Date.now() : 0);
    return leaseMs > 0 ? Math.min(most, leaseMs / 3) : most;
  }

  /** Renews the lease while there is activity. */
  private async beat(claim: Claim): Promise<void> {
    if (claim.signal.aborted || performance.now() - claim.activeAt > (this.options.quietMs ?? 900_000)) return;
    try {
      await this.client.renew(claim.id, { fence: claim.fence, ...this.lease() });
    } catch (error) {
      // A store that is busy or damaged does not end the claim; the next beat tries again.
      if (isOver(error)) claim.end(null);
    }
  }

  /** Waits for the end of the claim, until the body is left. */
  private async watch(claim: Claim, signal: AbortSignal): Promise<void> {
    const call = { wait: { ms: WAIT_MS, call: { query: { claim_over: { fence: claim.fence } } } } };
    while (!signal.aborted) {
      let answer: { over?: boolean; claim_over?: ClaimOver } | null;
      try {
        answer = (await this.client.request(call, { signal })) as typeof answer;
      } catch {
        await sleep(this.pauseMs(claim), undefined, { signal });
        continue;
      }
      if (answer?.over && !signal.aborted) return claim.end(answer.claim_over ?? null);
    }
  }
}

/** Releases the bead unless the claim is over. */
async function giveBack(claim: Claim): Promise<void> {
  if (claim.isFinished || claim.signal.aborted) return;
  try {
    await claim.release("the worker stopped before it was finished");
  } catch (error) {
    if (!(error instanceof ClaimEnded)) throw error;
  }
}

/** What a call under a fence answers when its claim is over. */
const OVER = new Set(["stale_claim", "not_holder", "closed", "cancelled", "deleted", "archived"]);

function isOver(error: unknown): boolean {
  return error instanceof BeadsError && OVER.has(error.code);
}
