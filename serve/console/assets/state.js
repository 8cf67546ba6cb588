// The state that all views share: the view, the collection, the time range, and the brush. It is
// in the address, so that a view can be sent as a link.
import { useEffect, useState } from './vendor/htm-preact.js';

const listeners = new Set();

export const ranges = [[300, '5 min'], [900, '15 min'], [3600, '1 h'], [21600, '6 h'], [86400, '24 h'], [604800, '7 d']];

function read() {
  const [path, query] = location.hash.replace(/^#\/?/, '').split('?');
  const q = new URLSearchParams(query);
  const brush = (q.get('brush') || '').split('-').map(Number);
  return {
    view: path || 'now', ns: q.get('ns') || '', range: Number(q.get('range')) || 900, metric: q.get('metric') || 'ru', scale: q.get('scale') || 'log',
    brush: brush.length === 2 && brush[0] < brush[1] ? brush : null, app: q.get('app') || '', extra: q.get('x') || '',
  };
}

export let place = read();

// link is the address of the same place with some parts changed.
export function link(change) {
  const p = { ...place, extra: change.view ? '' : place.extra, ...change };
  const q = new URLSearchParams();
  if (p.ns) q.set('ns', p.ns);
  if (p.range !== 900) q.set('range', p.range);
  if (p.metric !== 'ru') q.set('metric', p.metric);
  if (p.scale !== 'log') q.set('scale', p.scale);
  if (p.brush) q.set('brush', p.brush.map(Math.round).join('-'));
  if (p.app) q.set('app', p.app);
  if (p.extra) q.set('x', p.extra);
  return `#/${p.view}${q.size ? '?' + q : ''}`;
}

// moved reads the place from the address again, and renders what depends on it.
function moved() {
  place = read();
  listeners.forEach((f) => f());
}

// go changes the place without a new entry in the browser's history, for changes that follow from another one.
export function go(change) {
  history.replaceState(null, '', link(change));
  moved();
}

// visit changes the place such that the back button returns to the one before.
export function visit(change) {
  const to = link(change);
  if (to === location.hash) return;
  history.pushState(null, '', to);
  moved();
}

addEventListener('hashchange', moved);

export function usePlace() {
  const [, again] = useState(0);
  useEffect(() => {
    const f = () => again((n) => n + 1);
    listeners.add(f);
    return () => listeners.delete(f);
  }, []);
  return place;
}

// useAsk calls the API, and again after each change of depends and every given number of seconds.
export function useAsk(ask, depends, seconds) {
  const [state, set] = useState({ data: null, error: null });
  const [turn, again] = useState(0);
  useEffect(() => {
    let over = false, timer;
    const run = async () => {
      try {
        const data = await ask();
        if (!over) set({ data, error: null });
      } catch (error) {
        if (!over) set((s) => ({ data: s.data, error }));
        if (error.status === 401) dispatchEvent(new Event('nobody'));
      }
      if (!over && seconds) timer = setTimeout(run, (document.hidden ? 5 : 1) * seconds * 1000);
    };
    run();
    return () => { over = true; clearTimeout(timer); };
  }, [...depends, turn]);
  return { ...state, again: () => again((n) => n + 1) };
}

// pollSeconds is the pause between two requests about a time range: data of a long range change slowly, and data of a
// selected time do not change.
export const pollSeconds = (p) => (p.brush ? 0 : Math.min(60, Math.max(5, p.range / 360)));

// timeWindow is the shown time in the arguments of the API.
export const timeWindow = (p) => (p.brush ? { from: Math.round(p.brush[0]), to: Math.round(p.brush[1]) } : { from: -p.range });
