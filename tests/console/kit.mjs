// What the cases of browser.mjs share: a browser, sign-ins, and waits that end by what the page shows.
import { chromium } from 'playwright-core';
import { createRequire } from 'node:module';
import { mkdirSync, readFileSync } from 'node:fs';

export const given = JSON.parse(process.argv[2]);
export const kPatience = 120_000; // Only ends what hangs.
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export function check(condition, text) {
  if (!condition) throw new Error(text);
}

export function equal(is, wanted, what) {
  check(JSON.stringify(is) === JSON.stringify(wanted), `${what}: ${JSON.stringify(is)}, and not ${JSON.stringify(wanted)}`);
}

let browser;
export async function start() {
  browser = await chromium.launch({ executablePath: given.chromium, args: ['--no-sandbox', '--disable-gpu'] });
}
export async function stop() {
  await browser?.close();
}

/// A new browser profile with one page. An error of the page's script, a message of the browser about it (such as a violation of the content security
/// policy), and a request to another host fail the case.
export async function profile(options = {}) {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, timezoneId: 'Europe/Berlin', locale: 'en-GB', ...options });
  context.setDefaultTimeout(kPatience);
  const page = await context.newPage();
  const faults = [];
  page.on('pageerror', (error) => faults.push(error.message));
  // The browser reports each answer with a status of an error, which a case may want.
  page.on('console', (message) => message.type() === 'error' && !/status of (4..|501)/.test(message.text()) && faults.push(message.text()));
  page.on('request', (request) => /^https?:/.test(request.url()) && !request.url().startsWith(given.base) && faults.push(`a request to ${request.url()}`));
  return { context, page, faults };
}

/// A page whose reader is signed in.
export async function signedIn(role = 'admin', path = '', options = {}) {
  const made = await profile(options);
  await made.page.goto(`${given.base}/console/${path}#token=${given.tokens[role]}`);
  await made.page.waitForSelector('nav');
  return made;
}

export async function end({ context, faults }) {
  await context.close();
  equal(faults, [], 'faults of the page');
}

/// Goes to a path of the console without loading it anew.
export async function visit(page, path) {
  await page.evaluate((to) => {
    history.pushState(null, '', to);
    dispatchEvent(new PopStateEvent('popstate'));
  }, `/console/${path}`);
  await page.waitForSelector('main:has(h1):not(:has([aria-busy=true]))');
}

/// Violations of axe-core in the page as it is.
export async function violations(page) {
  await page.evaluate(axe); // Not as a script of the page, which its policy forbids.
  return page.evaluate(async () => (await window.axe.run()).violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.target.join(' ')).slice(0, 4).join(', ')}`));
}

export async function picture(page, name, fullPage = true) {
  mkdirSync(given.pictures, { recursive: true });
  await page.screenshot({ path: `${given.pictures}/${name}.png`, fullPage, animations: 'disabled' });
}

/// A call of the API as any program on this host can make it.
export async function request(path, { method = 'POST', headers = {}, body } = {}) {
  const response = await fetch(given.base + path, { method, headers, redirect: 'manual', ...(body !== undefined && { body }) });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

export async function run(cases) {
  await start();
  let one;
  try {
    for (one of cases) {
      if (given.only.length > 0 && !given.only.includes(one.name)) continue;
      console.log(`${one.name} ...`);
      await one();
    }
  } catch (error) {
    console.error(error);
    console.error(`Error in ${one.name}: ${error.message.split('\n')[0]}`); // The last line is what a reader of CI sees.
    process.exitCode = 1;
  } finally {
    await stop();
  }
}
