// The shell: the bar, the views by address, the state of the connection.

import { messageOf } from './actions.js';
import { exported, read, Refused, TOKEN_ADDRESS } from './api.js';
import { beads, lastSync, markSeen } from './beads.js';
import { BeadView } from './bead.js';
import { BoardView } from './cards.js';
import { h, icon, patch, s } from './dom.js';
import { readSnapshot } from './first.js';
import { GraphView } from './graph.js';
import { listenForKeys, showKeys, VIEWS } from './keys.js';
import { NeedsView, needs } from './needs.js';
import { NightView } from './night.js';
import { NowView } from './now.js';
import { Pace, setVisibleTabs } from './pace.js';
import { SearchBox } from './search.js';
import { connect } from './stream.js';
import { restoreTheme } from './theme.js';
import { View, currentRoute } from './view.js';
import { asSentence, clock, counted, duration, fullTime, toMs } from './words.js';

customElements.define('bd-search', SearchBox);
customElements.define('bd-now', NowView);
customElements.define('bd-needs', NeedsView);
customElements.define('bd-cards', BoardView);
customElements.define('bd-graph', GraphView);
customElements.define('bd-night', NightView);
customElements.define('bd-bead', BeadView);

/** @type {Record<string, [string, string]>} the title and the element of each view */
const TITLES = { now: ['Now', 'bd-now'], needs: ['Needs you', 'bd-needs'], board: ['Board', 'bd-cards'], graph: ['Graph', 'bd-graph'], night: ['Last night', 'bd-night'], bead: ['Bead', 'bd-bead'] };

/** @param {string} view */
const titleOf = (view) => (Object.hasOwn(TITLES, view) ? TITLES[view] : TITLES.now);

class Board extends HTMLElement {
  connectedCallback() {
    /** @type {View | null} */
    this.view = null;
    this.problem = '';
    this.stale = '';
    /** What the server says when it refuses the stream. */
    this.refusal = '';
    /** Whether the stream is open. Until then, the page does not say that it is live. */
    this.isFollowing = false;
    /** @type {import('./reader.js').StreamMessage[] | null} what came while everything is read again */
    this.waiting = null;
    this.reloads = 0;
    this.findingsRead = 0;
    this.barTimer = 0;
    this.startTimer = 0;
    this.retry = () => void this.start();
    this.barPace = new Pace();
    restoreTheme();
    this.bar = h('header.bar', { role: 'banner' });
    this.search = /** @type {SearchBox} */ (document.createElement('bd-search'));
    this.search.className = 'find';
    this.notice = h('div.notice', { 'aria-live': 'polite' });
    this.main = h('main', { id: 'main' });
    this.tabs = h('nav.tabs', { 'aria-label': 'Views' });
    this.keysBar = h('footer.keys');
    const hatches = s('svg.hatches', { 'aria-hidden': 'true', width: 0, height: 0 }, s('defs', {}, hatch('h-wait', 'wait', 'M-2 2l4-4M0 6l6-6M4 8l4-4'), hatch('h-bad', 'bad', 'M-2 4l4 4M0 0l6 6M4-2l4 4'), hatch('h-faint', 'faint', 'M1.500 0v6M4.500 0v6')));
    this.append(h('a.skip', { href: '#main' }, 'Skip to the content'), this.bar, this.notice, this.main, this.keysBar, this.tabs, hatches);
    listenForKeys(() => this.view ?? null);
    addEventListener('hashchange', () => {
      // The address with a new token, opened in this tab.
      if (TOKEN_ADDRESS.test(location.hash)) location.reload();
      else this.show();
    });
    beads.addEventListener('change', () => this.scheduleBar());
    // Relative times move on, but only while the page is visible.
    setInterval(() => this.tick(), 30_000);
    addEventListener('pagehide', markSeen);
    document.addEventListener('visibilitychange', () => {
      markSeen();
      this.tick();
    });
    void this.start();
  }

