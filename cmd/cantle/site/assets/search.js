// The search over the sections of all pages, each {p: file, t: title of the page, h: heading, i: id, x: text}.
'use strict';

const stopWords = new Set('a an and are as at be by can do does for from get how i in is it me my of on or our so that the there this to use want we what when where which why with you your'.split(' '));

// words returns the words of a text in lower case; a plural is the same word as its singular. With
// parts, the parts of a name in camel case count as words as well.
const words = (text, parts) => (text.match(/[A-Za-z0-9_$]+/g) || []).flatMap((w) => (parts && /[a-z][A-Z]/.test(w) ? [w, ...w.split(/(?<=[a-z])(?=[A-Z])/)] : [w])).map((w) => {
  const low = w.toLowerCase();
  return low.length > 3 && low.endsWith('s') && !low.endsWith('ss') ? low.slice(0, -1) : low;
});

// prepare returns the sections with the number of each word in their parts, and all words.
function prepare(sections) {
  const all = new Set();
  const count = (text) => { const m = new Map(); for (const w of words(text, true)) { m.set(w, (m.get(w) || 0) + 1); all.add(w); } return m; };
  return { list: sections.map((s) => ({ s, title: count(s.t), heading: count(s.h), text: count(s.x) })), all: [...all] };
}

// weight returns how well a word of a question, and the longer words that begin with it, fit one part of a section.
function weight(part, word, longer) {
  let n = part.get(word) || 0;
  if (!n) for (const w of longer) n += (part.get(w) || 0) / 2;
  return n ? 1 + Math.log(n + 1) : 0;
}

// search returns at most limit sections for a question, the best first. Sections with more of its words come first.
function search(prepared, question, limit) {
  const all = words(question), asked = all.filter((w) => !stopWords.has(w));
  const terms = (asked.length ? asked : all).slice(0, 12);
  if (!terms.length) return [];
  const longer = terms.map((t) => (t.length > 2 ? prepared.all.filter((w) => w.startsWith(t) && w !== t).slice(0, 40) : []));
  const found = prepared.list.map((d) => ({ d, fits: terms.map((t, i) => [weight(d.title, t, longer[i]), weight(d.heading, t, longer[i]), weight(d.text, t, longer[i])]) }));
  const rare = terms.map((_, i) => Math.log(1 + found.length / (1 + found.filter((f) => f.fits[i].some((x) => x)).length)));
  for (const f of found) {
    f.matched = f.fits.filter((x) => x.some((y) => y)).length;
    f.score = f.fits.reduce((sum, [t, h, x], i) => sum + rare[i] * (4 * t + (f.d.s.i ? 3 : 6) * h + x), 0) * (f.matched / terms.length) ** 2;
  }
  const perPage = new Map();
  return found.filter((f) => f.score > 0).sort((a, b) => b.score - a.score).filter((f) => {
    const n = (perPage.get(f.d.s.p) || 0) + 1;
    perPage.set(f.d.s.p, n);
    return n <= 3;
  }).slice(0, limit).map((f) => f.d.s);
}

// excerpt returns the part of a text around the first word of a question.
function excerpt(text, question) {
  const low = text.toLowerCase();
  const at = Math.max(0, Math.min(...words(question).map((w) => low.indexOf(w)).filter((n) => n >= 0), low.length) - 50);
  const from = at >= low.length - 50 ? 0 : at;
  return (from ? '…' : '') + text.slice(from, from + 160) + (text.length > from + 160 ? '…' : '');
}
