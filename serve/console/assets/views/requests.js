// Requests: the cost of commands by their shape; for one shape its plan and its bill.
import { html, useState } from '../vendor/htm-preact.js';
import { clock, count, get, num, percent, post, second, short } from '../api.js';
import { Chart } from '../chart.js';
import { Delta, faint } from '../compare.js';
import { Bar, Confirm, Empty, Missing, Problem, Refused, Table } from '../parts.js';
import { go, link, pollSeconds, timeWindow, useAsk, usePlace } from '../state.js';
import { Callers, Who, nameOf } from '../who.js';

const idOf = (r) => `${r.ns} ${r.command} ${r.filter} ${r.sort ?? ''}`;

// unknown is a shape that has not run since the server started.
const unknown = { fields: [], warnings: [], fanOuts: 0, failed: 0 };

// merged lists the shapes of a time, each with its work in this time and before, and the averages of all of its runs.
function merged(range, report) {
  const known = new Map(report.map((r) => [idOf(r), r])), all = range.shapes.reduce((a, r) => a + r.now.ru, 0);
  const each = (w) => (w.count ? w.ru / w.count : undefined);
  return range.shapes.map((s) => ({ ...unknown, ...known.get(idOf(s)), ...s, ...s.now, throttledDocuments: s.now.refused, ruAverage: each(s.now), averageBefore: each(s.before), ruPercent: all ? (100 * s.now.ru) / all : 0, others: !s.command }));
}

// indexFor returns the index for a shape: its fields with equality, then its sort, then its ranges.
function indexFor(r) {
  const key = {};
  for (const f of r.fields) if (f.by === 'equal' || f.by === 'in') key[f.path] = 1;
  for (const m of (r.sort ?? '').matchAll(/([\w.$]+): (-?1)/g)) key[m[1]] ??= Number(m[2]);
  for (const f of r.fields) if (f.by === 'range') key[f.path] ??= 1;
  delete key._id;
  return Object.keys(key).length ? key : null;
}

export default function Requests() {
  const p = usePlace();
  const { data, error } = useAsk(() => get('requests', { ns: p.ns, top: 500 }), [p.ns], 3);
  const range = useAsk(() => get('requests/range', { ns: p.ns, top: 500, ...timeWindow(p) }), [p.ns, p.range, p.brush?.join()], pollSeconds(p));
  const [open, setOpen] = useState(p.extra || null);
  if (!data || !range.data) return html`<${Problem} error=${error ?? range.error}/>`;
  const list = merged(range.data, data.requests), cause = range.data.shapes.find((r) => r.command);
  // Without a choice of the user, a link to the cause opens the shape with the most work and refusals.
  const chosen = open === 'cause' ? cause && idOf(cause) : open;
  const shape = list.find((r) => idOf(r) === chosen) ?? data.requests.find((r) => idOf(r) === chosen);
  const old = range.data.compared;
  const delta = (now, before, grows) => old && html`<${Delta} now=${now ?? 0} before=${before ?? 0} grows=${grows}/>`;
  return html`
    <p class="quiet" data-selected>${clock(range.data.from)} – ${clock(range.data.to)}: <b>${num(list.reduce((a, r) => a + r.ru, 0))} RU</b> in ${list.filter((r) => !r.others && (r.count || r.ru || r.throttledDocuments)).length} shapes${old ? `, beside ${num(list.reduce((a, r) => a + r.before.ru, 0))} RU in the same time before` : `; the time before is not recorded as a whole (the record begins at ${clock(range.data.since)})`}. A shape is a command without its values; milliseconds, partitions and documents are averages since ${data.since ? clock(second(data.since)) : 'the server started'}${data.ruOperators > 0 ? html`<span data-operators>; since then operators (this console, diagnosis) used ${num(data.ruOperators)} RU outside of the budgets</span>` : ''}.</p>
    <${Missing} of=${data.incomplete}/>
    ${list.length > 0 && html`<${History} title=${p.ns ? `Request units per second, ${p.ns}` : 'Request units per second'} of=${range.data}/>`}
    ${list.length === 0 ? html`<${Empty}>No requests in this time.</${Empty}>` : html`<${Table} caption="Request shapes" rows=${list} sort=${['ru', -1]} keyOf=${idOf} chosen=${chosen} onRow=${(r) => setOpen(r.others || chosen === idOf(r) ? null : idOf(r))} columns=${[
      { name: 'shape', title: 'Shape', value: idOf, show: (r) => r.others ? html`<span class="quiet">others${r.ns ? ` of ${r.ns}` : ''}</span>` : html`<span class="shape"><b>${r.command}</b> <code>${r.filter}${r.sort ? ` sort ${r.sort}` : ''}</code>${!p.ns && html` <span class="quiet">${r.ns}</span>`}${r.warnings.map((w) => html` <span key=${w} class="flag" title=${w}>${w.split(':')[0]}</span>`)}</span>` },
      { name: 'ru', title: 'RU', right: true, value: (r) => r.ru, show: (r) => html`<${Bar} share=${(r.ruPercent ?? 0) / 100} text=${`${num(r.ru)} · ${percent(r.ruPercent ?? 0)}`} hot=${r.warnings.length > 0}/>${delta(r.ru, r.before.ru, 1)}` },
      { name: 'count', title: 'Runs', right: true, value: (r) => r.count, show: (r) => html`${num(r.count)}${delta(r.count, r.before.count, 0)}` },
      { name: 'average', title: 'RU each', right: true, value: (r) => r.ruAverage, show: (r) => html`${num(r.ruAverage)}${r.count > 0 && r.before.count > 0 && delta(r.ruAverage, r.averageBefore, 1)}` },
      { name: 'ms', title: 'ms each', right: true, value: (r) => r.millisAverage, show: (r) => num(r.millisAverage) },
      { name: 'p99', title: 'p99 ms', right: true, value: (r) => r.millisP99, show: (r) => num(r.millisP99) },
      { name: 'slowest', title: 'Max ms', right: true, value: (r) => r.millisMax, show: (r) => num(r.millisMax) },
      { name: 'visited', title: 'Partitions', right: true, value: (r) => r.partitionsVisited ?? 0, show: (r) => num(r.partitionsVisited) },
      { name: 'loaded', title: 'Documents', right: true, value: (r) => r.documentsLoaded, show: (r) => num(r.documentsLoaded) },
      ...(list.some((r) => r.callers?.length) ? [{ name: 'who', title: 'Most RU by', value: (r) => (r.callers?.[0] ? nameOf(r.callers[0]) : ''), show: (r) => html`<${Who} of=${r.callers}/>` }] : []),
      { name: 'throttled', title: 'Refused', right: true, value: (r) => r.throttledDocuments, show: (r) => html`<${Refused} n=${r.throttledDocuments}/>${delta(r.throttledDocuments, r.before.refused, 1)}` },
    ]}/>`}
    ${shape && html`<${Shape} key=${chosen} r=${shape}/>`}
    ${data.account && html`<${Refusals} of=${data.account}/>`}`;
}

