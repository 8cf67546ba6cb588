// Bill: what users, applications, collections, shapes and shard key values have cost in a month.
import { html } from '../vendor/htm-preact.js';
import { get, num, percent, short, whole } from '../api.js';
import { Bar, Empty, Problem, Table } from '../parts.js';
import { useAsk, usePlace, visit } from '../state.js';

const kinds = [['user', 'User'], ['application', 'Application'], ['bucket', 'Throughput bucket'], ['collection', 'Collection'], ['shape', 'Shape'], ['value', 'Shard key value']];

// units writes hundredths of a request unit as request units, exactly.
export function units(hundredths) {
  const n = BigInt(hundredths?.$numberLong ?? hundredths ?? 0);
  return `${String(n / 100n).replace(/\B(?=(\d{3})+$)/g, '\u202f')}.${String(n % 100n).padStart(2, '0')}`;
}

function name(r, by) {
  if (r.others) return html`<span class="quiet">others</span>`;
  if (by === 'shape') return html`<span class="shape"><b>${r.command}</b> <code>${r.filter}${r.sort ? ` sort ${r.sort}` : ''}</code> <span class="quiet">${r.ns}</span></span>`;
  if (by === 'value') return html`${r.value ? html`<code>${short(r.value)}</code>` : html`<span class="quiet">values of documents that you may not read</span>`} <span class="quiet">${r.ns}</span>`;
  return r.name || html`<span class="quiet">none</span>`;
}

export default function Bill() {
  const p = usePlace();
  const [by = '', month = ''] = p.extra.split(',');
  const kind = kinds.find(([k]) => k === by) ?? kinds[3];
  const { data, error } = useAsk(() => get('bill', { by: kind[0], month }), [kind[0], month], 30);
  if (!data || data.by !== kind[0]) return html`<${Problem} error=${error}/>`;
  const all = whole(data.hundredths), others = data.others.commands ? [{ ...data.others, others: true, name: '\uffff' }] : [];
  const chosen = month || data.months[0];
  const change = (b, m) => visit({ extra: `${b},${m}` });
  return html`
    <div class="bar-of-controls"><div class="group" role="group" aria-label="Rows">${kinds.map(([k, title]) => html`<button key=${k} aria-pressed=${k === kind[0]} onClick=${() => change(k, month)}>${title}</button>`)}</div>
      <label>Month <select data-month value=${chosen} onChange=${(e) => change(kind[0], e.target.value)}>${data.months.map((m) => html`<option key=${m} value=${m} selected=${m === chosen}>${m}</option>`)}</select></label>
      <a class="button" data-csv href=${`api/v1/bill?by=${kind[0]}&month=${chosen}&format=csv`} download>Download CSV</a></div>
    <${Problem} error=${error}/>
    <p class="quiet"><b data-total>${units(data.hundredths)} RU</b> in ${num(whole(data.commands))} replies with a charge in ${chosen}, UTC. The rows add up to the charges in the replies. In each hour the 100 names with the highest sums have rows; the others share one.</p>
    ${whole(data.commands) === 0 ? html`<${Empty}>No command had a charge in this month.</${Empty}>` : html`<${Table} caption=${`Request units by ${kind[1].toLowerCase()}`} rows=${[...data.rows, ...others]} sort=${['ru', -1]} keyOf=${(r) => (r.others ? 'others' : `=${r.name}`)} columns=${[
      { name: 'name', title: kind[1], value: (r) => r.name, show: (r) => name(r, kind[0]) },
      { name: 'ru', title: 'RU', right: true, value: (r) => whole(r.hundredths), show: (r) => html`<${Bar} share=${whole(r.hundredths) / all} text=${`${units(r.hundredths)} · ${percent((100 * whole(r.hundredths)) / all)}`}/>` },
      { name: 'commands', title: 'Replies', right: true, value: (r) => whole(r.commands), show: (r) => num(whole(r.commands)) },
      { name: 'each', title: 'RU each', right: true, value: (r) => whole(r.hundredths) / whole(r.commands), show: (r) => num(whole(r.hundredths) / 100 / whole(r.commands)) },
    ]}/>`}`;
}
