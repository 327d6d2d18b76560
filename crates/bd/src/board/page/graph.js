// *Graph*: columns are steps, bands are epics. The server decides where everything goes.

import { messageOf } from './actions.js';
import { exported, read, Refused } from './api.js';
import { beads } from './beads.js';
import { h, icon, s } from './dom.js';
import { DEFAULT_MINUTES } from './groups.js';
import { empty, idLink, STATE_WORDS } from './parts.js';
import { shownState } from './strips.js';
import { View, currentRoute, setQuery } from './view.js';
import { clock, counted, duration, number } from './words.js';

/**
 * @typedef {object} GraphData
 * @property {{ id: string, folded?: number, layer: number, at: [number, number], critical: boolean }[]} nodes
 * @property {{ from: string, to: string, critical: boolean, cycle: boolean, points: [number, number][] }[]} edges
 * @property {{ epic: string | null, x: number, y: number, height: number }[]} bands
 * @property {number[]} columns
 * @property {[number, number]} size
 * @property {[number, number]} node_size
 * @property {string[]} critical_path
 * @property {number} unlinked
 * @property {number} implied
 * @property {number} cut
 * @property {number} linked
 */

/** Smaller than this, the text in the nodes is hard to read. */
const SMALLEST_FIT = 0.85;

/** A graph that could not be read is asked for again after this time. */
const LOAD_AGAIN_MS = 3_000;

export class GraphView extends View {
  constructor() {
    super();
    /** @type {GraphData | null} */
    this.graph = null;
    this.asked = '';
    this.drawnFor = '';
    this.problem = '';
    /** 0 fits the width. */
    this.zoom = 0;
    this.focused = '';
  }

  /** @override */
  render() {
    this.load();
    super.render();
  }

  /** Asks for the graph again if the address or the beads changed. */
  load() {
    if (exported) {
      this.graph = exported.graph;
      return;
    }
    const { query } = currentRoute();
    const parameters = new URLSearchParams();
    for (const [name, from] of [['around', 'around'], ['closed', 'closed'], ['open', 'open']]) {
      const value = query.get(from);
      if (value) parameters.set(name, value);
    }
    const shape = `${beads.links} ${beads.shape} ${beads.closes}`;
    const wanted = `${parameters} ${shape}`;
    if (wanted === this.asked) return;
    this.asked = wanted;
    void read(`graph?${parameters}`).then((graph) => {
      if (this.asked !== wanted) return;
      this.graph = graph;
      this.drawnFor = String(parameters);
      this.problem = '';
      this.schedule();
    }, (error) => {
      if (this.asked !== wanted) return;
      this.problem = messageOf(error);
      if (this.drawnFor !== String(parameters)) this.graph = null;
      // What asks for too much, or for a bead that is not there, fails again.
      if (!(error instanceof Refused && error.status < 500)) setTimeout(() => this.loadAgain(wanted), LOAD_AGAIN_MS);
      this.schedule();
    });
  }

  /** @param {string} wanted */
  loadAgain(wanted) {
    if (this.asked !== wanted) return;
    this.asked = '';
    this.schedule();
  }