// Refusals lists the features that clients used and an account of Azure Cosmos DB does not have.
function Refusals({ of }) {
  return html`<section class="detail" aria-label="Features that an account refuses"><header><h2>Features that an Azure Cosmos DB ${of.version} account refuses</h2></header>
    <p class="quiet">${of.lenient ? 'This server accepted them, because --cosmos-lenient is set.' : 'This server refused them, too; with --cosmos-lenient it accepts and counts them.'}</p>
    <${Table} caption="Features that an account refuses" rows=${of.refuses} sort=${['count', -1]} keyOf=${(r) => `${r.kind} ${r.name} ${r.appName}`} columns=${[
      { name: 'name', title: 'Feature', value: (r) => r.name, show: (r) => html`<code>${r.name}</code>` },
      { name: 'kind', title: 'Kind', value: (r) => r.kind },
      { name: 'app', title: 'Application', value: (r) => r.appName || '-' },
      { name: 'count', title: 'Uses', right: true, value: (r) => Number(r.count), show: (r) => num(Number(r.count)) },
      { name: 'last', title: 'Last used', value: (r) => r.last.$date, show: (r) => clock(second(r.last)) },
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
    <p>Filters by ${r.fields.length ? r.fields.map((f) => html`<code key=${f.path}>${f.path} (${f.by})</code> `) : 'no field'}; ${r.last ? html`last run ${clock(second(r.last))}` : html`not run since the server started`}; most expensive run ${num(r.ruMax)} RU; ${num(r.fanOuts)} fan-outs; ${num(r.failed)} failed.</p>
    <div class="actions">
      <button class="primary" disabled=${!findable || state.busy} onClick=${() => explain(true)} data-explain title=${r.costliest ? `with the values of its most expensive run, ${num(r.costliest.ru)} RU` : 'with values of a document'}>Explain and run</button>
      <button disabled=${!findable || state.busy} onClick=${() => explain(false)}>Explain only</button>
      ${key && html`<button onClick=${() => ask(true)}>Create index ${short(key)}…</button>`}
      <a class="button" href=${link({ view: 'heat', ns: r.ns, metric: r.command === 'insert' ? 'writes' : 'ru' })}>Heat map</a>
      <a class="button" href=${link({ view: 'whatif', ns: r.ns, extra: 'advise' })}>Advise a shard key</a></div>
    <${Problem} error=${state.error}/>
    ${state.plan && html`${state.plan.command?.filter && html`<p class="quiet" data-explained>Explained with ${r.costliest ? 'the filter of the most expensive recorded run' : 'values of a document'}: <code>${short(state.plan.command.filter)}</code></p>`}<${Plan} plan=${state.plan}/>`}
    <${Past} r=${r}/>
    <${Callers} of=${r.callers}/>
    ${asked && html`<${Confirm} title="Create an index" action=${() => post('collection/index', { ns: r.ns, key })} onDone=${() => go({ view: 'collections', ns: r.ns })} onClose=${() => ask(false)}><p>An index ${short(key)} on ${r.ns} is built while the collection stays in use. Afterwards each write costs about 0.4 RU more per index entry.</p></${Confirm}>`}</section>`;
}

