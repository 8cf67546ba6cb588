// Hands with a browser: a headless Chromium that clicks and types. pages.mjs has the same
// methods.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

// Debian's Chromium, started so that it asks the network for nothing of its own.
const flags = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync'];

export class Browser {
  static async start(address, login, executablePath) {
    const b = new Browser();
    b.address = address;
    b.folder = await mkdtemp(join(tmpdir(), 'cantle-browser-'));
    b.context = await chromium.launchPersistentContext(b.folder, {
      executablePath, args: flags, headless: true, httpCredentials: login, acceptDownloads: true,
    });
    b.context.setDefaultTimeout(30_000);
    b.page = b.context.pages()[0] ?? await b.context.newPage();
    b.page.on('pageerror', (error) => { b.trouble = error; });
    return b;
  }

  async open(path) {
    await this.page.goto(new URL(path, this.address).href);
    this.check();
  }

  async texts(selector) {
    return (await this.page.locator(selector).allTextContents()).map((text) => text.trim());
  }

  async follow(selector) {
    await this.leaving(() => this.page.locator(selector).first().click());
  }

  // submit opens the dialog of the form, if opener names a button for that; types
  // the fields; presses the button, or the form's own; and answers the question whether that
  // is meant, if confirm has the dialog and what to type there.
  async submit(selector, fields = {}, { opener, button, confirm } = {}) {
    const form = this.page.locator(selector).first();
    if (opener) {
      await this.page.locator(opener).first().click();
    }
    for (const [field, value] of Object.entries(fields)) {
      await this.fill(form, field, value);
    }
    await this.leaving(async () => {
      await form.locator(button ?? 'button[type=submit]').first().click();
      if (confirm) {
        const dialog = this.page.locator(confirm.dialog);
        if (confirm.text) await dialog.locator('#confirmation-input').fill(confirm.text);
        await dialog.locator('#delete').click();
      }
    });
  }

  // fill types into a field, or into the editor that the page has put before it.
  async fill(form, field, value) {
    const input = form.locator(field);
    if (value === true) {
      await input.check();
      return;
    }
    if ((await input.evaluate((e) => e.tagName)) === 'SELECT') {
      await input.selectOption(value);
      return;
    }
    const editor = form.locator(`${field} + .CodeMirror`);
    if (await editor.count()) {
      await editor.click();
      await this.page.keyboard.press('Control+A');
      await this.page.keyboard.insertText(value);
      return;
    }
    await input.fill(value);
  }

  async download(selector) {
    const [download] = await Promise.all([this.page.waitForEvent('download'), this.page.locator(selector).first().click()]);
    return readFile(await download.path(), 'utf8');
  }

  async close() {
    await this.context.close();
    await rm(this.folder, { recursive: true, force: true });
  }

  // leaving does something that leads to another page, and returns when that is there.
  async leaving(act) {
    await this.page.evaluate(() => { window.left = false; });
    await act();
    await this.page.waitForFunction(() => window.left === undefined && document.readyState === 'complete');
    this.check();
  }

  // check fails if a script of the page has failed.
  check() {
    if (this.trouble) throw this.trouble;
  }
}
