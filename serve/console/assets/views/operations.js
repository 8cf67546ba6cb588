// Operations: the running operations, those that wait, and a way to end one.
import { html, useState } from '../vendor/htm-preact.js';
import { get, num, percent, post, short, whole } from '../api.js';
import { Confirm, Empty, Problem, Table } from '../parts.js';
import { link, useAsk, usePlace } from '../state.js';
import { Cause } from '../warnings.js';
import { nameOf } from '../who.js';

const who = (o) => (o.effectiveUsers ?? []).map((u) => `${u.user}@${u.db}`).join(', ') || '–';
const what = (o) => { const c = { ...(o.command ?? o.originatingCommand ?? o.cursor?.originatingCommand ?? {}) }; for (const k of ['$db', 'lsid', '$clusterTime', 'cursor']) delete c[k]; return short(c); };
// waits reports the hello with which drivers wait for news: every client has one.
const waits = (o) => ['hello', 'isMaster', 'ismaster'].some((k) => o.command && k in o.command);
const seconds = (o) => (o.microsecs_running !== undefined ? whole(o.microsecs_running) / 1e6 : o.secs_running ?? 0);

export default function Operations() {
  const p = usePlace();
  const [asked, ask] = useState(null), [mine, setMine] = useState(false);
  const { data, error, again } = useAsk(() => get('operations'), [], 1);
  const report = useAsk(() => get('requests', { ns: p.ns, history: 1 }), [p.ns], 5), told = useAsk(() => get('warnings'), [], 5);
  const load = useAsk(() => get('lines', { from: -900 }).catch(() => null), [], 5).data;
  if (!data) return html`<${Problem} error=${error}/>`;
  const all = data.operations.filter((o) => (mine || o.appName !== 'cantle console') && (mine || !waits(o)) && (!p.ns || !o.ns || o.ns === p.ns || o.ns.endsWith('.$cmd')));
  const running = all.filter((o) => o.active && o.type !== 'idleCursor' && o.type !== 'idleSession');
  const cursors = all.filter((o) => o.type === 'idleCursor'), sessions = all.filter((o) => o.type === 'idleSession');
  const missing = data.operations.filter((o) => o.type === 'missing'), several = new Set(running.map((o) => o.host)).size > 1;
  return html`
    <${Problem} error=${error}/>
    ${missing.length > 0 && html`<ul class="warnings">${missing.map((o) => html`<li key=${o.host ?? ''}><b>${o.host ?? ''}</b> ${o.desc}</li>`)}</ul>`}
    ${!data.all && html`<p class="quiet">You see only your own operations; seeing those of other users requires the role clusterMonitor.</p>`}
    <div class="bar-of-controls"><label><input type="checkbox" checked=${mine} onChange=${(e) => setMine(e.target.checked)}/> show the console's own operations</label></div>
    <section><h2>Running <span class="quiet">${running.length}</span></h2>
      ${running.length === 0 ? html`<${Empty}>No commands are running.</${Empty}>` : html`<${Table} caption="Running operations" rows=${running} sort=${['seconds', -1]} keyOf=${(o) => String(o.opid ?? o.desc)} columns=${[
        { name: 'op', title: 'Operation', value: (o) => o.op ?? o.type, show: (o) => html`<b>${o.op ?? o.type}</b> ${o.ns ?? ''}` },
        { name: 'seconds', title: 'Seconds', right: true, value: seconds, show: (o) => num(seconds(o)) },
        { name: 'command', title: 'Command', value: what, show: (o) => html`<code class="clip">${o.msg ?? what(o)}</code>` },
        { name: 'app', title: 'Application', value: (o) => o.appName ?? '' },
        { name: 'user', title: 'User', value: who },
        { name: 'client', title: 'Client', value: (o) => o.client ?? '' },
        ...(several ? [{ name: 'host', title: 'Server', value: (o) => o.host ?? '' }] : []),
        { name: 'waits', title: 'Progress', value: (o) => (o.waitingForLock ? 'yes' : ''), show: (o) => (o.waitingForLock ? html`<span class="flag">waiting</span>` : o.progress ? `${num(o.progress.done)} of ${num(o.progress.total)}` : '') },
        { name: 'kill', title: 'End', value: () => '', show: (o) => o.opid !== undefined && html`<button class="small danger" onClick=${() => ask(o)}>Kill…</button>` },
      ]}/>`}</section>
    <${Throttled} load=${p.ns ? null : load} shapes=${report.data?.requests ?? []} warnings=${(told.data?.warnings ?? []).filter((w) => w.refused > 0 && w.kind !== 'request' && (!p.ns || w.ns === p.ns))}/>
    <div class="columns">
      <section><h2>Idle cursors <span class="quiet">${cursors.length}</span></h2>${cursors.length === 0 ? html`<${Empty}>None.</${Empty}>` : html`<${Table} caption="Idle cursors" rows=${cursors} keyOf=${(o) => short(o.cursor?.cursorId)} columns=${[
        { name: 'ns', title: 'Collection', value: (o) => o.ns }, { name: 'n', title: 'Returned', right: true, value: (o) => whole(o.cursor?.nDocsReturned) },
        { name: 'command', title: 'Command', value: what, show: (o) => html`<code class="clip">${what(o)}</code>` }]}/>`}</section>
      <section><h2>Idle sessions and transactions <span class="quiet">${sessions.length}</span></h2>${sessions.length === 0 ? html`<${Empty}>None.</${Empty}>` : html`<${Table} caption="Idle sessions" rows=${sessions} keyOf=${(o) => short(o.lsid)} columns=${[
        { name: 'app', title: 'Application', value: (o) => o.appName ?? '' }, { name: 'client', title: 'Client', value: (o) => o.client ?? '' },
        { name: 'txn', title: 'Transaction open', right: true, value: (o) => whole(o.transaction?.timeOpenMicros) / 1e6, show: (o) => (o.transaction ? `${num(whole(o.transaction.timeOpenMicros) / 1e6)} s` : '–') }]}/>`}</section>
    </div>
    ${asked && html`<${Confirm} danger title="Kill an operation" action=${() => post('operations/kill', { id: asked.opid })} onDone=${again} onClose=${() => ask(null)}><p>Operation ${String(asked.opid)} of ${asked.appName || 'an unnamed application'} ends with Interrupted:</p><pre class="text">${what(asked)}</pre></${Confirm}>`}`;
}