  /** @override */
  content() {
    const { query } = currentRoute();
    const around = query.get('around') ?? '';
    const withClosed = query.get('closed') === 'true';
    const graph = this.graph;
    /** @param {[string, string, boolean][]} choices @param {string} label */
    const choice = (choices, label) => h('span.seg', { role: 'group', 'aria-label': label }, choices.map(([action, text, pressed]) => h('button', { type: 'button', 'aria-pressed': String(pressed), 'data-do': action }, text)));
    const tools = h('div.tools', {}, exported ? null : choice([['open', 'Open', !withClosed], ['with-closed', 'With closed', withClosed]], 'Beads'),
      exported ? null : choice([['all', 'All epics', !around], ['around', around ? `Around ${around}` : 'Around one bead', Boolean(around)]], 'Part'),
      h('span.mid', {}, s('svg.keyline', { viewBox: '0 0 24 4', 'aria-hidden': 'true' }, s('rect.ink', { width: 24, height: 3 })), 'critical path'),
      h('span.mid.act', {}, icon('held'), 'in progress'), h('span.mid.wait', {}, icon('blocked'), 'blocked'), h('span.mid.bad', {}, icon('person'), 'needs you'),
      graph ? h('span.end', {}, `${counted(graph.nodes.length, 'node')}, ${counted(graph.edges.length, 'edge')} · ${leftOut(graph, withClosed)} not drawn${graph.cut ? ` · ${number(graph.linked - graph.cut)} of ${number(graph.linked)} beads shown` : ''}`) : null);
    if (this.problem && !graph) return [tools, empty('The graph could not be drawn.', this.problem)];
    if (!graph) return [tools, h('div.loading', { 'aria-busy': 'true' })];
    if (!graph.nodes.length) return [tools, empty('No bead waits for another.', 'Add an edge with ', h('code', {}, 'bd dep add ID BLOCKER'), '.')];
    return [tools, this.path(graph), this.drawing(graph), this.steps(graph)];
  }

  /** @param {GraphData} graph */
  path(graph) {
    const ids = graph.critical_path;
    if (ids.length < 2) return h('p.path');
    const minutes = ids.reduce((sum, id) => sum + (beads.get(id)?.minutes ?? DEFAULT_MINUTES), 0);
    const last = beads.get(ids[ids.length - 1]);
    const epic = last && (beads.epicOf(last) ?? last);
    const shown = ids.slice(0, 12);
    return h('p.path', {}, h('span.lead', {}, h('b', {}, `Critical path ${duration(minutes * 60_000)}`), `, so ${epic?.title ?? 'the last bead'} not before ${clock(beads.now() + minutes * 60_000, beads.now())}:`),
      shown.flatMap((id, index) => [index ? h('span.to', { 'aria-hidden': 'true' }, '→') : null, idLink(id)]), ids.length > shown.length ? h('span.faint', {}, ` … ${ids.length - shown.length} more`) : null);
  }

  /** @param {GraphData} graph */
  drawing(graph) {
    const [width, height] = graph.size;
    const [boxWidth, boxHeight] = graph.node_size;
    const kin = this.kinOf(graph, this.focused ?? '');
    const bands = graph.bands.map((band, index) => [s('rect.band', { class: index % 2 ? 'alt' : '', x: -2000, y: band.y, width: width + 4000, height: band.height }),
      graph.bands.length > 1 || band.epic ? s('text.bl', { x: band.x, y: band.y + 15 }, cutText(band.epic ? beads.get(band.epic)?.title ?? band.epic : 'No epic', 60)) : null]).flat();
    const edges = graph.edges.map((edge) => s('path.e', { 'data-a': edge.from, 'data-b': edge.to, d: rounded(edge.points), 'marker-end': `url(#${edge.critical ? 'end-crit' : edge.cycle ? 'end-bad' : 'end'})`, class: `${edge.critical ? 'crit' : ''} ${edge.cycle ? 'cycle' : ''} ${kin && kin.has(edge.from) && kin.has(edge.to) ? 'on' : ''}` }));
    const nodes = graph.nodes.map((node) => this.node(node, boxWidth, boxHeight, graph, kin));
    const zoom = this.zoom || this.fit(width);
    return h('div.graph', { tabindex: 0, role: 'region', 'aria-label': 'Graph', 'data-key': 'graph' },
      s('svg', { width: Math.round(width * zoom), height: Math.round(height * zoom), viewBox: `0 0 ${width} ${height}`, class: kin ? 'focus' : '' },
        s('defs', {}, marker('end', 'tip'), marker('end-crit', 'tip-crit'), marker('end-bad', 'tip-bad')), bands,
        graph.columns.map((x, index) => s('text.lay', { x, y: 12 }, index ? `Step ${index + 1}` : 'Now')), edges, nodes));
  }

