// A night of a fleet, for pictures: the beads are imported into a store; what a store only learns over hours (claims, signs
// of life, a failing sync) is put into the snapshot on its way to the page. Always the same for one size.
import { bead } from './board_support.mjs';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** The last 07:42 UTC before now. */
export const NOW = (() => {
  const at = new Date();
  at.setUTCHours(7, 42, 0, 0);
  return at.getTime() < Date.now() - HOUR ? at.getTime() : at.getTime() - 24 * HOUR;
})();
export const LEFT = NOW - 9 * HOUR - 12 * MINUTE;

const EPICS = [['rel', 'Release 2.4'], ['led', 'Double-entry ledger on the new schema'], ['imp', 'Import from the old billing system'], ['auth', 'Sessions v3: sign in without passwords'], ['rep', 'Monthly reports as PDF and CSV'], ['web', 'Web console: accounts and statements'], ['ci', 'CI under ten minutes'], ['obs', 'Traces and alerts that people read'], ['doc', 'Documentation for operators']];
const VERBS = ['Import', 'Backfill', 'Compare', 'Remove', 'Rotate', 'Publish', 'Load test', 'Rehearse', 'Reject', 'Trace', 'Freeze', 'Normalise', 'Sign', 'Archive', 'Export'];
const THINGS = ['payments', 'postings for 2025', 'totals per month', 'the password columns', 'the signing keys in staging', 'a sample report', '2,000 transfers a second', 'the rollback', 'rows with a reason', 'the queue', 'reports of closed periods', 'account names at the border', 'statements of a month', 'attachments', 'old sessions'];
const NOTES = ['Totals differ by 1 for JPY: rounded before the sum.', 'Payments of 2024 done: 412,906 rows, 31 rejected.', 'First working day, holidays of ZH.', 'A frozen report is a file; its hash is in the ledger.', 'Trim, NFC, single spaces. The database keeps what was typed.', '1,640 a second. Next: the index of the postings.', 'Opening balance comes from the ledger, no second source.', 'Two services are configured in staging; both have a valid key.'];