  /** Time has passed, or the page became visible. */
  tick() {
    if (document.visibilityState !== 'visible' || !beads.loaded || exported) return;
    markSeen();
    if (!beads.live) return;
    beads.tick();
    if (Date.now() - (this.findingsRead ?? 0) > FINDINGS_MS) this.readFindings();
  }

  /** Reads what `bd validate` finds: no event says that files were damaged. */
  readFindings() {
    this.findingsRead = Date.now();
    void read('findings').then((findings) => {
      beads.findings = Array.isArray(findings) ? findings : [];
      beads.touch();
    }, () => {
      this.findingsRead = 0;
    });
  }

  async start() {
    if (exported) {
      beads.heard = exported.exported;
      beads.load(exported.snapshot);
      this.show();
      return;
    }
    this.showBar();
    clearTimeout(this.startTimer);
    const slow = setTimeout(() => { if (!beads.loaded) this.main?.replaceChildren(greyLines()); }, LOADING_MS);
    try {
      const snapshot = await readSnapshot();
      clearTimeout(slow);
      this.problem = '';
      beads.live = true;
      beads.load(snapshot);
      this.show();
      this.retry = connect(snapshot.cursor, (message) => this.receive(message));
      setTimeout(() => { if (!this.isFollowing) this.setLive(false); }, OPEN_MS);
      this.readFindings();
    } catch (error) {
      clearTimeout(slow);
      this.main?.replaceChildren();
      this.problem = error instanceof Refused && error.status === 401 ? 'token' : error instanceof Refused ? error.message : 'offline';
      this.showBar();
      if (this.problem !== 'token') this.startTimer = setTimeout(() => void this.start(), 3_000);
    }
  }

  /** @param {import('./reader.js').StreamMessage} message */
  receive(message) {
    const isNews = message.type === 'change' || message.type === 'pulse';
    if (isNews) {
      beads.heard = Date.now();
      if (!this.waiting) this.stale = '';
    }
    // An older snapshot that is still on its way would overwrite it.
    if (isNews && this.waiting) this.waiting.push(message);
    else if (message.type === 'change') beads.change(message.data);
    else if (message.type === 'pulse') beads.setPulse(message.data);
    else if (message.type === 'tabs') setVisibleTabs(message.data);
    else if (message.type === 'open') this.opened();
    else if (message.type === 'lost') this.setLive(false, message.data?.heard);
    else if (message.type === 'failed') this.stale = `The daemon does not answer: ${message.data.message}`;
    else if (message.type === 'restart') void this.reload();
    else if (message.type === 'refused') this.refused(message.data);
    this.scheduleBar();
  }

  opened() {
    this.isFollowing = true;
    this.refusal = '';
    if (this.problem === 'token') this.problem = '';
    this.setLive(true);
  }

  /** @param {{ status: number, message: string }} refusal */
  refused({ status, message }) {
    this.refusal = message;
    if (status !== 401) return;
    this.setLive(false);
    this.problem = 'token';
  }

  /** Draws the bar soon: several changes at once, and tabs in the background, draw it once. */
  scheduleBar() {
    const pace = this.barPace;
    if (this.barTimer || !pace) return;
    this.barTimer = setTimeout(() => {
      this.barTimer = 0;
      pace.measure(() => this.showBar());
    }, document.visibilityState === 'visible' ? pace.rest() : 1_000);
  }