  /** The zoom at which a drawing of this width fits, unless it would become too small to read. @param {number} width */
  fit(width) {
    const room = this.clientWidth || width;
    return Math.max(SMALLEST_FIT, Math.min(1, room / width));
  }

  /** @param {GraphData['nodes'][number]} node @param {number} width @param {number} height @param {GraphData} graph @param {Set<string> | null} kin */
  node(node, width, height, graph, kin) {
    const bead = beads.get(node.id);
    const [x, y] = node.at;
    const inCycle = graph.edges.some((edge) => edge.cycle && (edge.from === node.id || edge.to === node.id));
    const [style, glyph] = nodeStyle(bead, inCycle, node.folded);
    const lines = wrapped(bead?.title ?? node.id, width - 16);
    const label = node.folded ? `${node.id} ${bead?.title ?? ''}, ${node.folded} beads, folded` : `${node.id} ${bead?.title ?? ''}`;
    return s('a.node', { href: node.folded ? '#' : `#/bead/${encodeURIComponent(node.id)}`, 'data-key': `node ${node.id}`, 'data-row': node.id, 'data-bead': node.id, 'data-do': node.folded ? 'unfold' : null, 'data-id': node.id, class: `${style} ${node.critical ? 'crit' : ''} ${kin?.has(node.id) ? 'on' : ''} ${node.folded ? 'folded' : ''}` },
      s('title', {}, label), node.folded ? s('rect.box.under', { x: x + 2, y: y + 2, width, height, rx: 3 }) : null, s('rect.box', { x, y, width, height, rx: 3 }),
      s('svg', { x: x + 8, y: y + 5, width: 11, height: 11, viewBox: '0 0 12 12', class: `nodeicon ${glyph in STATE_WORDS ? STATE_WORDS[/** @type {import('./beads.js').State} */ (glyph)][0] : ''} ${style === 'need' || inCycle ? 'bad' : ''}` }, icon(glyph)),
      s('text.nid', { x: x + 24, y: y + 14 }, fitted(node.id, width - (node.folded ? 96 : 54), ID_FONT)), s('text.npri', { x: x + width - 8, y: y + 14, 'text-anchor': 'end', class: `p${bead?.priority ?? 2}` }, node.folded ? `${node.folded} beads` : `P${bead?.priority ?? ''}`),
      s('text.nt', { x: x + 8, y: y + 29 }, lines[0] ?? ''), s('text.nt', { x: x + 8, y: y + 44 }, lines[1] ?? ''));
  }

  /** The graph as a list, for narrow screens. @param {GraphData} graph */
  steps(graph) {
    const layers = [...new Set(graph.nodes.map((node) => node.layer))].sort((a, b) => a - b);
    return h('div.steps', { 'data-key': 'steps' }, layers.map((layer) => h('section.sec', {}, h('header', {}, h('h2', {}, layer ? `Step ${layer + 1}` : 'Now')),
      h('ul.deps', {}, graph.nodes.filter((node) => node.layer === layer).map((node) => {
        const bead = beads.get(node.id);
        const inCycle = graph.edges.some((edge) => edge.cycle && (edge.from === node.id || edge.to === node.id));
        const [style, glyph] = nodeStyle(bead, inCycle, node.folded);
        const known = glyph in STATE_WORDS ? STATE_WORDS[/** @type {import('./beads.js').State} */ (glyph)] : [style === 'need' ? 'bad' : 'wait', glyph];
        const before = graph.edges.filter((edge) => edge.to === node.id).map((edge) => edge.from);
        const facts = [node.folded ? counted(node.folded, 'bead') : '', before.length ? `after ${before.slice(0, 4).join(', ')}` : ''].filter(Boolean).join(', ');
        return h('li', {}, h('span.mid', { class: known[0] }, icon(glyph, known[1])), idLink(node.id), h('div', {}, h('p.cut', {}, node.critical ? '» ' : '', bead?.title ?? node.id), facts ? h('p.small.dim', {}, facts) : null));
      })))));
  }

