// Hands without a browser: the same pages and forms, asked for as a browser without
// scripts would. browser.mjs has the same methods.
import { parse } from 'node-html-parser';

const redirectsMax = 5;

export class Pages {
  constructor(address, login) {
    this.address = address;
    this.authorization = `Basic ${btoa(`${login.username}:${login.password}`)}`;
    this.cookies = new Map();
  }

  // open loads a page by its path.
  async open(path) {
    await this.load(new URL(path, this.address));
  }

  // texts returns what the page's elements say, without leading and trailing space.
  async texts(selector) {
    return this.page.querySelectorAll(selector).map((e) => e.textContent.trim());
  }

  // follow goes where a link leads.
  async follow(selector) {
    await this.load(new URL(this.one(selector).getAttribute('href'), this.base));
  }

  // submit fills in a form and sends it. What a browser needs to press on the way is of no
  // use here.
  async submit(selector, fields = {}) {
    const form = this.one(selector);
    const sent = new URLSearchParams();
    for (const input of form.querySelectorAll('input, textarea, select')) {
      const name = input.getAttribute('name');
      const checked = input.getAttribute('type') !== 'checkbox' || input.hasAttribute('checked');
      if (name && checked && name !== 'confirmation-input') sent.set(name, input.getAttribute('value') ?? '');
    }
    for (const [field, value] of Object.entries(fields)) {
      const input = form.querySelector(field) ?? fail(`no ${field} in ${selector}`);
      sent.set(input.getAttribute('name'), value === true ? 'on' : value);
    }
    const target = new URL(form.getAttribute('action') ?? this.url, this.base);
    if ((form.getAttribute('method') ?? 'get').toLowerCase() === 'get') {
      target.search = sent;
      await this.load(target);
    } else {
      await this.load(target, { method: 'POST', body: sent });
    }
  }

  // download returns what a link leads to, as text.
  async download(selector) {
    const answer = await this.ask(new URL(this.one(selector).getAttribute('href'), this.base), {});
    if (answer.status !== 200) fail(`${answer.status}: ${await answer.text()}`);
    return answer.text();
  }

  async close() {}

  one(selector) {
    return this.page.querySelector(selector) ?? fail(`no ${selector} on ${this.url}`);
  }

  async load(url, request = {}) {
    let answer = await this.ask(url, request);
    for (let i = 0; answer.status >= 300 && answer.status < 400; i++) {
      if (i === redirectsMax) fail(`${url} redirects without end`);
      url = new URL(answer.headers.get('location'), url);
      answer = await this.ask(url, {});
    }
    const text = await answer.text();
    if (answer.status !== 200) fail(`${answer.status} for ${url}: ${text}`);
    this.url = url;
    this.page = parse(text);
    this.base = new URL(this.page.querySelector('base')?.getAttribute('href') ?? '', url);
  }

  async ask(url, request) {
    const headers = { authorization: this.authorization, ...(this.url && { referer: String(this.url) }) };
    if (this.cookies.size) headers.cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await fetch(url, { ...request, headers, redirect: 'manual' });
    for (const cookie of answer.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie);
      this.cookies.set(name, value);
    }
    return answer;
  }
}

function fail(why) {
  throw new Error(why);
}
