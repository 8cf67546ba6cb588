// A time beside the time of the same length before: changes of numbers, and a faint line in charts.
import { html } from './vendor/htm-preact.js';
import { num } from './api.js';

// Delta is the change of a number: ▲ or ▼ with per cent, "new" or "gone". grows states whether a larger number is worse (1),
// better (-1), or neither (0).
export function Delta({ now, before, grows = 1 }) {
  if (now === undefined || before === undefined || now === before) return null;
  const text = before === 0 ? 'new' : now === 0 ? 'gone' : null;
  const change = before > 0 ? (now - before) / before : 1;
  if (!text && Math.abs(change) < 0.01) return null;
  const kind = grows === 0 || Math.abs(change) < 0.1 ? '' : (change > 0) === (grows > 0) ? ' worse' : ' better';
  const shown = change >= 9.995 ? `× ${num(now / before)}` : `${Math.max(1, Math.round(100 * Math.abs(change)))} %`;
  return html`<span class=${'delta' + kind} title=${`before: ${num(before)}`}>${text ?? `${change > 0 ? '▲' : '▼'} ${shown}`}</span>`;
}

// faint is the series of a chart for the time before, under the same times; null if there is nothing to show.
export const faint = (values, label = 'before') => (values?.some((v) => v > 0) ? { label, colour: '--quiet', width: 1, dash: [2, 3], values } : null);

// shifted reads a line of the time before at the given times: those of data, which begins at data.from, moved by seconds.
export const shifted = (times, data, name, seconds) => (data ? times.map((t) => data[name][Math.floor((t - seconds - data.from) / data.step)] ?? null) : null);