  /** Everything that a bead waits for and that waits for it. @param {GraphData} graph @param {string} id @returns {Set<string> | null} */
  kinOf(graph, id) {
    if (!id) return null;
    const kin = new Set([id]);
    for (const [start, end] of /** @type {['from' | 'to', 'from' | 'to'][]} */ ([['from', 'to'], ['to', 'from']])) {
      const open = [id];
      const seen = new Set(open);
      for (let at = open.pop(); at !== undefined; at = open.pop()) {
        for (const edge of graph.edges) {
          if (edge[start] === at && !seen.has(edge[end])) {
            seen.add(edge[end]);
            kin.add(edge[end]);
            open.push(edge[end]);
          }
        }
      }
    }
    return kin;
  }

  /** @override */
  connectedCallback() {
    super.connectedCallback();
    const point = (/** @type {Event} */ event) => {
      const node = /** @type {Element} */ (event.target).closest?.('.node');
      const id = node?.getAttribute('data-id') ?? '';
      if (id !== (this.focused ?? '')) {
        this.focused = id;
        this.schedule();
      }
    };
    this.addEventListener('mouseover', point);
    this.addEventListener('focusin', point);
    this.addEventListener('mouseleave', point);
  }

  /** @override @param {string} action @param {DOMStringMap} data */
  act(action, data) {
    if (action === 'with-closed') setQuery({ closed: 'true' });
    else if (action === 'open') setQuery({ closed: null });
    else if (action === 'all') setQuery({ around: null, open: null });
    else if (action === 'around') this.around();
    else if (action === 'unfold') setQuery({ open: [currentRoute().query.get('open'), data.id].filter(Boolean).join(',') });
  }

  around() {
    const id = this.selectedBead() || this.graph?.critical_path[0] || this.graph?.nodes[0]?.id || '';
    setQuery({ around: id });
  }

  /** @override @param {string} key */
  key(key) {
    const graph = this.graph;
    const selected = this.selectedBead();
    if (key === 'a') setQuery({ closed: currentRoute().query.get('closed') ? null : 'true' });
    else if (key === 'f') this.around();
    else if (key === 'Escape' && currentRoute().query.get('around')) setQuery({ around: null });
    else if (key === '+' || key === '-') this.zoom = Math.max(0.4, Math.min(2, (this.zoom || this.fit(graph?.size[0] ?? 1)) * (key === '+' ? 1.15 : 1 / 1.15)));
    else if (key === '0') this.zoom = 0;
    else if ((key === 'h' || key === 'l') && graph) {
      const next = graph.edges.find((edge) => (key === 'l' ? edge.from : edge.to) === selected);
      if (next) this.pick(key === 'l' ? next.to : next.from);
      else if (!selected) this.move(0);
    } else return false;
    this.schedule();
    return true;
  }

  /** @param {string} id */
  pick(id) {
    this.select(id);
    this.focused = id;
  }

  /** @override @returns {[string, string][]} */
  keys() {
    return [['h j k l', 'walk along edges'], ['f', 'around this bead'], ['+ −', 'zoom'], ['0', 'fit'], ['a', 'with closed'], ['↵', 'open'], ['/', 'find']];
  }
}

/** Counts what is left out, in words. @param {GraphData} graph @param {boolean} withClosed */
function leftOut(graph, withClosed) {
  const closed = withClosed ? 0 : beads.sets.closed.size;
  return [closed && `${number(closed)} closed`, `${number(graph.unlinked)} without links`, counted(graph.implied, 'implied edge')].filter(Boolean).join(', ');
}

