// Server: the state of the queried process: memory, processors, disk, cache, connections, backups, jobs, and the end of the log.
import { html, useEffect, useRef, useState } from '../vendor/htm-preact.js';
import { bytes, clock, count, get, num, percent, second, whole } from '../api.js';
import { Chart } from '../chart.js';
import { live } from '../live.js';
import { Bar, Empty, Problem, Refused, Table } from '../parts.js';
import { link, useAsk } from '../state.js';

const every = 5, samplesMax = 360, linesMax = 300;

// The samples of this page, one per answer, so that the charts reach back as far as the page has been open.
const samples = { times: [], cpu: [], resident: [], heap: [] };
let before = null;

// note adds a sample. The processor time is that of the process as a share of all processors.
function note(s) {
  const now = performance.now(), micros = s.cpu.userMicros + s.cpu.systemMicros;
  if (before && now - before.now <= 500) return;
  if (before) {
    const values = { times: (performance.timeOrigin + now) / 1000, cpu: Math.max(0, (micros - before.micros) / (now - before.now) / 10 / (s.cpu.processors || 1)), resident: s.memory.residentBytes / 1048576, heap: s.memory.heapBytes / 1048576 };
    for (const [name, v] of Object.entries(values)) {
      samples[name].push(v);
      if (samples[name].length > samplesMax) samples[name].shift();
    }
  }
  before = { now, micros };
}

const owners = { total: 'All for clients', queries: 'Queries', messages: 'Messages', replies: 'Replies', writes: 'Uncommitted writes', sessions: 'Sessions', users: 'Users and roles', catalog: 'Catalog' };
const long = (s) => (s >= 172800 ? `${Math.floor(s / 86400)} days` : s >= 7200 ? `${Math.floor(s / 3600)} h` : s >= 120 ? `${Math.floor(s / 60)} min` : `${Math.round(s)} s`);

export default function Server({ about }) {
  const { data: s, error } = useAsk(() => (about.load ? get('status').then((x) => { note(x); return x; }) : null), [], every);
  if (!about.load) return html`<${Empty}>The state of the server requires the role clusterMonitor. <a href=${link({ view: 'collections' })}>Go to your collections</a>.</${Empty}>`;
  if (!s) return html`<${Problem} error=${error}/>`;
  const m = s.memory, d = s.disk, c = s.connections, open = s.cursors?.open ?? {}, t = s.transactions ?? {};
  const limit = m.machineBytes > 0 ? Math.min(m.limitBytes, m.machineBytes) : m.limitBytes;
  return html`
    <${Problem} error=${error}/>
    <p class="quiet">${s.host}, version ${about.version}, started ${long(s.uptimeSeconds)} ago. With several servers over one store this is the one that answers.</p>
    <section class="numbers" aria-label="Server">
      <div><b data-number="resident">${bytes(m.residentBytes)}</b><span>memory${m.machineBytes > 0 ? ` of ${bytes(m.machineBytes)}` : ''}</span></div>
      <div><b>${samples.cpu.length ? percent(samples.cpu.at(-1)) : '–'}</b><span>of ${s.cpu.processors || '?'} processors</span></div>
      <div class=${d.refusesWrites ? 'bad' : ''}><b>${d.diskTotalBytes ? bytes(d.diskFreeBytes) : bytes(d.diskBytes)}</b><span>${d.diskTotalBytes ? `of ${bytes(d.diskTotalBytes)} disk free` : 'of data'}</span></div>
      <div><b>${bytes(s.cache.bytes)}</b><span>cache of ${bytes(s.cache.maxBytes)}</span></div>
      <div class=${c.queued > 0 ? 'bad' : ''}><b>${num(c.current)}</b><span>connections of ${num(c.current + c.available)}</span></div>
      <div><b>${num(whole(open.total))}</b><span>open cursors</span></div>
      <div><b>${num(whole(t.currentOpen))}</b><span>open transactions</span></div>
    </section>
    <div class="charts small">
      <${Chart} title="Processors, % of all" height=${120} times=${samples.times} least=${10} series=${[{ label: 'process', colour: '--c1', fill: '--c1-soft', values: samples.cpu }]}/>
      <${Chart} title="Memory, MB" height=${120} times=${samples.times} least=${100} series=${[{ label: 'resident', colour: '--c1', fill: '--c1-soft', values: samples.resident }, { label: 'heap', colour: '--c2', values: samples.heap }]}/>
      <${Chart} title="Connections" height=${120} times=${live.times} least=${10} series=${[{ label: 'connections', colour: '--c1', fill: '--c1-soft', values: live.lines.connections }]}/>
    </div>
    <div class="parts">
      <${Memory} m=${m} cache=${s.cache} limit=${limit}/>
      <${Disk} d=${d}/>
      <${Clients} c=${c}/>
      <${Work} cursors=${s.cursors} txns=${t}/>
      <${Backups} b=${s.backup}/>
      <${Jobs} jobs=${s.jobs}/>
    </div>
    <${Log}/>`;
}

