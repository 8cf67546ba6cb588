// Requests: what commands cost by their shape; for one shape its plan and its bill.
import { html, useState } from '../vendor/htm-preact.js';
import { clock, get, num, percent, post, short } from '../api.js';
import { Chart } from '../chart.js';
import { Bar, Confirm, Empty, Missing, Problem, Table } from '../parts.js';
import { go, link, useAsk, usePlace } from '../state.js';
import { Callers, Who, nameOf } from '../who.js';

// within adds up what a shape did in the minutes of a time.
const within = (r, [from, to]) => (r.history ?? []).filter((m) => Number(m.at) + 60 > from && Number(m.at) < to).reduce((a, m) => ({ ru: a.ru + m.ru, count: a.count + Number(m.count), throttledDocuments: a.throttledDocuments + Number(m.throttled) }), { ru: 0, count: 0, throttledDocuments: 0 });

const idOf = (r) => `${r.ns} ${r.command} ${r.filter} ${r.sort ?? ''}`;

// indexFor returns the index for a shape: its fields with equality, then its sort, then its ranges.
export function indexFor(r) {
  const key = {};
  for (const f of r.fields) if (f.by === 'equal' || f.by === 'in') key[f.path] = 1;
  for (const m of (r.sort ?? '').matchAll(/([\w.$]+): (-?1)/g)) key[m[1]] ??= Number(m[2]);
  for (const f of r.fields) if (f.by === 'range') key[f.path] ??= 1;
  delete key._id;
  return Object.keys(key).length ? key : null;
}

export default function Requests() {
  const p = usePlace();
  const { data, error } = useAsk(() => get('requests', { ns: p.ns, history: 1 }), [p.ns], 3);
  const [open, setOpen] = useState(p.extra || null);
  if (!data) return html`<${Problem} error=${error}/>`;
  const shape = data.requests.find((r) => idOf(r) === open);
  // A selected time shows what was done then, as far as the last hour is remembered.
  let list = data.requests;
  if (p.brush) {
    list = list.map((r) => { const w = within(r, p.brush); return { ...r, ...w, ruAverage: w.count ? w.ru / w.count : 0 }; }).filter((r) => r.ru > 0 || r.count > 0);
    const all = list.reduce((a, r) => a + r.ru, 0);
    list.forEach((r) => { r.ruPercent = all ? (100 * r.ru) / all : 0; });
  }
  return html`
    ${p.brush && html`<p class="pattern" data-selected>In the minutes from ${clock(p.brush[0])} to ${clock(p.brush[1])}: <b>${num(list.reduce((a, r) => a + r.ru, 0))} RU</b> in ${list.length} shapes. Data by the minute reaches back one hour; milliseconds, partitions and documents refer to all runs.</p>`}
    <${Missing} of=${data.incomplete}/>
    <p class="quiet">Cost of commands since ${data.since ? clock(Date.parse(data.since.$date) / 1000) : 'the server started'}: <b>${num(data.ruTotal)} RU</b> in ${data.shapes} shapes${data.ruOperators > 0 ? html`, and ${num(data.ruOperators)} RU of operators (this console, diagnosis) outside of the budgets` : ''}. A shape is a command without its values.</p>
    ${list.length === 0 ? html`<${Empty}>No requests have been counted yet.</${Empty}>` : html`<${Table} caption="Request shapes" rows=${list} sort=${['ru', -1]} keyOf=${idOf} chosen=${open} onRow=${(r) => setOpen(open === idOf(r) ? null : idOf(r))} columns=${[
      { name: 'shape', title: 'Shape', value: idOf, show: (r) => html`<span class="shape"><b>${r.command}</b> <code>${r.filter}${r.sort ? ` sort ${r.sort}` : ''}</code>${!p.ns && html` <span class="quiet">${r.ns}</span>`}${r.warnings.map((w) => html` <span key=${w} class="flag" title=${w}>${w.split(':')[0]}</span>`)}</span>` },
      { name: 'ru', title: 'RU', right: true, value: (r) => r.ru, show: (r) => html`<${Bar} share=${(r.ruPercent ?? 0) / 100} text=${`${num(r.ru)} · ${percent(r.ruPercent ?? 0)}`} hot=${r.warnings.length > 0}/>` },
      { name: 'count', title: 'Runs', right: true, value: (r) => r.count, show: (r) => num(r.count) },
      { name: 'average', title: 'RU each', right: true, value: (r) => r.ruAverage, show: (r) => num(r.ruAverage) },
      { name: 'ms', title: 'ms each', right: true, value: (r) => r.millisAverage, show: (r) => num(r.millisAverage) },
      { name: 'p99', title: 'p99 ms', right: true, value: (r) => r.millisP99, show: (r) => num(r.millisP99) },
      { name: 'slowest', title: 'Max ms', right: true, value: (r) => r.millisMax, show: (r) => num(r.millisMax) },
      { name: 'visited', title: 'Partitions', right: true, value: (r) => r.partitionsVisited ?? 0, show: (r) => num(r.partitionsVisited) },
      { name: 'loaded', title: 'Documents', right: true, value: (r) => r.documentsLoaded, show: (r) => num(r.documentsLoaded) },
      ...(list.some((r) => r.callers?.length) ? [{ name: 'who', title: 'Most RU by', value: (r) => (r.callers?.[0] ? nameOf(r.callers[0]) : ''), show: (r) => html`<${Who} of=${r.callers}/>` }] : []),
      { name: 'throttled', title: 'Refused', right: true, value: (r) => r.throttledDocuments, show: (r) => html`<span class=${r.throttledDocuments ? 'bad' : ''}>${num(r.throttledDocuments)}</span>` },
    ]}/>`}
    ${shape && html`<${Shape} key=${open} r=${shape}/>`}
    ${data.account && html`<${Refusals} of=${data.account}/>`}`;
}