// History is a chart of the work of all shapes, or of one, in a time and in the time of the same length before.
function History({ title, of, height = 150 }) {
  const times = of.ru.map((_, i) => of.from + i * of.step), before = of.compared && faint(of.ruBefore);
  return html`<${Chart} title=${title} height=${height} times=${times} series=${[{ label: 'RU/s', colour: '--c1', fill: '--c1-soft', values: of.ru }, { label: 'refused/s', colour: '--bad', values: of.refused }, before].filter(Boolean)}/>`;
}

// Past shows the history of one shape in the shown time.
function Past({ r }) {
  const p = usePlace();
  const { data } = useAsk(() => get('requests/range', { ns: r.ns, command: r.command, filter: r.filter, sort: r.sort, ...timeWindow(p) }), [p.range, p.brush?.join()], pollSeconds(p));
  return data && html`<${History} title="Request units per second of this shape" of=${data} height=${130}/>`;
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

// stagesOf lists the stages of a plan, or of a pipeline's explain output, from the last to the first.
function stagesOf(plan, depth = 0) {
  const winning = plan.queryPlanner?.winningPlan;
  if (winning) return steps(winning.queryPlan ?? winning, depth);
  const named = (s) => { const [stage, detail] = Object.entries(s)[0]; return stage === '$cursor' ? stagesOf(detail, depth) : [{ depth, stage, detail }]; };
  if (plan.stages) return [...plan.stages].reverse().flatMap(named);
  const parts = Object.values(plan.shards ?? {});
  if (!parts.length) return [];
  const below = stagesOf(parts[0], depth + 1);
  if (below.length) below[0].shards = parts.length;
  return [...(plan.splitPipeline?.mergerPart ?? []).slice().reverse().flatMap(named), ...below];
}

export function Plan({ plan }) {
  const list = stagesOf(plan), bill = plan.requestCharge ?? plan.executionStats?.requestCharge ?? plan.requestChargeEstimate, estimate = plan.requestChargeEstimate;
  const charges = Object.entries((typeof bill === 'object' ? bill : estimate)?.charges ?? {});
  const most = Math.max(1e-9, ...charges.map(([, v]) => v));
  const stats = plan.executionStats;
  return html`<div class="columns">
    <section><h3>Plan</h3><ol class="plan">${list.map((s, i) => html`<li key=${i} class=${'depth' + Math.min(6, s.depth)}><b>${s.stage}</b>${s.shards ? html` on ${s.shards} partition${s.shards > 1 ? 's' : ''}` : ''} ${s.index && html`<code>${s.index}</code>`} ${s.detail && html`<code class="quiet">${short(s.detail)}</code>`}</li>`)}</ol>
      ${stats && html`<p>${num(stats.nReturned)} returned, ${count(stats.totalDocsExamined, 'document')} and ${count(stats.totalKeysExamined, 'key')} examined, ${num(stats.executionTimeMillis)} ms.</p>`}</section>
    <section><h3>Charge</h3><p><b data-bill>${num(typeof bill === 'object' ? bill.total : bill)} RU</b>${plan.requestCharge !== undefined || stats ? ` charged, ${num(estimate?.total)} estimated` : ' estimated'}; price list ${estimate?.prices}</p>
      <ol class="hot">${charges.map(([name, v]) => html`<li key=${name}><span>${name}</span><${Bar} share=${v / most} text=${`${num(v)} RU`}/></li>`)}</ol></section></div>
    <details><summary>Full explain output</summary><pre class="text" tabindex="0">${JSON.stringify(plan, null, 1)}</pre></details>`;
}