function Memory({ m, cache, limit }) {
  const rows = [...m.owners, { name: 'Cache', maxBytes: cache.maxBytes, bytes: cache.bytes }];
  return html`<section aria-label="Memory"><h2>Memory</h2><p class="quiet">${bytes(m.heapBytes)} in the heap${limit > 0 && limit < 2 ** 50 ? `, collected before ${bytes(limit)}` : ''}.</p>
    <${Table} caption="Memory by owner" rows=${rows} sort=${['used', -1]} keyOf=${(o) => o.name} columns=${[
      { name: 'name', title: 'Owner', value: (o) => owners[o.name] ?? o.name },
      { name: 'used', title: 'Used of limit', right: true, value: (o) => o.bytes, show: (o) => html`<${Bar} share=${o.maxBytes > 0 ? o.bytes / o.maxBytes : 0} text=${`${bytes(o.bytes)} of ${o.maxBytes > 0 ? bytes(o.maxBytes) : '∞'}`} hot=${o.refused > 0}/>` },
      { name: 'peak', title: 'Peak', right: true, value: (o) => o.peakBytes, show: (o) => bytes(o.peakBytes) },
      { name: 'refused', title: 'Refused', right: true, value: (o) => o.refused ?? 0, show: (o) => html`<${Refused} n=${o.refused}/>` },
    ]}/></section>`;
}

function Disk({ d }) {
  const parts = [['documents and indexes', Math.max(0, d.diskBytes - d.changeLogBytes)], ['change log', d.changeLogBytes], ['logs kept for the next backup', d.keptLogBytes]];
  const all = Math.max(1, d.diskBytes + d.keptLogBytes);
  return html`<section aria-label="Disk"><h2>Disk</h2><ol class="hot">${parts.map(([name, v]) => html`<li key=${name}><span>${name}</span><${Bar} share=${v / all} text=${bytes(v)}/></li>`)}</ol>
    ${d.diskTotalBytes > 0 ? html`<p>${bytes(d.diskFreeBytes)} of ${bytes(d.diskTotalBytes)} are free. Writes are refused below ${bytes(d.diskReserveBytes)}${d.diskBallastBytes > 0 ? `; a ballast file of ${bytes(d.diskBallastBytes)} can be given up` : ''}.</p>` : html`<p class="quiet">The data are in memory, or on other servers.</p>`}</section>`;
}

function Clients({ c }) {
  return html`<section aria-label="Connections"><h2>Connections <span class="quiet">${num(c.current)}</span></h2>
    <p class="quiet">${num(c.totalCreated)} since the start, ${num(c.queued)} queued, ${num(c.rejected)} rejected.</p>
    ${!c.by ? html`<${Empty}>Seeing whose they are requires the role clusterMonitor.</${Empty}>` : html`<${Table} caption="Connections by application and user" rows=${c.by} sort=${['n', -1]} keyOf=${(x) => JSON.stringify(x._id)} columns=${[
      { name: 'app', title: 'Application', value: (x) => x._id.appName ?? '–' },
      { name: 'driver', title: 'Driver', value: (x) => [x._id.driver, x._id.version].filter(Boolean).join(' ') || '–' },
      { name: 'user', title: 'User', value: (x) => (x._id.user ? `${x._id.user.user}@${x._id.user.db}` : '–') },
      { name: 'n', title: 'Connections', right: true, value: (x) => x.connections, show: (x) => num(x.connections) },
      { name: 'active', title: 'Running', right: true, value: (x) => x.active, show: (x) => num(x.active) },
    ]}/>`}</section>`;
}

function Work({ cursors, txns }) {
  const list = [['open cursors', cursors?.open?.total], ['cursors in use', cursors?.open?.pinned], ['cursors without a timeout', cursors?.open?.noTimeout], ['cursors timed out', cursors?.timedOut],
    ['open transactions', txns.currentOpen], ['of these running a command', txns.currentActive], ['transactions committed', txns.totalCommitted], ['transactions aborted', txns.totalAborted]];
  return html`<section aria-label="Cursors and transactions"><h2>Cursors and transactions</h2><ol class="hot">${list.map(([name, v]) => html`<li key=${name}><span>${name}</span><b>${num(whole(v))}</b></li>`)}</ol>
    ${whole(cursors?.heldBytes) > 0 && html`<p class="quiet">Cursors hold ${bytes(whole(cursors.heldBytes))}.</p>`}<p><a href=${link({ view: 'operations' })}>Running operations</a></p></section>`;
}