  /** Reads everything again, without reloading the page: the log no longer reaches back to our cursor. What comes meanwhile follows it. */
  async reload() {
    const waiting = this.waiting ?? /** @type {import('./reader.js').StreamMessage[]} */ ([]);
    this.waiting = waiting;
    // A snapshot that was asked for before the latest cursor may be too old.
    this.reloads = (this.reloads ?? 0) + 1;
    const turn = this.reloads;
    let snapshot = null;
    while (!snapshot) {
      snapshot = await readSnapshot().catch((error) => {
        this.stale = `Changes are missing here, and reading everything again failed: ${messageOf(error)}. The page tries again.`;
        this.scheduleBar();
      });
      if (!snapshot) await new Promise((resolve) => setTimeout(resolve, READ_AGAIN_AFTER_MS));
      if (turn !== this.reloads) return;
    }
    this.stale = '';
    beads.load(snapshot);
    this.waiting = null;
    for (const message of waiting) this.receive(message);
    this.scheduleBar();
  }

  /** @param {boolean} live @param {number} [heard] when the last byte came */
  setLive(live, heard = 0) {
    if (!live) this.isFollowing = false;
    if (live === beads.live) return;
    // The worker may have heard the server when this tab got nothing.
    if (!live) beads.heard = Math.max(beads.heard, heard);
    beads.live = live;
    this.problem = live ? '' : 'offline';
    beads.touch();
  }

  show() {
    if (!beads.loaded || !this.main) return;
    const route = currentRoute();
    const [title, tag] = titleOf(route.view);
    if (this.view?.localName !== tag) {
      this.view = /** @type {View} */ (document.createElement(tag));
      this.main.replaceChildren(this.view);
      scrollTo(0, 0);
    }
    const count = needs().length;
    document.title = `${count ? `(${count}) ` : ''}${route.view === 'bead' ? route.rest[0] : title} · ${beads.about.name}`;
    this.showBar();
  }

  showBar() {
    if (!this.bar || !this.search || !this.notice || !this.keysBar || !this.tabs) return;
    // Nothing is shown before its place is known.
    if (!beads.loaded && !this.problem) return;
    const route = currentRoute();
    const count = beads.loaded ? needs().length : 0;
    const links = VIEWS.map((view) => h('a', { href: `#/${view}`, 'aria-current': route.view === view ? 'page' : null }, TITLES[view][0], view === 'needs' && count ? h('span.count', { 'aria-label': `${count} things` }, count) : null));
    const wanted = h('header.bar', { role: 'banner' }, h('div.repo', {}, beads.about.name || 'bd board', h('span', {}, beads.about.host ? `on ${beads.about.host}` : '')), h('nav.views', { 'aria-label': 'Views', 'data-key': 'views' }, links), h('div.findplace', { 'data-key': 'find', 'data-keep': '' }), h('div.truth', { 'data-key': 'truth' }, ...this.truth()));
    patch(this.bar, wanted);
    const place = this.bar.querySelector('.findplace');
    if (place && this.search.parentElement !== place) place.append(this.search);
    patch(this.tabs, h('nav.tabs', { 'aria-label': 'Views' }, links.map((link) => link.cloneNode(true))));
    patch(this.notice, h('div.notice', { 'aria-live': 'polite' }, this.banner()));
    const retry = this.notice.querySelector('[data-retry]');
    if (retry instanceof HTMLElement && !retry.onclick) retry.onclick = () => this.retry?.();
    document.documentElement.toggleAttribute('data-offline', beads.loaded && !exported && !beads.live);
    const keys = this.view?.keys() ?? [];
    patch(this.keysBar, h('footer.keys', {}, keys.map(([key, what]) => h('span', {}, h('b', {}, key), what)), h('button.end', { type: 'button', 'data-keys': '' }, h('b', {}, '?'), 'all keys')));
    const all = this.keysBar.querySelector('[data-keys]');
    if (all instanceof HTMLElement && !all.onclick) all.onclick = showKeys;
    if (beads.loaded) {
      const [title] = titleOf(route.view);
      document.title = `${count ? `(${count}) ` : ''}${route.view === 'bead' ? route.rest[0] : title} · ${beads.about.name}`;
    }
  }