/** Returns a generator of numbers below 1. */
function numbers(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** The lines to import and a function that completes the snapshot. */
export function demo(count) {
  const random = numbers(count);
  const pick = (list) => list[Math.floor(random() * list.length)];
  const epicCount = Math.max(1, Math.min(count > 1000 ? 60 : 9, Math.round(count / (count > 1000 ? 160 : 50))));
  const epics = Array.from({ length: epicCount }, (_, i) => ({ id: `bd-${EPICS[i]?.[0] ?? `e${i}`}`, title: EPICS[i]?.[1] ?? `${pick(VERBS)} ${pick(THINGS)}, part ${i}` }));
  const tasks = [];
  for (let i = 0; i < count - epicCount; i++) {
    const epic = epics[i % epicCount];
    const place = Math.floor(i / epicCount) + 1;
    tasks.push({ id: `${epic.id}.${place}`, epic: epic.id, place, title: `${VERBS[(i * 7) % VERBS.length]} ${THINGS[(i * 11 + place) % THINGS.length]}`, priority: 1 + Math.floor(random() * 3), created: LEFT - Math.floor(random() * 96 * HOUR), minutes: 30 * (1 + Math.floor(random() * 5)), after: [] });
  }
  const names = count <= 5 ? ['claude-1', 'codex-1'] : [...Array.from({ length: 7 }, (_, i) => `claude-${i + 1}`), ...Array.from({ length: 6 }, (_, i) => `codex-${i + 1}`), 'gemini-1', 'gemini-2', 'gemini-3', 'amp-1', 'amp-2'];
  const actors = names.map((name) => `${name}@${name.startsWith('amp') ? 'build1' : 'build2'}`);
  schedule(tasks, actors, random);
  const open = tasks.filter((task) => !task.closed && !task.holder);
  // Some of what is open was found during the night.
  open.forEach((task, index) => { if (index % 9 === 4) task.created = LEFT + Math.floor(random() * 9 * HOUR); });
  // What is left waits for what is in hand, in short chains.
  const heldOf = (epic) => tasks.filter((task) => task.epic === epic && task.holder);
  for (const epic of epics) {
    const own = open.filter((task) => task.epic === epic.id);
    own.forEach((task, index) => {
      if (index % 4 === 3 || random() < 0.25) return;
      const before = index % 3 === 0 ? heldOf(epic.id)[0] ?? heldOf(pick(epics).id)[0] : own[index - 1];
      if (before) task.after.push(before.id);
      if (random() < 0.08) task.after.push(...heldOf(pick(epics).id).slice(0, 1).map((one) => one.id));
    });
  }
  const lines = epics.map((epic) => bead({ id: epic.id, title: epic.title, type: 'epic', priority: 1, at: iso(LEFT - 120 * HOUR) }));
  for (const task of tasks) lines.push(bead({ id: task.id, title: task.title, parent: task.epic, after: [...new Set(task.after)], priority: task.priority, at: iso(task.created), estimated_minutes: task.minutes, labels: [['data', 'web', 'ops'][task.place % 3]], ...(task.closed ? { status: 'closed', closed_at: iso(task.closed), updated_at: iso(task.closed) } : {}) }));
  const hasCycle = count > 100;
  if (hasCycle) lines.push(...[['bd-w9c', 'Retry policy of the webhook worker', 'bd-x2d'], ['bd-x2d', 'Webhook worker gives up after a day', 'bd-w9c']].map(([id, title, other]) => bead({ id, title, after: [other], at: iso(LEFT - HOUR) })));
  return { lines, complete: (snapshot) => complete(snapshot, tasks, actors, open) };
}

const iso = (ms) => new Date(ms).toISOString();

/** Gives every agent beads to close during the night, and one in hand at its end. */
function schedule(tasks, actors, random) {
  const closes = Math.min(Math.floor(tasks.length * 0.45), tasks.length < 1000 ? 57 : 1200);
  const mean = (6.6 * HOUR * actors.length) / Math.max(1, closes);
  const queue = [...tasks];
  const earlier = Math.floor(tasks.length * 0.25);
  for (const task of queue.splice(0, earlier)) task.closed = LEFT - Math.floor(random() * 90 * HOUR);
  for (const [index, actor] of actors.entries()) {
    let at = LEFT + Math.floor(random() * 40 * MINUTE);
    while (queue.length > actors.length) {
      const took = mean * (0.5 + random());
      if (at + took > NOW - (/gemini-2|claude-7/.test(actor) ? 170 : 20) * MINUTE) break;
      const task = queue.shift();
      Object.assign(task, { closer: actor, claimed: at, closed: at + took });
      at += took + random() * 20 * MINUTE;
    }
    if (index === 12 || queue.length < 2) continue;
    const task = queue.shift();
    Object.assign(task, { holder: actor, since: Math.min(at, NOW - 10 * MINUTE) });
    task.notes = Array.from({ length: Math.floor((NOW - task.since) / (22 * MINUTE)) }, (_, i) => task.since + (i + 1) * 20 * MINUTE);
  }
}

/** Puts the night into a snapshot. */
function complete(snapshot, tasks, actors, open) {
  const byId = new Map(snapshot.beads.map((one) => [one.id, one]));
  for (const task of tasks) {
    const one = byId.get(task.id);
    if (!one) continue;
    if (task.closer) Object.assign(one, { closer: task.closer, claimed: task.claimed });
    if (task.holder) Object.assign(one, { status: 'in_progress', assignee: task.holder, claimed: task.since, lease: NOW + HOUR, notes: task.notes });
  }
  const lastSync = NOW - 44 * MINUTE;
  const isLarge = tasks.length > 100;
  const agents = actors.map((actor, index) => {
    const held = tasks.find((task) => task.holder === actor);
    const closed = tasks.filter((task) => task.closer === actor).length;
    const isGone = isLarge && actor.startsWith('gemini-2');
    const isSlow = isLarge && actor.startsWith('claude-7');
    const isAway = isLarge && actor.startsWith('amp');
    const seen = isGone ? NOW - 71 * MINUTE : isSlow ? NOW - 3 * MINUTE : isAway ? lastSync : NOW - (6 + ((index * 37) % 500)) * 1000;
    if (held && (isGone || isSlow)) Object.assign(held, { since: Math.min(held.since, NOW - 150 * MINUTE) });
    const holds = held ? [{ id: held.id, title: held.title, since: iso(held.since), expires: iso(isGone ? NOW + 49 * MINUTE : NOW + (80 + ((index * 13) % 40)) * MINUTE), expired: false, offered: false }] : [];
    return { actor, state: isGone ? 'dead' : isSlow ? 'hung' : isAway ? 'quiet' : held ? 'working' : 'idle', last_seen: iso(seen), last_write: iso(isSlow ? NOW - 130 * MINUTE : seen), holds, sessions: isAway ? [] : [{ session: `s${index}`, last_seen: iso(seen), gone: isGone }], closed, created: 0, notes: closed, busy_ms: 0 };
  });
  const asks = open.find((task) => task.after.length === 0 && open.some((other) => other.after.includes(task.id))) ?? open[0];
  const conflicted = tasks.find((task) => task.holder) ?? tasks[0];
  if (asks && byId.get(asks.id)) byId.get(asks.id).asks = true;
  const feed = [];
  const holders = tasks.filter((task) => task.holder);
  for (let i = 0; i < Math.min(40, holders.length * 3); i++) {
    const task = holders[i % holders.length];
    feed.push({ type: i % 6 === 5 ? 'closed' : 'note', at: iso(NOW - i * 3 * MINUTE), id: task.id, title: task.title, by: task.holder, text: NOTES[i % NOTES.length] });
  }
  const incidents = isLarge ? [['asked', 6 * HOUR + 28 * MINUTE], ['reopened', 5 * HOUR + 20 * MINUTE], ['conflict', 2 * HOUR + 28 * MINUTE], ['expired', 71 * MINUTE], ['sync_failed', 44 * MINUTE]].map(([type, ago]) => ({ type, at: iso(NOW - ago), id: conflicted.id, title: conflicted.title, by: conflicted.holder })) : [];
  const held = new Set(holders.map((task) => task.id));
  Object.assign(snapshot.about, { name: 'ledger-api', host: 'build2', actor: 'ann@build2' });
  Object.assign(snapshot.pulse, {
    now: NOW, agents,
    conflicts: isLarge ? [{ id: 'c1', bead: conflicted.id, field: 'acceptance_criteria', value: 'Totals match the old system within 0.1 %', current: 'Totals match the old system to the cent', by: actors[12], at: iso(NOW - 2 * HOUR - 33 * MINUTE), won_by: actors[16], won_at: iso(NOW - 2 * HOUR - 28 * MINUTE) }] : [],
    queue: snapshot.pulse.queue.filter((id) => !held.has(id)),
    feed: { events: feed.reverse() }, incidents: { events: incidents },
  });
  snapshot.pulse.status.questions = isLarge && asks ? [{ question: 'q1', id: asks.id, title: asks.title, asked_by: actors[1], at: iso(NOW - 6 * HOUR - 28 * MINUTE), text: 'Which key service signs from now on, kms-eu or vault-2?', options: [] }] : [];
  snapshot.pulse.status.sync = isLarge ? { remote: 'origin', local_only: false, unsynced: 23, last_success: iso(lastSync), last_error: { since: iso(lastSync), attempts: 11, message: 'origin refuses the login: authentication failed' } } : { remote: 'origin', local_only: false, unsynced: 0, last_success: iso(NOW - 2 * MINUTE), last_error: null };
  return snapshot;
}