function Backups({ b }) {
  if (!b) return html`<section aria-label="Backups"><h2>Backups</h2><${Empty}>This server makes no backups.</${Empty}></section>`;
  const covered = b.coveredTo?.$timestamp?.t, made = whole(b.made);
  return html`<section aria-label="Backups"><h2>Backups</h2>
    ${b.policy ? html`<p>Every ${long(b.policy.intervalSeconds)} to <code>${b.policy.to}</code>, the log every ${long(b.policy.logIntervalSeconds)}, kept for ${long(b.policy.retentionSeconds)}.</p>` : html`<p class="quiet">No automatic backups: <code>--backup-to</code> turns them on.</p>`}
    ${b.running && html`<p><b>Running</b> since ${clock(second(b.since))}: ${b.phase} ${num(whole(b.done))} of ${num(whole(b.total))} ${b.unit}</p>`}
    ${covered ? html`<p>Every moment up to <b data-covered>${clock(covered)}</b> is covered${b.lastTo ? html` in <code>${b.lastTo}</code>` : ''}.</p>` : made > 0 ? '' : html`<p class="quiet">No backup since the start.</p>`}
    ${b.lastBackup && html`<p class="quiet">Last backup ${clock(second(b.lastBackup))}; ${num(made)} made, ${num(whole(b.logCopies))} copies of the log, ${num(whole(b.failed))} failed.</p>`}
    ${b.error && html`<p class="problem">${clock(second(b.failedAt))}: ${b.error}</p>`}</section>`;
}

function Jobs({ jobs = [] }) {
  return html`<section aria-label="Jobs"><h2>Jobs <span class="quiet">${jobs.length}</span></h2>${jobs.length === 0 ? html`<${Empty}>No index build, split, merge or other job is running.</${Empty}>` : html`<${Table} caption="Background jobs" rows=${jobs} keyOf=${(j) => `${j.desc} ${j.ns} ${j.host}`} columns=${[
    { name: 'desc', title: 'Job', value: (j) => j.desc }, { name: 'ns', title: 'Collection', value: (j) => j.ns },
    { name: 'done', title: 'Done', right: true, value: (j) => whole(j.percent), show: (j) => html`<${Bar} share=${whole(j.percent) / 100} text=${`${percent(whole(j.percent))} of ${num(whole(j.progress?.total))}`}/>` },
    { name: 'since', title: 'Running', right: true, value: (j) => whole(j.secs_running), show: (j) => long(whole(j.secs_running)) },
    { name: 'left', title: 'Left', right: true, value: (j) => whole(j.secondsLeft), show: (j) => (whole(j.secondsLeft) > 0 ? long(whole(j.secondsLeft)) : '–') }]}/>`}</section>`;
}

// parsed is a line of the log, which is JSON.
function parsed(line) {
  try {
    const { level = '', time = '', message = '', ...rest } = JSON.parse(line);
    return { level, time: Number.isNaN(Date.parse(time)) ? String(time) : clock(Date.parse(time) / 1000), message, rest: Object.entries(rest).map(([k, v]) => `${k}=${typeof v === 'string' ? v : JSON.stringify(v)}`).join(' ') };
  } catch { return { level: '', time: '', message: line, rest: '' }; }
}

// Log shows the end of the log, and requests only new lines.
function Log() {
  const state = useRef({ total: 0, lines: [] }), [only, setOnly] = useState(false), box = useRef(null), [down, setDown] = useState(true);
  const { error } = useAsk(async () => {
    const x = await get('log', state.current.total ? { after: state.current.total } : {});
    if (x.total < state.current.total) state.current.lines = []; // the server was started again
    state.current = { total: x.total, lines: [...state.current.lines, ...x.lines].slice(-linesMax) };
    return x.total;
  }, [], every);
  const lines = state.current.lines.map(parsed).filter((l) => !only || !['info', 'debug', 'trace'].includes(l.level));
  useEffect(() => { if (down && box.current) box.current.scrollTop = box.current.scrollHeight; }, [lines.length, down]);
  return html`<section class="detail" aria-label="Log"><header><h2>Log <span class="quiet">the last ${count(lines.length, 'line')}</span></h2><span class="grow"></span>
      <label><input type="checkbox" checked=${only} onChange=${(e) => setOnly(e.target.checked)}/> warnings and errors only</label></header>
    ${error ? html`<${Problem} error=${error}/>` : lines.length === 0 ? html`<${Empty}>Nothing.</${Empty}>` : html`<pre class="text log" tabindex="0" ref=${box} onScroll=${(e) => setDown(e.target.scrollTop + e.target.clientHeight >= e.target.scrollHeight - 8)}>${lines.map((l, i) => html`<div key=${i} class=${['error', 'fatal', 'panic'].includes(l.level) ? 'bad' : l.level === 'warn' ? 'warn' : ''}>${l.time} ${l.level.toUpperCase().slice(0, 5).padEnd(5)} ${l.message} <span class="quiet">${l.rest}</span></div>`)}</pre>`}</section>`;
}
