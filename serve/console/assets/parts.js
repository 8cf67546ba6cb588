// Small parts that views are made of.
import { html, useEffect, useRef, useState } from './vendor/htm-preact.js';
import { num } from './api.js';

// Problem shows an error in place of the data.
export const Problem = ({ error }) => error && html`<p class="problem" role="alert"><strong>${error.codeName || 'Error'}</strong> ${error.message}</p>`;

// Missing names the servers that did not answer, whose part is not in a sum over all of them.
export const Missing = ({ of = [] }) => of.map((host) => html`<p class="problem" key=${host}>Server ${host} did not answer: its data is missing here.</p>`);

export const Empty = ({ children }) => html`<p class="empty">${children}</p>`;

// Bar is a share of something as a bar with its number; hot is drawn to stand out.
export function Bar({ share, text, hot }) {
  const ref = useRef(null);
  useEffect(() => { ref.current.style.width = `${Math.max(0, Math.min(100, share * 100))}%`; });
  return html`<span class=${hot ? 'bar hot' : 'bar'}><i ref=${ref}></i><span>${text}</span></span>`;
}

// Refused is a number of refusals, in red if there are any.
export const Refused = ({ n }) => html`<span class=${n ? 'bad' : ''}>${num(n)}</span>`;

// Table sorts by a click on the head of a column. columns: {name, title, value, show, right}.
export function Table({ columns, rows, sort: first, keyOf, onRow, chosen, caption, max = 500 }) {
  const [sort, setSort] = useState(first ?? [columns[0].name, 1]);
  const by = columns.find((c) => c.name === sort[0]) ?? columns[0];
  const list = [...rows].sort((a, b) => {
    const x = by.value(a), y = by.value(b);
    return sort[1] * (typeof x === 'string' || typeof y === 'string' ? String(x ?? '').localeCompare(String(y ?? ''), 'en', { numeric: true }) : (x ?? -Infinity) - (y ?? -Infinity));
  });
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${caption}><table>
    <caption class="hidden">${caption}</caption>
    <thead><tr>${columns.map((c) => html`<th key=${c.name} scope="col" class=${c.right ? 'right' : ''} aria-sort=${sort[0] === c.name ? (sort[1] > 0 ? 'ascending' : 'descending') : 'none'}>
      <button onClick=${() => setSort([c.name, sort[0] === c.name ? -sort[1] : c.right ? -1 : 1])}>${c.title}<span aria-hidden="true">${sort[0] === c.name ? (sort[1] > 0 ? ' ▲' : ' ▼') : ''}</span></button></th>`)}</tr></thead>
    <tbody>${list.slice(0, max).map((r) => html`<tr key=${keyOf(r)} class=${chosen === keyOf(r) ? 'chosen' : onRow ? 'click' : ''} onClick=${onRow && (() => onRow(r))}>
      ${columns.map((c, i) => html`<td key=${c.name} class=${c.right ? 'right' : ''}>${i === 0 && onRow ? html`<button class="plain" onClick=${(e) => { e.stopPropagation(); onRow(r); }}>${(c.show ?? c.value)(r)}</button>` : (c.show ?? c.value)(r)}</td>`)}</tr>`)}</tbody>
  </table>${list.length > max && html`<p class="quiet">${list.length - max} more rows are not shown.</p>`}</div>`;
}

// Confirm shows a question before an action, and the error if the action fails.
export function Confirm({ title, children, action, danger, onDone, onClose }) {
  const ref = useRef(null);
  const [state, set] = useState({});
  useEffect(() => { ref.current.showModal(); }, []);
  const run = async () => {
    set({ busy: true });
    try {
      await action();
      ref.current.close();
      onDone?.();
    } catch (error) { set({ error }); }
  };
  return html`<dialog ref=${ref} onClose=${onClose} aria-labelledby="confirm-title">
    <h2 id="confirm-title">${title}</h2>
    ${children}
    <${Problem} error=${state.error}/>
    <div class="actions"><button onClick=${() => ref.current.close()}>Cancel</button><button class=${danger ? 'danger' : 'primary'} disabled=${state.busy} onClick=${run} data-confirm>${title.split(' ')[0]}</button></div>
  </dialog>`;
}
