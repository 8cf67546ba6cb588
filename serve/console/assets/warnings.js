// Warnings: one line for each cause, the worst first, with what can be done. Three lines are shown, the others are
// folded. A muted warning stays folded in this browser, until it is unmuted there.
import { html, useState } from './vendor/htm-preact.js';
import { clock, get } from './api.js';
import { link, pollSeconds, timeWindow, useAsk, usePlace } from './state.js';

const shown = 3, key = 'muted-warnings', mutedMax = 200;

function readMuted() {
  try { return new Set(JSON.parse(localStorage.getItem(key) ?? '[]')); } catch { return new Set(); }
}

// when is the time in which the state was seen.
function when(w) {
  if (!w.since) return w.last ? `last ${clock(w.last)}` : '';
  return w.active ? `since ${clock(w.since)}` : `${clock(w.since)} – ${clock(w.last)}`;
}

// Cause is the text of a warning, as a link to the view that shows the reason.
export const Cause = ({ w }) => html`<a class="cause" title=${w.text} href=${link({ view: w.view, ns: w.ns, extra: w.partition >= 0 ? String(w.partition) : '' })}>${w.ns && html`<b>${w.ns}</b> `}${w.text}</a>`;

function Line({ w, muted, onMute }) {
  return html`<li class=${w.kind + (w.active ? '' : ' past')}>
    <${Cause} w=${w}/>
    <span class="next">${w.next.map((s) => html`<a key=${s.text} href=${link({ view: s.view, ns: w.ns, extra: s.x || (s.view === 'requests' ? 'cause' : '') })}>${s.text}</a> `)}<time class="quiet">${when(w)}</time>
    <button class="small" onClick=${() => onMute(w.id)} title=${muted ? 'Show it in this browser again' : 'Hide it in this browser'}>${muted ? 'Unmute' : 'Mute'}</button></span></li>`;
}

export function Warnings({ ns }) {
  const p = usePlace();
  const { data } = useAsk(() => get('warnings', timeWindow(p)), [p.range, p.brush?.join()], pollSeconds(p));
  const [muted, setMuted] = useState(readMuted);
  if (!data) return null;
  const list = data.warnings.filter((w) => !ns || !w.ns || w.ns === ns);
  if (list.length === 0) return html`<p class="fine">✓ No warnings.</p>`;
  const onMute = (id) => {
    const next = new Set(muted);
    if (!next.delete(id)) next.add(id);
    localStorage.setItem(key, JSON.stringify([...next].slice(-mutedMax)));
    setMuted(next);
  };
  const lines = (of) => of.map((w) => html`<${Line} key=${w.id} w=${w} muted=${muted.has(w.id)} onMute=${onMute}/>`);
  const open = list.filter((w) => w.active && !muted.has(w.id)), first = open.slice(0, shown), rest = list.filter((w) => !first.includes(w));
  const past = list.filter((w) => !w.active && !muted.has(w.id)).length, quiet = list.filter((w) => muted.has(w.id)).length;
  const parts = [[open.length - first.length, 'more'], [past, 'earlier in this time'], [quiet, 'muted']].filter(([n]) => n > 0).map(([n, text]) => `${n} ${text}`);
  return html`${first.length > 0 ? html`<ul class="warnings" aria-label="Warnings">${lines(first)}</ul>` : html`<p class="fine">✓ No warnings now.</p>`}
    ${rest.length > 0 && html`<details class="folded"><summary>Warnings: ${parts.join(', ')}</summary><ul class="warnings" aria-label="More warnings">${lines(rest)}</ul></details>`}`;
}
