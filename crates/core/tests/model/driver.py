"""Plays the histories of tests/model.rs on the executable model of the merge rules.

Reads one JSON request per line: {"reset": n} starts a history of n replicas; {"on": i, "delta": {...}} is a write;
{"into": i, "from": j} is a pull. The reply to a pull has the files of replica i after the pull and the effective status
of each bead. The first argument is the directory of the model. Where the model is older than the design, this script
extends it in memory.
"""
import hashlib, json, re, sys, traceback

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import model
from model import CFG, REGS, Bead, Invalid, State, canon, clean, st, stamp

CFG.H0, CFG.ALPHA, CFG.DIG = 6, '0123456789abcdefghijklmnopqrstuvwxyz', '0123456789'
model.ID_RE = re.compile(r'^(?=.*-)[A-Za-z0-9][A-Za-z0-9._-]*$')      # foreign ids are wider than minted ones
for extra in ('estimated_minutes', 'due_at', 'defer_until', 'metadata'):
    REGS[extra] = (extra,)
model.ALLF = {f for g in REGS.values() for f in g}
model.BODY |= model.ALLF

# The claim group. Its register has a pair of stamps, (claim, renewal). Pairs compare lexicographically, so the model's join
# works unchanged. Code that inspects a stamp has to handle the pair.
FIELDS = [*REGS, 'assignee_expires']                                  # what _v may list

def marks(bead):
    out = {r: s for r, (s, _) in bead.regs.items()}
    if 'assignee' in out:
        out['assignee'], out['assignee_expires'] = out['assignee']
    return out

def last(bead):
    # A renewal does not revive a bead: it disappears with its claim, so its stamp is not monotone under join.
    signs = [s for r, s in marks(bead).items() if r != 'assignee_expires']
    notes = [json.loads(n) for n in bead.notes.values()]
    return max(signs + [(*n['at'], n['author']) for n in notes], default=(-1, 0, ''))

def with_marks(bead, marks_):
    b = bead.copy()
    b.regs = {r: (marks_[r], j) for r, (_, j) in bead.regs.items()}
    return b

model_body, model_unbody = model.body, model.unbody

def body(lineage, bead, i):
    ms = marks(bead)
    o = model_body(lineage, with_marks(bead, ms), i)
    top = max(ms.values())                                            # a renewal may be the newest stamp
    o['_at'], o['_by'] = st(top), top[2]
    v = {r: [st(s), s[2]] for r, s in ms.items() if s != top}
    o.pop('_v', None)
    return {**o, '_v': v} if v else o

def unbody(i, o):
    v = dict(o.get('_v', {}))
    if set(v) - set(FIELDS):
        raise Invalid('_v')
    renewed = stamp(*v.pop('assignee_expires', [o['_at'], o['_by']]))
    lineage, b = model_unbody(i, {**o, '_v': v})
    claimed, j = b.regs['assignee']
    b.regs['assignee'] = ((claimed, renewed), j)
    return lineage, b

model.Bead.last, model.body, model.unbody = last, body, unbody

# A claim never writes the status register. The effective status follows from the stored status and the claim.
def shown(bead):
    status, claim = (json.loads(bead.regs[r][1]) for r in ('status', 'assignee'))
    taken = 'assignee' in claim and 'assignee_expires' in claim
    return 'in_progress' if status['status'] == 'open' and taken else status['status']

def shown_all(state):
    return {i: shown(state.beads[l]) for l, i in model.ids(state.beads)[0].items()}

# ---------------------------------------------------------------- requests
def mark(m):
    return stamp(*m)

def lineage(l):
    return (l[0], *l[1], l[2])

def ref(end):
    return ('?', end) if isinstance(end, str) else lineage(end)

def patch(l, wire):
    o = wire['body']
    b = Bead(branch=o.get('created_on_branch', ''))
    v = {r: mark(m) for r, m in o.get('_v', {}).items()}
    if '_at' in o:                                                    # a new bead: the mark that most registers have
        v = {r: v.get(r, mark([o['_at'], o['_by']])) for r in FIELDS}
    if 'assignee' in v:
        v['assignee'] = (v['assignee'], v.pop('assignee_expires'))
    b.regs = {r: (s, canon(clean(r, o))) for r, s in v.items()}
    for n in o.get('notes', []):
        expected = hashlib.sha256(canon([list(l), n['at'], n['author'], n['content']]).encode()).hexdigest()[:12]
        if n['id'] != expected:
            raise Invalid('note id %s should be %s' % (n['id'], expected))
        b.notes[n['id']] = canon(n)
    if 'deletion' in wire:
        b.dele = (mark(wire['deletion']['mark']), wire['deletion'].get('reason', ''))
    return b

def delta(wire):
    d = State()
    for w in wire.get('beads', []):
        l = lineage(w['lineage'])
        d.beads[l] = patch(l, w)
    for k, e in wire.get('edges', []):
        d.edges[(ref(k['from']), ref(k['to']), k['kind'])] = (mark(e['created']), (mark(e['changed']), e['deleted']))
    if 'prefix' in wire:
        d.prefix = (mark(wire['prefix']['mark']), wire['prefix']['prefix'])
    return d

def answer(replicas, request):
    if 'reset' in request:
        replicas[:] = [State() for _ in range(request['reset'])]
    elif 'delta' in request:
        on = request['on']
        replicas[on] = model.join(replicas[on], delta(request['delta']))
    else:
        into, sent = request['into'], model.encode(replicas[request['from']])
        replicas[into] = model.join(replicas[into], model.decode(sent))
        return {'shown': shown_all(replicas[into]), **{n: b.decode() for n, b in model.encode(replicas[into]).items()}}

replicas, broken = [], None
for line in sys.stdin:
    request = json.loads(line)
    broken = None if 'reset' in request else broken
    try:
        reply = None if broken else answer(replicas, request)
    except Exception:
        broken = traceback.format_exc()
    if 'into' in request:                                             # only a pull has a reply, so errors are reported there
        print(json.dumps({'error': broken} if broken else reply), flush=True)
