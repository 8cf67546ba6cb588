// The applications and users from which a load comes.
import { html } from './vendor/htm-preact.js';
import { clock, num, percent, second } from './api.js';
import { Refused, Table } from './parts.js';
import { usePlace, visit } from './state.js';

// nameOf is the application of a caller or, without a name, its driver.
export const nameOf = (c) => c.appName || c.driver || 'unnamed client';

const shareOf = (c) => c.recentPercent ?? c.ruPercent ?? 0;
const line = (c) => `${nameOf(c)}${c.user ? `, user ${c.user}` : ''}: ${percent(shareOf(c))} of the RU`;

// Who shows the caller with most of the load, and its share; the title lists all callers.
export const Who = ({ of = [] }) => of.length > 0 && html`<span class="who" title=${of.map(line).join('\n')}>${nameOf(of[0])}${of[0].user && html` <span class="quiet">${of[0].user}</span>`} ${percent(shareOf(of[0]))}</span>`;

// Apps chooses an application of those with recent load of a partition.
export function Apps({ parts }) {
  const p = usePlace(), names = [...new Set([...parts.flatMap((x) => (x.callers ?? []).map(nameOf)), ...(p.app ? [p.app] : [])])].sort();
  return names.length > 0 && html`<label>Application <select data-apps value=${p.app} onChange=${(e) => visit({ app: e.target.value })}><option value="" selected=${!p.app}>all</option>${names.map((n) => html`<option key=${n} value=${n} selected=${n === p.app}>${n}</option>`)}</select></label>`;
}

// Shares lists the callers of a partition.
export const Shares = ({ of = [] }) => of.length > 0 && html`<span class="shares">recent load: ${of.map((c) => html`<span key=${`${c.appName} ${c.driver} ${c.user}`}>${nameOf(c)}${c.user && html` <span class="quiet">${c.user}</span>`} <b>${percent(c.recentPercent)}</b> </span>`)}</span>`;

// Callers lists the callers of a query shape.
export function Callers({ of = [] }) {
  if (of.length === 0) return null;
  return html`<h3>Applications and users</h3><div class="callers"><${Table} caption="Applications and users" rows=${of} sort=${['recent', -1]} keyOf=${(c) => `${c.appName} ${c.driver} ${c.user}`} columns=${[
    { name: 'app', title: 'Application', value: (c) => c.appName ?? '–' },
    { name: 'driver', title: 'Driver', value: (c) => c.driver ?? '–' },
    { name: 'user', title: 'User', value: (c) => c.user ?? '–' },
    { name: 'recent', title: 'Recent share of RU', right: true, value: (c) => c.recentPercent, show: (c) => percent(c.recentPercent) },
    { name: 'ru', title: 'RU', right: true, value: (c) => c.ru, show: (c) => `${num(c.ru)} · ${percent(c.ruPercent)}` },
    { name: 'count', title: 'Runs', right: true, value: (c) => c.count, show: (c) => num(c.count) },
    { name: 'refused', title: 'Refused', right: true, value: (c) => c.throttledDocuments, show: (c) => html`<${Refused} n=${c.throttledDocuments}/>` },
    { name: 'last', title: 'Last', value: (c) => c.last.$date, show: (c) => clock(second(c.last)) },
  ]}/></div>`;
}
