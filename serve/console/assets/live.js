// The last 15 minutes by the second: fetched once, then kept up by server-sent events.
import { get } from './api.js';

export const names = ['ru', 'provisioned', 'busiest', 'reads', 'writes', 'refused', 'failed', 'kib', 'p50', 'p99', 'connections'];

class Live {
  times = [];
  lines = Object.fromEntries(names.map((n) => [n, []]));
  hot = [];
  events = [];
  connected = false;
  listeners = new Set();

  async start() {
    const all = await get('lines', { from: -900 });
    this.times = [];
    for (const n of names) this.lines[n] = [];
    this.add(all);
    const past = await get('events', { from: -900 });
    this.events = past.events ?? past;
    this.source?.close();
    this.source = new EventSource('api/v1/live');
    this.source.onopen = () => { this.connected = true; this.tell(); };
    this.source.onerror = () => { this.connected = false; this.tell(); };
    this.source.onmessage = (m) => {
      const f = JSON.parse(m.data);
      this.add(f.lines);
      this.hot = f.hot;
      this.events = this.events.concat(f.events.filter((e) => !this.events.some((o) => o.at === e.at && o.text === e.text && o.ns === e.ns)));
      this.tell();
    };
    this.tell();
  }

  add(l) {
    const last = this.times.at(-1) ?? -1;
    for (let i = 0; i < l.ru.length; i++) {
      const t = l.from + i * l.step;
      if (t <= last) continue;
      this.times.push(t);
      for (const n of names) this.lines[n].push(l[n][i]);
    }
    const extra = this.times.length - 900;
    if (extra > 0) {
      this.times.splice(0, extra);
      for (const n of names) this.lines[n].splice(0, extra);
    }
  }

  last(name, seconds = 1) { return this.lines[name].slice(-seconds); }

  tell() { this.listeners.forEach((f) => f()); }
}

export const live = new Live();

// A browser has six connections to a server, and a stream takes one for as long as it is
// open: a page that nobody looks at lets go of it, and catches up later.
addEventListener('pagehide', () => live.source?.close());
addEventListener('visibilitychange', () => {
  if (!live.source) return;
  if (document.hidden) live.source.close(); else if (live.source.readyState === EventSource.CLOSED) live.start().catch(() => {});
});