  /** Whether what is shown is true: the state of the sync and of the stream. @returns {Node[]} */
  truth() {
    const sync = beads.pulse?.status?.sync;
    if (!beads.loaded) return [];
    const state = exported ? h('span', { 'data-key': 'live' }, 'file') : beads.live ? h(this.isFollowing ? 'span.live' : 'span.faint', { 'data-key': 'live' }, this.isFollowing ? 'live' : 'connecting') : h('span.wait.mid', { 'data-key': 'live' }, icon('slow'), 'offline');
    if (!sync) return [state];
    if (sync.last_error) return [h('span.bad.mid', { 'data-key': 'sync', title: sync.last_error.message }, icon('sync'), `no sync for ${duration(beads.now() - toMs(sync.last_error.since))}`), state];
    if (sync.local_only || !sync.remote) return [h('span', { 'data-key': 'sync', title: 'This store has no remote or is not published' }, 'local only'), state];
    return [h('span', { 'data-key': 'sync', title: lastSync() ? fullTime(lastSync()) : '' }, lastSync() ? `synced ${clock(lastSync(), beads.now())}${sync.unsynced ? `, ${counted(sync.unsynced, 'change')} waiting` : ''}` : 'not synced yet'), state];
  }

  banner() {
    if (exported) {
      const part = exported.of > beads.all.size ? ` ${beads.all.size} of ${exported.of} beads: unfinished, or closed in the last 24 hours.` : '';
      return h('div.banner.ro', { 'data-key': 'banner' }, icon('lock'), `Read-only. State of ${fullTime(exported.exported)}; durations count to then.${part}`);
    }
    if (this.problem === 'token') return h('div.banner.err', { role: 'alert', 'data-key': 'banner' }, icon('lock'), 'The token is missing or was replaced. Open the address that ', h('code', {}, 'bd board'), ' prints.');
    const again = () => h('button.btn.word', { type: 'button', 'data-retry': '' }, 'Try now');
    if (this.problem === 'offline' && this.refusal) return h('div.banner.off', { 'data-key': 'banner' }, icon('slow'), `${asSentence(this.refusal)} You see ${clock(beads.heard, Date.now())}.`, again());
    if (this.problem === 'offline') return h('div.banner.off', { 'data-key': 'banner' }, icon('slow'), beads.loaded ? `The server has not answered since ${clock(beads.heard, Date.now())}. You see ${clock(beads.heard, Date.now())}; changes wait for it.` : 'The server does not answer. Start it with bd board; this page connects by itself.', again());
    if (this.problem) return h('div.banner.off', { 'data-key': 'banner' }, icon('slow'), asSentence(this.problem));
    if (this.stale) return h('div.banner.off', { 'data-key': 'banner' }, icon('slow'), this.stale);
    if (beads.about.read_only) return h('div.banner.ro', { 'data-key': 'banner' }, icon('lock'), 'Read-only.');
    return null;
  }
}

/** The stream opens within this time after the snapshot. */
const OPEN_MS = 10_000;

/** A snapshot that could not be read is asked for again after this time. */
const READ_AGAIN_AFTER_MS = 3_000;

/** The findings of `bd validate` are read again after this time, while the page is visible. */
const FINDINGS_MS = 5 * 60_000;

/** Nothing is shown for this long; then grey lines stand where the data will be. */
const LOADING_MS = 300;

function greyLines() {
  const line = (/** @type {number} */ index) => [h('span', { class: `w${(index * 7) % 3}` }), h('span', { class: `w${3 + ((index * 5) % 3)}` })];
  return h('div.loading', { role: 'status', 'aria-busy': 'true', 'aria-label': 'Loading' }, h('div.greys', {}, Array.from({ length: 12 }, (_, index) => line(index)).flat()));
}

/** @param {string} id @param {string} style @param {string} path */
function hatch(id, style, path) {
  return s('pattern', { id, width: 6, height: 6, patternUnits: 'userSpaceOnUse' }, s('path', { class: `hatch ${style}`, d: path }));
}

customElements.define('bd-board', Board);
