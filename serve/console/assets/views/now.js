// Now: a line per second, large numbers, and the warnings.
import { html, useEffect, useState } from '../vendor/htm-preact.js';
import { clock, get, num, percent } from '../api.js';
import { Chart } from '../chart.js';
import { faint, shifted } from '../compare.js';
import { live, names } from '../live.js';
import { Bar, Empty, Missing, Problem } from '../parts.js';
import { link, timeWindow, useAsk, usePlace } from '../state.js';
import { Warnings } from '../warnings.js';

const sum = (list) => list.reduce((a, b) => a + b, 0);

export default function Now({ about }) {
  const p = usePlace();
  const [, again] = useState(0);
  const past = useAsk(() => (p.range > 900 || p.brush ? get('lines', timeWindow(p)) : null), [p.range, p.brush?.join()], p.brush ? 0 : 10);
  const length = p.brush ? p.brush[1] - p.brush[0] : p.range;
  // The time of the same length before is drawn as a faint line.
  const older = useAsk(() => { if (!about.load) return null; const to = Math.round(p.brush ? p.brush[0] : (live.times.at(-1) ?? Date.now() / 1000) + 1 - length); return get('lines', { from: Math.round(to - length), to }); }, [p.range, p.brush?.join(), live.times.length > 0], p.brush ? 0 : 10).data;
  useEffect(() => {
    const f = () => again((n) => n + 1);
    live.listeners.add(f);
    return () => live.listeners.delete(f);
  }, []);
  if (!about.load) return html`<${Empty}>Seeing the load of the whole server requires the role clusterMonitor. <a href=${link({ view: 'collections' })}>Go to your collections</a>.</${Empty}>`;
  const own = !past.data;
  const keep = own && p.range < 900 ? -p.range : 0; // the live lines have 15 minutes
  const times = own ? live.times.slice(keep) : past.data.ru.map((_, i) => past.data.from + i * past.data.step);
  const lines = own ? Object.fromEntries(names.map((n) => [n, live.lines[n].slice(keep)])) : Object.fromEntries(names.map((n) => [n, past.data[n]]));
  const refused = sum(live.last('refused', 60)), ru = live.last('ru')[0] ?? 0, provisioned = live.last('provisioned')[0] ?? 0;
  const busiest = Math.max(0, ...live.last('busiest', 60));
  const marks = live.events.filter((e) => e.kind !== 'create');
  const before = (name) => [faint(shifted(times, older, name, length), `${name === 'ru' ? 'used' : name} before`)].filter(Boolean);
  return html`
    <${Missing} of=${(own ? live.lines : past.data).incomplete}/>
    <section class="numbers" aria-label="This second">
      <div><b data-number="ru">${num(ru)}</b><span>RU/s${provisioned > 0 ? ` of ${num(provisioned)}` : ''}</span></div>
      <div><b>${num((live.last('reads')[0] ?? 0) + (live.last('writes')[0] ?? 0))}</b><span>requests/s</span></div>
      <div class=${refused > 0 ? 'bad' : ''}><b data-number="refused">${num(refused)}</b><span>refused in the last minute</span></div>
      <div class=${busiest >= 100 ? 'bad' : ''}><b>${provisioned > 0 ? percent(busiest) : '–'}</b><span>busiest partition, of its RU/s</span></div>
      <div><b>${num(live.last('p99')[0] ?? 0)} ms</b><span>p99 latency</span></div>
      <div><b>${num(live.last('connections')[0] ?? 0)}</b><span>connections</span></div>
    </section>
    <${Problem} error=${past.error}/>
    <${Warnings} ns=${p.ns}/>
    <div class="charts">
      <${Chart} title="Request units per second" times=${times} marks=${marks} series=${[
        { label: 'used', colour: '--c1', fill: '--c1-soft', values: lines.ru },
        { label: 'provisioned', colour: '--quiet', dash: [5, 4], values: lines.provisioned.map((v) => v || null) }, ...before('ru')]}/>
      <${Chart} title="Requests per second" times=${times} marks=${marks} series=${[
        { label: 'reads', colour: '--c1', values: lines.reads }, { label: 'writes', colour: '--c2', values: lines.writes },
        { label: 'refused', colour: '--bad', values: lines.refused }, { label: 'failed', colour: '--c4', dash: [3, 3], values: lines.failed }, ...before('reads')]}/>
      <${Chart} title="Latency, ms" times=${times} least=${0.1} series=${[
        { label: 'p50', colour: '--c1', values: lines.p50 }, { label: 'p99', colour: '--c2', values: lines.p99 }, ...before('p99')]}/>
      <${Chart} title="Busiest partition, % of its RU/s" times=${times} least=${100} series=${[{ label: 'busiest', colour: '--bad', fill: '--bad-soft', values: lines.busiest }, ...before('busiest')]}/>
    </div>
    <div class="columns">
      <section><h2>Busiest partitions this second</h2>
        ${live.hot.length === 0 ? html`<${Empty}>No load.</${Empty}>` : html`<ol class="hot">${live.hot.map((h) => html`<li key=${h.ns + h.partition}><a href=${link({ view: 'heat', ns: h.ns, extra: String(h.partition) })}>${h.ns} · ${h.partition}</a><${Bar} share=${h.share} text=${`${num(h.ru)} RU/s · ${percent(h.share * 100)}`}/></li>`)}</ol>`}
      </section>
      <section><h2>Events</h2>
        ${live.events.length === 0 ? html`<${Empty}>No split, merge or throughput change in the last 15 minutes.</${Empty}>` : html`<ol class="events">${live.events.slice(-12).reverse().map((e) => html`<li key=${e.at + e.ns + e.kind + e.text}><time>${clock(e.at)}</time> <b>${e.kind}</b> ${e.ns} <span class="quiet">${e.text}</span></li>`)}</ol>`}
      </section>
    </div>`;
}