// refusedBy is the caller with most of the recent refusals of a shape, undefined if there is none.
const refusedBy = (r) => (r.callers ?? []).filter((c) => c.recentThrottledPercent > 0).sort((a, b) => b.recentThrottledPercent - a.recentThrottledPercent)[0];

// limits are the limits that refuse requests, as in errInfo.throttle.
const limits = { partition: 'the RU/s of one partition', database: 'the RU/s that collections share', bucket: 'the part of a throughput bucket', priority: 'what a low priority leaves to others', queue: 'the number of requests that wait', metadata: 'commands on the catalog', injected: 'a test' };

// Throttled shows the partitions that refused requests for lack of request units, the refusals of the last 15 minutes by
// limit, and the shapes of the requests that were refused in the newest minutes.
function Throttled({ load, shapes, warnings }) {
  const by = Object.entries(load?.refusedBy ?? {}).map(([limit, n]) => ({ limit, n: Math.round(n.reduce((a, b) => a + b, 0) * load.step) })).sort((a, b) => b.n - a.n);
  const newest = Math.max(0, ...shapes.flatMap((r) => (r.history ?? []).map((m) => Number(m.at))));
  const lately = (r) => (r.history ?? []).filter((m) => Number(m.at) >= newest - 60).reduce((a, m) => a + Number(m.throttled), 0);
  const list = shapes.map((r) => ({ ...r, lately: lately(r), by: refusedBy(r) })).filter((r) => r.lately > 0).sort((a, b) => b.lately - a.lately).slice(0, 20);
  return html`<section aria-label="Throttled"><h2>Throttled <span class="quiet">${list.length}</span></h2>
    ${warnings.length > 0 && html`<ul class="warnings">${warnings.map((w) => html`<li key=${w.id} class="throttled"><${Cause} w=${w}/></li>`)}</ul>`}
    ${list.length === 0 ? html`<${Empty}>No requests were refused in the last minutes.</${Empty}>` : html`<${Table} caption="Requests refused in the last minutes" rows=${list} keyOf=${(r) => `${r.ns} ${r.command} ${r.filter}`} columns=${[
      { name: 'request', title: 'Request', value: (r) => r.command, show: (r) => html`<b>${r.command}</b> <code class="clip">${r.filter}</code>` },
      { name: 'ns', title: 'Collection', value: (r) => r.ns, show: (r) => html`<a href=${link({ view: 'requests', ns: r.ns })}>${r.ns}</a>` },
      ...(list.some((r) => r.by) ? [{ name: 'who', title: 'Most refusals of', value: (r) => (r.by ? nameOf(r.by) : ''), show: ({ by }) => by && html`${nameOf(by)} <span class="quiet">${by.user}</span> ${percent(by.recentThrottledPercent)}` }] : []),
      { name: 'n', title: 'Refused', right: true, value: (r) => r.lately, show: (r) => num(r.lately) }]}/>`}
    ${by.length > 0 && html`<${Table} caption="Refused in the last 15 minutes, by limit" rows=${by} keyOf=${(x) => x.limit} columns=${[
      { name: 'limit', title: 'Limit', value: (x) => x.limit, show: (x) => html`<b>${x.limit}</b> <span class="quiet">${limits[x.limit] ?? ''}</span>` },
      { name: 'n', title: 'Refused', right: true, value: (x) => x.n, show: (x) => num(x.n) }]}/>`}</section>`;
}