// Refusals lists what clients used and an account of Azure Cosmos DB does not have.
function Refusals({ of }) {
  return html`<section class="detail" aria-label="Features that an account refuses"><header><h2>Features that an Azure Cosmos DB ${of.version} account refuses</h2></header>
    <p class="quiet">${of.lenient ? 'This server accepted them, because --cosmos-lenient is set.' : 'This server refused them, too; with --cosmos-lenient it accepts and counts them.'}</p>
    <${Table} caption="Features that an account refuses" rows=${of.refuses} sort=${['count', -1]} keyOf=${(r) => `${r.kind} ${r.name} ${r.appName}`} columns=${[
      { name: 'name', title: 'Feature', value: (r) => r.name, show: (r) => html`<code>${r.name}</code>` },
      { name: 'kind', title: 'Kind', value: (r) => r.kind },
      { name: 'app', title: 'Application', value: (r) => r.appName || '-' },
      { name: 'count', title: 'Uses', right: true, value: (r) => Number(r.count), show: (r) => num(Number(r.count)) },
      { name: 'last', title: 'Last used', value: (r) => r.last.$date, show: (r) => clock(Date.parse(r.last.$date) / 1000) },
    ]}/></section>`;
}

function Shape({ r }) {
  const [state, set] = useState({}), [asked, ask] = useState(false);
  const explain = async (run) => {
    set({ busy: true });
    try { set({ plan: await post('explain', { ns: r.ns, filter: r.filter, sort: r.sort ?? '', run }) }); } catch (error) { set({ error }); }
  };
  const key = indexFor(r), findable = ['find', 'aggregate', 'count', 'distinct', 'update', 'delete', 'findAndModify'].includes(r.command);
  return html`<section class="detail" aria-label="One shape"><header><h2>${r.command} <code>${r.filter}</code></h2></header>
    ${r.warnings.map((w) => html`<p class="problem" key=${w}>${w}</p>`)}
    <p>Filters by ${r.fields.length ? r.fields.map((f) => html`<code key=${f.path}>${f.path} (${f.by})</code> `) : 'no field'}; last run ${clock(Date.parse(r.last.$date) / 1000)}; most expensive run ${num(r.ruMax)} RU; ${num(r.fanOuts)} fan-outs; ${num(r.failed)} failed.</p>
    <${Past} r=${r}/>
    <${Callers} of=${r.callers}/>
    <div class="actions">
      <button class="primary" disabled=${!findable || state.busy} onClick=${() => explain(true)} data-explain title=${r.costliest ? `with the values of its most expensive run, ${num(r.costliest.ru)} RU` : 'with values of a document'}>Explain and run</button>
      <button disabled=${!findable || state.busy} onClick=${() => explain(false)}>Explain only</button>
      ${key && html`<button onClick=${() => ask(true)}>Create index ${short(key)}…</button>`}
      <a class="button" href=${link({ view: 'heat', ns: r.ns, metric: r.command === 'insert' ? 'writes' : 'ru' })}>Heat map</a>
      <a class="button" href=${link({ view: 'whatif', ns: r.ns, extra: 'advise' })}>Advise a shard key</a></div>
    <${Problem} error=${state.error}/>
    ${state.plan && html`${state.plan.command?.filter && html`<p class="quiet" data-explained>Explained with ${r.costliest ? 'the filter of the most expensive recorded run' : 'values of a document'}: <code>${short(state.plan.command.filter)}</code></p>`}<${Plan} plan=${state.plan}/>`}
    ${asked && html`<${Confirm} title="Create an index" action=${() => post('collection/index', { ns: r.ns, key })} onDone=${() => go({ view: 'collections', ns: r.ns })} onClose=${() => ask(false)}><p>An index ${short(key)} on ${r.ns} is built while the collection stays in use. Afterwards each write costs about 0.4 RU more per index entry.</p></${Confirm}>`}</section>`;
}