/** @param {import('./beads.js').Bead | undefined} bead @param {boolean} inCycle @param {number | undefined} folded @returns {[string, string]} the class and the icon */
function nodeStyle(bead, inCycle, folded) {
  if (!bead) return ['ready', 'ready'];
  if (inCycle) return ['need', 'cycle'];
  if (bead.asks) return ['need', 'person'];
  if (folded) return foldedStyle(bead.id);
  const state = beads.state(bead);
  if (state === 'held') {
    const agent = beads.pulse?.agents.find((one) => one.actor === bead.assignee);
    const shown = agent ? shownState(agent) : 'working';
    if (shown === 'slow') return ['slow', 'slow'];
    if (shown === 'gone') return ['need', 'gone'];
  }
  return [state, state];
}

/** A folded epic shows the most of what its beads say: a question, work in progress, something ready, or only blocked beads. @param {string} id @returns {[string, string]} */
function foldedStyle(id) {
  const group = beads.groups.all.get(id);
  if (!group) return ['ready', 'ready'];
  if (group.asking.size) return ['need', 'person'];
  if (group.count.held) return ['held', 'held'];
  return group.count.ready || !group.count.blocked ? ['ready', 'ready'] : ['blocked', 'blocked'];
}

/** @param {string} id @param {string} style */
function marker(id, style) {
  return s('marker', { id, viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: 'userSpaceOnUse', orient: 'auto' }, s('path', { class: style, d: 'M0 1L8 4L0 7z' }));
}

/** @param {[number, number][]} points @returns {string} a path with rounded corners */
function rounded(points) {
  let path = `M${points[0][0]} ${points[0][1]}`;
  for (let i = 1; i < points.length - 1; i++) {
    const [[ax, ay], [bx, by], [cx, cy]] = [points[i - 1], points[i], points[i + 1]];
    const before = Math.min(5, Math.hypot(bx - ax, by - ay) / 2);
    const after = Math.min(5, Math.hypot(cx - bx, cy - by) / 2);
    const radius = Math.min(before, after);
    path += `L${bx - Math.sign(bx - ax) * radius} ${by - Math.sign(by - ay) * radius}Q${bx} ${by} ${bx + Math.sign(cx - bx) * radius} ${by + Math.sign(cy - by) * radius}`;
  }
  const [x, y] = points[points.length - 1];
  return `${path}L${x} ${y}`;
}

/** @param {string} text @param {number} most */
function cutText(text, most) {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** The fonts of a node's title and id: the size and the custom property with the family. */
const TITLE_FONT = ['12px', '--sans'];
const ID_FONT = ['11px', '--mono'];

/** @type {Map<string, (text: string) => number>} */
const measures = new Map();

/** The width of a text in pixels; system fonts differ by a quarter. @param {string} text @param {string[]} font */
function textWidth(text, [size, family]) {
  let measure = measures.get(size + family);
  if (!measure) {
    const pen = document.createElement('canvas').getContext('2d');
    if (pen) pen.font = `${size} ${getComputedStyle(document.documentElement).getPropertyValue(family) || 'sans-serif'}`;
    measure = (word) => pen?.measureText(word).width ?? word.length * 7.5;
    measures.set(size + family, measure);
  }
  return measure(text);
}

/** Cuts a text to a width. @param {string} text @param {number} width @param {string[]} [font] */
function fitted(text, width, font = TITLE_FONT) {
  if (textWidth(text, font) <= width) return text;
  let end = text.length - 1;
  while (end > 1 && textWidth(`${text.slice(0, end)}…`, font) > width) end--;
  return `${text.slice(0, end).trimEnd()}…`;
}

/** Breaks a title into two lines. @param {string} text @param {number} width @returns {string[]} */
function wrapped(text, width) {
  const words = text.slice(0, 120).split(/\s+/);
  let first = words.shift() ?? '';
  while (words.length && textWidth(`${first} ${words[0]}`, TITLE_FONT) <= width) first += ` ${words.shift()}`;
  return [first, words.join(' ')].map((line) => fitted(line, width));
}
