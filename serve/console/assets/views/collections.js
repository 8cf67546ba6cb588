// Collections: the catalogue; of one collection its indexes, and its documents.
import { html, useState } from '../vendor/htm-preact.js';
import { bytes, count, get, num, short, whole } from '../api.js';
import { Aggregation, Documents } from '../documents.js';
import { Empty, Problem, Table } from '../parts.js';
import { link, useAsk, usePlace } from '../state.js';

const system = (c) => ['admin', 'config', 'local'].includes(c.db) || c.name.startsWith('system.');

// Disk shows the sizes on the disk of the server that answered.
function Disk({ of }) {
  return html`<section class="numbers" aria-label="Disk usage">
    <div><b data-number="disk">${bytes(of.diskBytes)}</b><span>database files</span></div>
    <div><b data-number="change-log">${bytes(of.changeLogBytes)}</b><span>of which change log</span></div>
    <div><b data-number="kept-log">${bytes(of.keptLogBytes)}</b><span>logs kept for the next backup</span></div>
    <div class=${of.refusesWrites ? 'bad' : ''}><b data-number="free">${bytes(of.diskFreeBytes)}</b><span>free of ${bytes(of.diskTotalBytes)}; ${bytes(of.diskReserveBytes)} must stay free</span></div>
  </section>`;
}

export default function Collections({ about, list, disk }) {
  const p = usePlace();
  const [all, setAll] = useState(false);
  if (p.ns) return html`<${One} about=${about} ns=${p.ns} key=${p.ns}/>`;
  const rows = (list ?? []).filter((c) => all || !system(c));
  return html`
    ${disk?.diskTotalBytes > 0 && html`<${Disk} of=${disk}/>`}
    <div class="bar-of-controls"><label><input type="checkbox" checked=${all} onChange=${(e) => setAll(e.target.checked)}/> show system collections</label></div>
    ${rows.length === 0 ? html`<${Empty}>No collections that you have access to.</${Empty}>` : html`<${Table} caption="Collections" rows=${rows} sort=${['ns', 1]} keyOf=${(c) => c.ns} onRow=${(c) => { location.hash = link({ view: 'collections', ns: c.ns }); }} columns=${[
      { name: 'ns', title: 'Collection', value: (c) => c.ns },
      { name: 'kind', title: 'Kind', value: (c) => c.kind },
      { name: 'key', title: 'Shard key', value: (c) => (c.key ? short(c.key) : ''), show: (c) => html`<code>${c.key ? short(c.key) : '–'}</code>` },
      { name: 'partitions', title: 'Partitions', right: true, value: (c) => c.partitions },
      { name: 'ru', title: 'Throughput', right: true, value: (c) => c.ru, show: (c) => (c.ru ? `${num(c.ru)} RU/s ${c.mode}` : c.mode === 'none' ? 'no limit' : c.mode) },
      { name: 'documents', title: 'Documents', right: true, value: (c) => c.documents ?? -1, show: (c) => num(c.documents) },
      { name: 'bytes', title: 'Size', right: true, value: (c) => c.bytes ?? -1, show: (c) => bytes(c.bytes) },
      { name: 'disk', title: 'On disk', right: true, value: (c) => c.diskBytes ?? -1, show: (c) => bytes(c.diskBytes) },
      { name: 'indexes', title: 'Indexes', right: true, value: (c) => c.indexes },
      { name: 'indexDisk', title: 'Indexes on disk', right: true, value: (c) => c.indexDiskBytes ?? -1, show: (c) => bytes(c.indexDiskBytes) },
    ]}/>`}`;
}

function One({ about, ns }) {
  const { data, error, again } = useAsk(() => get('collection', { ns }), [ns], 10);
  const [tab, setTab] = useState('documents');
  const uses = (name) => (data?.uses ?? []).filter((u) => u.name === name).reduce((a, u) => a + whole(u.accesses?.ops), 0);
  const size = (name) => data?.indexDisk?.[name];
  return html`
    <div class="bar-of-controls"><a href=${link({ ns: '' })}>← All collections</a><span class="grow"></span>
      ${data && html`<span class="quiet">${data.key ? html`sharded by <code>${short(data.key)}</code>, ${count(data.partitions, 'partition')}` : 'not sharded'} · ${count(data.documents, 'document')} · ${bytes(data.bytes)}${data.diskBytes !== undefined && html`<span data-disk>, on disk ${bytes(data.diskBytes)} and indexes ${bytes(data.indexDiskBytes)}</span>`} · ${data.ru ? `${num(data.ru)} RU/s ${data.mode}` : 'no limit'}</span>`}</div>
    <${Problem} error=${error}/>
    <div role="tablist" class="tabs">${[['documents', 'Documents'], ['aggregation', 'Aggregation'], ['indexes', 'Indexes'], ['options', 'Options']].map(([k, t]) => html`<button role="tab" key=${k} id=${'tab-' + k} aria-selected=${tab === k} onClick=${() => setTab(k)}>${t}</button>`)}</div>
    <div role="tabpanel" aria-labelledby=${'tab-' + tab}>
    ${tab === 'documents' && html`<${Documents} about=${about} ns=${ns}/>`}
    ${tab === 'aggregation' && html`<${Aggregation} ns=${ns}/>`}
    ${tab === 'indexes' && data && html`<${Table} caption="Indexes" rows=${data.indexDetails} keyOf=${(x) => x.name} columns=${[
      { name: 'name', title: 'Name', value: (x) => x.name },
      { name: 'key', title: 'Keys', value: (x) => short(x.key), show: (x) => html`<code>${short(x.key)}</code>` },
      { name: 'kind', title: 'Kind', value: (x) => ['unique', 'sparse', 'hidden'].filter((k) => x[k]).concat(x.partialFilterExpression ? ['partial'] : [], 'expireAfterSeconds' in x ? ['expires'] : []).join(', ') },
      { name: 'uses', title: 'Uses since server start', right: true, value: (x) => uses(x.name), show: (x) => num(uses(x.name)) },
      { name: 'size', title: 'On disk', right: true, value: (x) => size(x.name) ?? -1, show: (x) => bytes(size(x.name)) },
    ]}/>`}
    ${tab === 'options' && data && html`<pre class="text" tabindex="0">${JSON.stringify({ options: data.options, statistics: data.statistics }, null, 1)}</pre>`}</div>`;
}
