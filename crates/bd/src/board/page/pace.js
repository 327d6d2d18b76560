// How often a tab draws: in proportion to what drawing costs and to how many tabs draw. All tabs together take the same
// share of the machine, because agents work on it, too.

/** After drawing, this many times as long as that took passes before the next time, in a tab that is alone and with others. */
const REST_FACTOR = 4;
const REST_FACTOR_OF_MANY = 9;

/** The longest rest of a tab that is alone, and with others. */
const MAX_REST_MS = 1_000;
const MAX_REST_OF_MANY_MS = 4_000;

/** How many tabs of this browser are visible. */
let drawing = 1;

/** @param {number} tabs */
export function setVisibleTabs(tabs) {
  drawing = Math.max(1, tabs);
}

/** When something was drawn last, and how long that took. */
export class Pace {
  constructor() {
    this.ended = 0;
    this.took = 0;
  }

  /** How long to wait before drawing again, in milliseconds. */
  rest() {
    const [factor, most] = drawing > 1 ? [REST_FACTOR_OF_MANY * drawing, MAX_REST_OF_MANY_MS] : [REST_FACTOR, MAX_REST_MS];
    return Math.max(0, this.ended + Math.min(factor * this.took, most) - performance.now());
  }

  /** Measures what drawing costs, the browser's own part of it included. @param {() => void} draw */
  measure(draw) {
    const start = performance.now();
    draw();
    this.ended = performance.now();
    this.took = this.ended - start;
    // The next task runs when the browser has laid out and painted what was drawn.
    afterPaint(() => {
      this.ended = performance.now();
      this.took = this.ended - start;
    });
  }
}

const channel = typeof MessageChannel === 'undefined' ? null : new MessageChannel();
/** @type {(() => void)[]} */
const waiting = [];
if (channel) channel.port1.onmessage = () => waiting.splice(0).forEach((run) => run());

/** @param {() => void} run */
function afterPaint(run) {
  if (waiting.push(run) === 1) channel?.port2.postMessage(null);
}