// Past is what a shape did in each minute of the last hour.
function Past({ r }) {
  if (!r.history?.length) return null;
  const by = new Map(r.history.map((m) => [Number(m.at), m])), end = Math.floor(Date.now() / 60000) * 60;
  const last = Math.max(end, Number(r.history.at(-1).at)), times = Array.from({ length: 60 }, (_, i) => last - (59 - i) * 60);
  return html`<${Chart} title="Request units per minute, last hour" height=${130} times=${times} series=${[
    { label: 'RU', colour: '--c1', fill: '--c1-soft', values: times.map((t) => by.get(t)?.ru ?? 0) },
    { label: 'refused', colour: '--bad', values: times.map((t) => Number(by.get(t)?.throttled ?? 0)) }]}/>`;
}

// steps lists the stages of a plan from the last to the first, each once with how many shards run it.
function steps(plan, depth = 0, out = []) {
  if (!plan) return out;
  out.push({ depth, stage: plan.stage, index: plan.indexName, detail: plan.indexBounds ?? plan.filter ?? plan.keyPattern });
  const shards = plan.shards ?? [];
  if (shards.length) {
    out.at(-1).shards = shards.length;
    steps(shards[0].winningPlan ?? shards[0].executionStages, depth + 1, out);
  }
  for (const next of plan.inputStage ? [plan.inputStage] : plan.inputStages ?? []) steps(next, depth + 1, out);
  return out;
}

export function Plan({ plan }) {
  const list = steps(plan.queryPlanner?.winningPlan), bill = plan.requestCharge ?? plan.executionStats?.requestCharge ?? plan.requestChargeEstimate, estimate = plan.requestChargeEstimate;
  const charges = Object.entries((typeof bill === 'object' ? bill : estimate)?.charges ?? {});
  const most = Math.max(1e-9, ...charges.map(([, v]) => v));
  const stats = plan.executionStats;
  return html`<div class="columns">
    <section><h3>Plan</h3><ol class="plan">${list.map((s, i) => html`<li key=${i} class=${'depth' + Math.min(6, s.depth)}><b>${s.stage}</b>${s.shards ? html` on ${s.shards} partition${s.shards > 1 ? 's' : ''}` : ''} ${s.index && html`<code>${s.index}</code>`} ${s.detail && html`<code class="quiet">${short(s.detail)}</code>`}</li>`)}</ol>
      ${stats && html`<p>${num(stats.nReturned)} returned, ${num(stats.totalDocsExamined)} documents and ${num(stats.totalKeysExamined)} keys examined, ${num(stats.executionTimeMillis)} ms.</p>`}</section>
    <section><h3>Charge</h3><p><b data-bill>${num(typeof bill === 'object' ? bill.total : bill)} RU</b>${stats ? ` charged, ${num(estimate?.total)} estimated` : ' estimated'}; price list ${estimate?.prices}</p>
      <ol class="hot">${charges.map(([name, v]) => html`<li key=${name}><span>${name}</span><${Bar} share=${v / most} text=${`${num(v)} RU`}/></li>`)}</ol></section></div>
    <details><summary>Full explain output</summary><pre class="text" tabindex="0">${JSON.stringify(plan, null, 1)}</pre></details>`;
}
