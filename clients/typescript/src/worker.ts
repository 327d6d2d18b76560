import { setTimeout as sleep } from "node:timers/promises";
import { Claim, isOver } from "./claim.js";
import type { Client } from "./client.js";
import { BusyError, HubUnreachableError, NetworkError, NothingReadyError } from "./errors.js";
import type { ClaimOver, Claimed, Filter, ReadyFilter } from "./types.js";

/** One wait for work. The daemon waits, so a longer time costs nothing; a shorter one ends a stopped worker sooner. */
const WAIT_MS = 30_000;

/** Errors of a claim that pass by themselves. A worker that waits for work tries again. */
const PASSING = [BusyError, HubUnreachableError, NetworkError];

/**
 * The first and the longest pause after such an error. Each is up to twice as long as the one before, and random, so that many
 * workers do not come back at once.
 */
const SHORTEST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;

/** How a worker claims. */
export interface WorkerOptions {
  filter?: Filter;
  /** Only descendants of this bead. */
  under?: string;
  leaseMs?: number;
  /** Claim only what the remote confirms. */
  confirm?: boolean;
  /** End the loop when nothing is ready, instead of waiting for work, also while the hub or the remote is away. */
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
 * is kept as long as there is activity. A body that neither finishes nor hands over its bead gives it back, also when the loop
 * is left early.
 *
 * Workers that run at the same time need different actors or sessions: one that starts resumes what its actor holds without
 * a session or in the same one.
 */
export class Worker implements AsyncIterable<Claim> {
  private readonly stopping = new AbortController();

  constructor(
    private readonly client: Client,
    private readonly options: WorkerOptions = {},
  ) {}

  /** Ends the loop after the current bead. */
  stop(): void {
    this.stopping.abort();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Claim> {
    yield* this.resume();
    while (!this.stopped()) {
      const claimed = await this.claimNext();
      if (claimed === null) return;
      const claim = new Claim(this.client, claimed, false);
      if (this.stopped()) return claim.giveBack();
      yield* this.workOn(claim);
    }
  }

  /** Yields the beads that the actor still holds. Gives back those whose turn does not come. */
  private async *resume(): AsyncGenerator<Claim> {
    const held = (await this.client.claimMine(this.lease())).map((bead) => new Claim(this.client, bead, true));
    const first = held[0];
    let failed = false;
    try {
      for (let claim = first; claim && !this.stopped(); claim = held[0]) {
        const holds = claim === first || (await this.stillHolds(claim));
        held.shift();
        if (holds) yield* this.workOn(claim);
      }
    } catch (error) {
      failed = true;
      throw error;
    } finally {
      const ends = await Promise.allSettled(held.map((claim) => claim.giveBack()));
      const refused = ends.find((end) => end.status === "rejected");
      // An error that ended the loop is the more important one.
      if (refused && !failed) throw refused.reason;
    }
  }

  /** Claims a bead, waiting for work and through errors that pass. Returns `null` when the loop ends. */
  private async claimNext(): Promise<Claimed | null> {
    const { filter, under, once, confirm } = this.options;
    const ready: ReadyFilter = { filter: filter ?? {}, ...(under ? { under } : {}) };
    const wait = { wait_ms: once ? 0 : WAIT_MS, confirm: confirm ?? false };
    let failures = 0;
    while (!this.stopped()) {
      try {
        return await this.client.claimNext({ filter: ready, ...this.lease(), ...wait });
      } catch (error) {
        if (error instanceof NothingReadyError) {
          if (once) return null;
          failures = 0;
        } else if (once || !PASSING.some((kind) => error instanceof kind)) {
          throw error;
        } else {
          await this.pause(failures++);
        }
      }
    }
    return null;
  }

  /** Waits before it claims again, or until `stop()`. */
  private async pause(failures: number): Promise<void> {
    const longest = Math.min(LONGEST_PAUSE_MS, SHORTEST_PAUSE_MS * 2 ** failures);
    const pause = longest / 2 + (Math.random() * longest) / 2;
    await sleep(pause, undefined, { signal: this.stopping.signal }).catch(() => {});
  }

  private stopped(): boolean {
    return this.stopping.signal.aborted;
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
    claim.touch();
    const left = new AbortController();
    const beat = setInterval(() => void this.beat(claim), this.pauseMs(claim));
    void this.watch(claim, left.signal).catch(() => {});
    try {
      yield claim;
    } finally {
      left.abort();
      clearInterval(beat);
      await claim.giveBack();
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
