// The cases of console_test.py. Usage: node browser.mjs JSON.
import { createServer } from 'node:http';
import { check, end, equal, given, picture, profile, request, run, signedIn, violations, visit } from './kit.mjs';

// A name from outside that a page may not take for markup.
const kHostile = "<img src=x onerror=document.title='taken'>";

// Each page with a text that shows that its data came.
const kPages = [
  ['', 'What is wrong'],
  ['tables', 'ROUTE_TABLE'],
  ['tables/ROUTE_TABLE', 'Key'],
  ['tables/ROUTE_TABLE/198.51.100.0%2F24', 'would make true'],
  ['parked', 'nexthop-group 777'],
  ['turns', 'Budgeted frames'],
  ['switch', 'Where rows stand'],
  ['jobs', 'nightly/backup'],
  ['jobs?view=failures', 'fails'],
  ['jobs?view=hours', 'Peaks'],
  ['jobs?new=1', 'What it means'],
  ['jobs/nightly%2Fbackup', 'Europe/Berlin'],
  ['jobs/nightly%2Fbackup?edit=1', 'Nothing yet.'],
  [`jobs/fails/${given.failed}`, '<b>bold</b>'],
  ['executors', 'worker-1'],
  ['schedulers', 'Shards'],
  ['log', 'Configuration in force'],
  ['access', 'viewer'],
];

async function the_sign_in_takes_a_token() {
  const made = await profile();
  const { page } = made;
  await page.goto(`${given.base}/`);
  await page.waitForSelector('input[type=password]');
  equal(await violations(page), [], 'violations of the sign-in');
  await page.fill('input[type=password]', 'rondo_wrong');
  await page.click('button[type=submit]');
  await page.waitForSelector('[role=alert]:has-text("unknown")');
  await page.fill('input[type=password]', given.tokens.viewer);
  await page.click('button[type=submit]');
  await page.waitForSelector('nav :has-text("viewer")');
  // A new load needs no new sign-in, and no script can read the cookie.
  await page.reload();
  await page.waitForSelector('nav');
  equal(await page.evaluate(() => document.cookie), '', 'cookies that scripts see');
  const [cookie] = await made.context.cookies();
  check(cookie.httpOnly && cookie.sameSite === 'Strict' && cookie.expires === -1, `the cookie is ${JSON.stringify(cookie)}`);
  check(!cookie.value.includes(given.tokens.viewer), 'the cookie has the token');
  await page.click('text=Sign out');
  await page.waitForSelector('input[type=password]');
  await page.reload();
  await page.waitForSelector('input[type=password]');
  await end(made);
}

/// A token of a group sees what it may call, and one of workers is told that it is for them.
async function a_token_sees_only_its_pages() {
  const team = await signedIn('team');
  await team.page.waitForSelector('h1:has-text("Jobs")');
  equal(await team.page.locator('nav .pages a').allTextContents(), ['Jobs', 'Executors'], 'pages of a group');
  await team.page.click('nav a:has-text("Executors")');
  await team.page.waitForSelector('h1:has-text("Executors")');
  equal(await team.page.locator('[role=alert]:visible').count(), 0, 'errors');
  check(!(await team.page.locator('nav .health').isVisible()), 'a group is told of the health that it may not read');
  await end(team);
  const worker = await signedIn('worker');
  await worker.page.waitForSelector('main:has-text("is for `rondo worker`")');
  equal(await worker.page.locator('nav .pages a').count(), 0, 'pages of workers');
  await end(worker);
}

async function the_token_leaves_the_address() {
  const made = await signedIn();
  equal(made.page.url(), `${given.base}/console/`, 'the address');
  await end(made);
}

function command(name, args) {
  return request(`/api/v1/${name}`, { headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${given.tokens.admin}` }, body: JSON.stringify(args) });
}

/// The pictures of README.md and the guide, of a daemon at work.
async function pictures_of_the_documents() {
  const made = await signedIn('admin', '', { viewport: { width: 1240, height: 760 } });
  const { page } = made;
  let isOver = false;
  const work = (async () => {
    for (let round = 0; !isOver; round++) {
      const rows = Array.from({ length: 400 }, (_, i) => ['ROUTE_TABLE', `172.${16 + (round % 16)}.${i % 256}.${i < 256 ? 0 : 128}/25`, 'SET', [['nexthop_group', String(round % 32)]]]);
      equal((await command('write', { rows })).status, 200, 'status of a write');
    }
  })();
  await page.waitForSelector('.chart canvas');
  await page.waitForTimeout(20_000); // The picture is one of the last seconds.
  await picture(page, 'guide/now', false);
  await visit(page, 'turns?zoom=1');
  await page.waitForSelector('main [aria-label*="turns"]');
  await page.waitForTimeout(3_000);
  await picture(page, 'guide/turns', false);
  isOver = true;
  await work;
  await visit(page, 'tables/ROUTE_TABLE/198.51.100.0%2F24');
  await page.waitForSelector('.link.end');
  await picture(page, 'guide/why', false);
  await end(made);
}

/// From here on, names from outside are on most pages.
async function markup_is_written_as_names() {
  const written = [
    ['set', { table: 'ROUTE_TABLE', key: '203.0.113.0/24', fields: [['nexthop_group', kHostile]] }],
    ['set', { table: 'PORT_TABLE', key: kHostile, fields: [['mtu', '9000']] }],
    ['job-put', { definition: JSON.stringify({ name: 'hostile', handler: 'none', schedule: 'manual', note: kHostile, owner: kHostile, parameters: kHostile }), start: true }],
  ];
  for (const [name, args] of written) equal((await command(name, args)).status, 200, `status of ${name}`);
}

async function pages_in(theme, phone) {
  const options = { colorScheme: theme, ...(phone && { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }) };
  const made = await signedIn('admin', '', options);
  const { page } = made;
  for (const [path, text] of kPages) {
    await visit(page, path);
    await page.locator(`main >> text=${text}`).first().waitFor();
    equal(await violations(page), [], `violations of '${path}', ${theme}`);
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    check(overflow <= 0, `the page '${path}' is ${overflow} pixels wider than the screen`);
    equal(await page.title() === 'taken', false, `markup from outside in '${path}'`);
    await picture(page, `${path.replace(/[^a-z0-9]+/gi, '-') || 'now'}-${theme}${phone ? '-phone' : ''}`);
  }
  await end(made);
}
async function all_pages_in_light() {
  await pages_in('light', false);
}
async function all_pages_in_dark() {
  await pages_in('dark', false);
}
async function all_pages_on_a_telephone() {
  await pages_in('dark', true);
}

/// From what is wrong to the cause in four clicks, and what happens when the cause is mended.
async function it_is_found_why_a_route_waits() {
  const made = await signedIn();
  const { page } = made;
  await page.click('main a:has-text("nexthop-group 777")');
  await page.click('main a:has-text("198.51.100.0/24")');
  await page.waitForSelector('.chain >> text=would make true: neighbor Ethernet0:10.254.0.250');
  await page.click('.link.end a');
  await page.waitForSelector('h1:has-text("Ethernet0:10.254.0.250")');
  await page.click('button:has-text("Write")');
  await page.fill('dialog textarea', 'neigh=02:00:00:00:00:01');
  await page.waitForSelector('dialog >> text=neigh = 02:00:00:00:00:01');
  await page.click('dialog button[type=submit]');
  await page.waitForSelector('.notice:has-text("was written")');
  await visit(page, 'tables/ROUTE_TABLE/198.51.100.0%2F24');
  await page.waitForSelector('.chain .state:has-text("installed")');
  await end(made);
}

/// A page of a row can be loaded again and sent as a link, whatever its key.
async function a_row_has_an_address() {
  const made = await signedIn('viewer', 'tables/ROUTE_TABLE/198.51.100.0%2F24');
  await made.page.reload();
  await made.page.waitForSelector('h1:has-text("198.51.100.0/24")');
  await end(made);
}

/// Only what the reader has changed is written.
async function an_edit_keeps_what_others_wrote() {
  const made = await signedIn('operator', 'tables/ROUTE_TABLE/192.0.2.0%2F24');
  const { page } = made;
  const row = { table: 'ROUTE_TABLE', key: '192.0.2.0/24' };
  equal((await command('set', { ...row, fields: [['nexthop_group', '1'], ['mtu', '1400']] })).status, 200, 'status');
  await page.waitForSelector('dd:has-text("1400")');
  await page.click('button:has-text("Change")');
  equal((await command('set', { ...row, fields: [['mtu', '1300']] })).status, 200, 'status');
  await page.waitForSelector('dd:has-text("1300")');
  await page.fill('dialog textarea', 'nexthop_group=2\nmtu=1400');
  await page.click('dialog button[type=submit]');
  await page.waitForSelector('.notice:has-text("was written")');
  const { fields } = JSON.parse((await command('get', row)).text);
  equal([...fields].sort(), [['mtu', '1300'], ['nexthop_group', '2']], 'fields');
  // A refused change is told where it was made.
  await page.click('button:has-text("Change")');
  await page.fill('dialog textarea', 'mtu=1300');
  await page.click('dialog button[type=submit]');
  await page.waitForSelector('dialog [role=alert]:has-text("is rejected")');
  await end(made);
}

/// A field that no other row has may be a typing error. Its reader decides.
async function an_unusual_field_is_named_before_it_is_written() {
  const row = { table: 'NEXTHOP_GROUP_TABLE', key: '778' };
  equal((await command('set', { ...row, fields: [['nexthop', '10.254.0.251'], ['ifname', 'Ethernet0']] })).status, 200, 'status');
  const fields = async () => JSON.parse((await command('show', { table: row.table, pattern: row.key })).text).rows[0].fields;
  const made = await signedIn('operator', 'tables/NEXTHOP_GROUP_TABLE/778');
  const { page } = made;
  const write = async (text) => {
    await page.fill('dialog textarea', text);
    await page.click('dialog button[type=submit]');
  };
  await page.click('button:has-text("Write"), button:has-text("Change")');
  await write('nexthop=10.254.0.251\nifname=Ethernet0\nnexthp=10.254.0.252');
  await page.waitForSelector(`dialog [role=alert]:has-text("of NEXTHOP_GROUP_TABLE has the field 'nexthp'.")`);
  equal((await fields()).length, 2, 'fields before the reader agrees');
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    equal(await violations(page), [], `violations, ${colorScheme}`);
    await picture(page, `dialog-field-${colorScheme}`, false);
  }
  await page.setViewportSize({ width: 390, height: 844 });
  await picture(page, 'dialog-field-phone', false);
  // Another text is checked again.
  await page.fill('dialog textarea', 'nexthop=10.254.0.251');
  equal(await page.locator('dialog [role=alert]').count(), 0, 'warnings about a text that is gone');
  await write('nexthop=10.254.0.251\nifname=Ethernet0\nnexthip=10.254.0.252');
  await page.waitForSelector(`dialog [role=alert]:has-text("the field 'nexthip'.")`);
  await page.click('dialog button:has-text("Write it all the same")');
  await page.waitForSelector('.notice:has-text("was written")');
  while ((await fields()).length !== 3); // Its consumer may not have come to it.
  await end(made);
}

/// An error of a dialog is shown in it, and the reader goes on where they were.
async function a_dialog_shows_its_own_errors() {
  const made = await signedIn('admin', 'access');
  const { page } = made;
  const send = 'dialog button[type=submit]';
  const refused = async (name) => {
    await page.click(send);
    await page.waitForSelector('dialog [role=alert]');
    equal(await page.locator('.notice:visible').count(), 0, 'notices behind a dialog');
    check(await page.locator(send).evaluate((button) => button === document.activeElement), 'the error took the focus');
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme });
      equal(await violations(page), [], `violations, ${colorScheme}`);
      await picture(page, `dialog-${name}-${colorScheme}`, false);
    }
    await page.setViewportSize({ width: 390, height: 844 });
    check(await page.locator('dialog [role=alert]').isVisible(), 'the error is not visible on a telephone');
    await picture(page, `dialog-${name}-phone`, false);
    await page.setViewportSize({ width: 1400, height: 900 });
  };
  await page.click('button:has-text("Add a token")');
  await page.fill('dialog input', 'viewer');
  await refused('token');
  await page.fill('dialog input', 'reader');
  await page.keyboard.press('Enter');
  await page.waitForSelector('.notice:not(.bad):has-text("was made")');
  await page.waitForSelector('dialog', { state: 'detached' });
  await page.evaluate(() => document.querySelector('.notice button')?.click()); // It goes by itself, too.
  await visit(page, 'jobs/nightly%2Fbackup');
  await page.click('main button:has-text("Backfill")');
  await page.fill('dialog label:has-text("From") input', '2026-02-02T00:00');
  await page.fill('dialog label:has-text("To") input', '2026-02-01T00:00');
  await refused('backfill');
  await end(made);
}

/// A job that was changed or removed meanwhile is not overwritten.
async function an_edit_of_a_job_overwrites_nothing() {
  const made = await signedIn('operator', 'jobs/nightly%2Fbackup?edit=1');
  const { page } = made;
  await page.getByLabel('Note for people', { exact: true }).fill('from the form');
  const job = { name: 'nightly/backup', handler: 'none', schedule: 'cron 0 3 * * *', zone: 'Europe/Berlin', owner: 'platform' };
  equal((await command('job-put', { definition: JSON.stringify(job) })).status, 200, 'status');
  await page.click('button[type=submit]');
  await page.waitForSelector('[role=alert]:has-text("changed meanwhile")');
  equal(JSON.parse((await command('job', { name: job.name })).text).schedule, job.schedule, 'schedule');
  await end(made);
}

/// A link of somebody else does not change who is signed in, unless the reader agrees.
async function a_link_signs_nobody_over() {
  const made = await signedIn('viewer');
  const { page } = made;
  const follow = async (answer) => {
    await page.goto('about:blank');
    const asked = page.waitForEvent('dialog').then((dialog) => dialog[answer]()); // The page may not be loaded before.
    await Promise.all([asked, page.goto(`${given.base}/console/jobs#token=${given.tokens.admin}`)]);
  };
  await follow('dismiss');
  await page.waitForSelector('nav :has-text("viewer · viewer")');
  await follow('accept');
  await page.waitForSelector('nav :has-text("admin · admin")');
  await end(made);
}

/// All tabs of a browser have the same session, also those that ask the daemon nothing meanwhile.
async function tabs_sign_in_and_out_together() {
  const made = await signedIn('viewer');
  const { context, page } = made;
  const other = await context.newPage();
  await other.goto(`${given.base}/console/`);
  await other.click('button:has-text("Pause")');
  await page.click('text=Sign out');
  await other.waitForSelector('main:has-text("signed out in another tab") input[type=password]');
  equal(await violations(other), [], 'violations of the sign-in');
  await page.fill('input[type=password]', given.tokens.operator);
  await page.click('button[type=submit]');
  await other.waitForSelector('nav :has-text("operator · operator")');
  // The page of the other tab works on with the new session.
  await other.click('nav a:has-text("Tables")');
  await other.click('main a:text-is("ROUTE_TABLE")');
  await other.waitForSelector('button:has-text("Add a row")');
  equal(await other.locator('[role=alert]:visible').count(), 0, 'errors');
  await end(made);
}

/// A daemon that hangs does not look like one that is well.
async function a_daemon_that_hangs_is_named() {
  const made = await signedIn('viewer');
  const { page } = made;
  await page.waitForSelector('nav .health:has-text("healthy"), nav .health:has-text("trouble"), nav .health:has-text("note")');
  const list = await made.context.newPage();
  await list.goto(`${given.base}/console/tables/ROUTE_TABLE`);
  await list.waitForSelector('main tbody tr');
  process.kill(given.pid, 'SIGSTOP');
  try {
    await page.waitForSelector('nav .health:has-text("no answer")');
    for (const one of [page, list]) await one.waitForSelector('[role=alert]:has-text("has not answered")');
  } finally {
    process.kill(given.pid, 'SIGCONT');
  }
  await page.waitForSelector('nav .health:not(:has-text("no answer"))');
  await end(made);
}

/// A browser whose clock is wrong by ten minutes shows the times of the server.
async function the_clock_of_the_browser_may_be_wrong() {
  const { run } = JSON.parse((await command('job-trigger', { name: 'talks' })).text);
  for (const ahead of [600_000, -600_000]) {
    const made = await signedIn('viewer');
    const { page } = made;
    await page.addInitScript((shift) => {
      globalThis.Date = class extends Date {
        constructor(...given) {
          super(...(given.length > 0 ? given : [new.target.now()]));
        }
        static now() {
          return super.now() + shift;
        }
      };
    }, ahead);
    await page.goto(`${given.base}/console/jobs/talks/${run}`);
    check(Math.abs((await page.evaluate(() => Date.now())) - ahead - Date.now()) < 300_000, 'the clock of the browser is right');
    await page.locator('main li', { hasText: /running for ([1-9][0-9.]* s|[1-9] min)/ }).waitFor();
    await visit(page, 'jobs');
    const row = '[aria-label=Jobs] tr:has(a:text-is("each-second"))';
    await page.waitForSelector(`${row} .state:text-is("succeeded")`);
    const notes = await page.locator(`${row} .note`).allTextContents();
    check(notes.length === 2 && notes.every((note) => /^(now|in \S+ s|\S+ s ago|[1-9] min ago)$/.test(note)), `each-second: ${notes}`);
    await end(made);
  }
  equal((await command('job-kill', { run })).status, 200, 'status of the kill');
}

/// A session has only some streams. The page that gets none says so, and follows its row once another page has closed.
async function a_row_is_traced_once_a_stream_is_free() {
  const made = await signedIn('operator');
  const { context, page } = made;
  const path = 'tables/ROUTE_TABLE/198.51.102.0%2F24';
  const holders = [];
  for (let i = 0; i < 4; i++) {
    const holder = await context.newPage();
    const accepted = holder.waitForResponse((response) => response.url().endsWith('/trace') && response.status() === 200);
    await holder.goto(`${given.base}/console/${path}`);
    await accepted;
    holders.push(holder);
  }
  await page.bringToFront();
  await visit(page, path);
  const refused = 'main [role=alert]:has-text("may have no more")';
  await page.waitForSelector(refused);
  const waits = 'main .panel:has(h2:has-text("What happens")) .message';
  equal(await page.locator(waits).count(), 1, 'messages about the trace');
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    equal(await violations(page), [], `violations, ${colorScheme}`);
    await picture(page, `no-stream-${colorScheme}`);
  }
  await page.setViewportSize({ width: 390, height: 844 });
  await picture(page, 'no-stream-phone');
  await holders[0].close();
  await page.waitForSelector(`${waits}:has-text("Nothing yet.")`);
  await page.waitForSelector(refused, { state: 'detached' });
  equal((await command('set', { table: 'ROUTE_TABLE', key: '198.51.102.0/24', fields: [['nexthop_group', '889']] })).status, 200, 'status');
  await page.waitForSelector('[aria-label=Steps] .state:has-text("parked")');
  // Steps that the page has not seen are not passed over in silence.
  await page.click('button:has-text("Pause")');
  await page.waitForSelector(`${waits}:has-text("The page is paused")`);
  await page.click('button:has-text("Continue")');
  await page.waitForSelector('[aria-label=Steps] tr:last-child:has-text("reopened")');
  await end(made);
}

/// A list of rows tells when it was read, and is read again when the reader wants it.
async function a_list_of_rows_has_its_age() {
  const row = { table: 'NEXTHOP_GROUP_TABLE', key: '779' };
  const made = await signedIn('viewer', `tables/${row.table}?find=${row.key}`);
  const { page } = made;
  const age = page.locator('main .note:has-text("as of")');
  await page.waitForSelector('main:has-text("No key matches.")');
  const first = await age.textContent();
  check(/^as of \d\d:\d\d:\d\d( [+-]\d\d:\d\d)?$/.test(first), first);
  equal((await command('set', { ...row, fields: [['nexthop', '10.254.0.252'], ['ifname', 'Ethernet0']], wait_ms: 120_000 })).status, 200, 'status');
  do {
    await page.click('button:has-text("Read again")');
  } while ((await age.textContent()) === first);
  await page.waitForSelector('main td.key a:text-is("779")');
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    equal(await violations(page), [], `violations, ${colorScheme}`);
    await picture(page, `age-${colorScheme}`);
  }
  await page.setViewportSize({ width: 390, height: 844 });
  await picture(page, 'age-phone');
  for (const path of ['tables?show=rejected', 'parked?table=ROUTE_TABLE']) {
    await visit(page, path);
    await age.waitFor();
  }
  await end(made);
}

/// A chart has the colours of the theme to which the system changes.
async function a_chart_follows_the_theme_of_the_system() {
  const made = await signedIn('viewer', '', { colorScheme: 'light' });
  const { page } = made;
  await page.waitForSelector('.chart canvas');
  for (const colorScheme of ['light', 'dark', 'light']) {
    await page.emulateMedia({ colorScheme });
    const hasItsGrid = () => page.evaluate(async () => {
      await new Promise(requestAnimationFrame);
      const pixels = (context) => context.getImageData(0, 0, context.canvas.width, context.canvas.height).data;
      const probe = new OffscreenCanvas(1, 1).getContext('2d');
      probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--line');
      probe.fillRect(0, 0, 1, 1);
      const line = pixels(probe);
      const all = pixels(document.querySelector('.chart canvas').getContext('2d'));
      return all.some((_, at) => at % 4 === 0 && line.every((part, i) => all[at + i] === part));
    });
    while (!(await hasItsGrid()));
  }
  await picture(page, 'now-after-a-change-of-theme');
  await end(made);
}

/// Each step of a change appears with its time while the reader looks.
async function a_change_is_traced() {
  const made = await signedIn();
  const { page } = made;
  await visit(page, 'tables/ROUTE_TABLE/198.51.101.0%2F24');
  await page.waitForSelector('text=Nothing yet.');
  await page.click('button:has-text("Write")');
  await page.fill('dialog textarea', 'nexthop_group=888');
  await page.click('dialog button[type=submit]');
  for (const step of ['written', 'taken', 'parked']) await page.waitForSelector(`[aria-label=Steps] .state:has-text("${step}")`);
  await page.waitForSelector('[aria-label=Steps] >> text=on nexthop-group 888');
  await page.waitForSelector('[aria-label=Steps] td >> text=/^#[0-9]+$/');
  await end(made);
}

async function a_search_finds_keys_on_the_server() {
  const made = await signedIn('viewer', 'tables/ROUTE_TABLE');
  const { page } = made;
  await page.waitForSelector('main table');
  await page.keyboard.press('/');
  await page.keyboard.type('198.51.100');
  await page.waitForSelector('main a:has-text("198.51.100.0/24")');
  check(page.url().includes('find=198.51.100'), `the search is not in the address: ${page.url()}`);
  equal(await page.locator('button:has-text("Add a row")').count(), 0, 'buttons that write, for a viewer');
  await end(made);
}

async function a_long_list_comes_in_pages() {
  const made = await signedIn('viewer', 'tables/ROUTE_TABLE');
  const { page } = made;
  await page.waitForSelector('main tbody tr:nth-child(200)');
  await page.click('button:has-text("More")');
  await page.waitForSelector('main tbody tr:nth-child(400)');
  const keys = await page.locator('main tbody td.key a').allTextContents();
  equal(new Set(keys).size, keys.length, 'different keys');
  await end(made);
}

/// A job by form, its run and its log while it runs, and its end by a person.
async function a_job_is_added_watched_and_killed() {
  const made = await signedIn('operator', 'jobs?new=1');
  const { page } = made;
  await page.getByLabel('Name', { exact: true }).fill('by/hand');
  await page.getByLabel('Handler', { exact: true }).fill('command/talks');
  await page.locator('label:has-text("Schedule") select').selectOption('cron');
  await page.getByLabel('When', { exact: true }).fill('61 2 * * *');
  await page.waitForSelector('[role=alert]');
  await page.getByLabel('When', { exact: true }).fill('30 2 * * *');
  await page.getByLabel('Time zone', { exact: true }).fill('Europe/Berlin');
  await page.waitForSelector('main:has-text("at 02:30"):has-text("Europe/Berlin") [aria-label="Next instants"] tbody:has(tr:nth-child(10)):not(:has(tr:nth-child(11)))');
  await page.click('button[type=submit]:has-text("Add")');
  await page.click('main button:has-text("Run now")');
  await page.click('dialog button[type=submit]');
  await page.waitForSelector('h1:has-text("by/hand: run")');
  await page.waitForSelector('pre.log:has-text("first line")');
  await page.click('main button:has-text("Kill")');
  await page.click('dialog button[type=submit]');
  await page.waitForSelector('h1 .state:has-text("killed")');
  await end(made);
}

/// Three executors of a group. They keep the orders that they get, and have a log of one line.
async function executors() {
  const orders = [];
  const servers = [];
  for (let i = 0; i < 3; i++) {
    const server = createServer((asked, answer) => {
      let body = '';
      asked.on('data', (part) => (body += part));
      asked.on('end', () => {
        if (asked.url === '/run') orders.push(JSON.parse(body));
        const from = asked.url === '/log' ? JSON.parse(body).fromLineNum : 1;
        const log = { fromLineNum: from, toLineNum: 1, logContent: from > 1 ? '' : `the log of executor ${i}\n`, isEnd: true };
        answer.setHeader('Content-Type', 'application/json').end(JSON.stringify({ code: asked.url === '/idleBeat' ? 500 : 200, msg: null, content: asked.url === '/log' ? log : null }));
      });
    });
    await new Promise((done) => server.listen(0, '127.0.0.1', done));
    servers.push(server);
    const registration = { registryGroup: 'EXECUTOR', registryKey: 'billing', registryValue: `http://127.0.0.1:${server.address().port}` };
    equal(JSON.parse((await request('/api/registry', { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(registration) })).text).code, 200, 'code');
  }
  return { orders, close: () => servers.forEach((server) => (server.close(), server.closeAllConnections())) };
}

/// Each shard of a broadcast is a cell with its state, which leads to its log, by the keyboard, too.
async function shards_are_cells() {
  const { orders, close } = await executors();
  try {
    const definition = { name: 'everywhere', handler: 'executor/billing/all', schedule: 'manual', route: 'sharding-broadcast', retries: 0 };
    equal((await command('job-put', { definition: JSON.stringify(definition) })).status, 200, 'status');
    const { run } = JSON.parse((await command('job-trigger', { name: definition.name })).text);
    const made = await signedIn('viewer', `jobs/everywhere/${run}`);
    const { page } = made;
    await page.waitForSelector('.cells li:nth-child(3) a.busy');
    const ends = async (index, code) => {
      const order = orders.find((one) => one.broadcastIndex === index);
      const end = [{ logId: order.logId, logDateTim: order.logDateTime, handleCode: code, handleMsg: kHostile }];
      equal(JSON.parse((await request('/api/callback', { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(end) })).text).code, 200, 'code');
    };
    for (const shard of [1, 2, 3]) await page.waitForSelector(`.cells li:nth-child(${shard}) a:has-text(": running")`);
    await ends(0, 200);
    await ends(1, 500);
    await page.waitForSelector('.cells li:nth-child(1) a.good:has-text("Shard 0 at http://127.0.0.1:")');
    await page.waitForSelector('.cells li:nth-child(2) a.bad:has-text("failed")');
    await page.waitForSelector('.cells li:nth-child(3) a.busy:has-text("running")');
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme });
      equal(await violations(page), [], `violations, ${colorScheme}`);
      await picture(page, `shards-${colorScheme}`);
    }
    await page.locator('.cells a').nth(1).focus();
    await page.keyboard.press('Enter');
    await page.waitForSelector('h2:has-text("Log of shard 1")');
    await page.waitForSelector('pre.log:has-text("the log of executor")');
    check(page.url().endsWith('?shard=1'), page.url());
    await ends(2, 200);
    await page.waitForSelector('h1 .state:has-text("failed")');
    await page.waitForSelector('.cells li:nth-child(3) a.good');
    equal(await page.locator('main img').count(), 0, 'images of a page');
    await end(made);
  } finally {
    close();
  }
}

/// The attempts of a run with their times.
async function attempts_have_their_times() {
  const definition = { name: 'tries', handler: 'command/fails', schedule: 'manual', retries: 1, backoff_ms: 0 };
  equal((await command('job-put', { definition: JSON.stringify(definition) })).status, 200, 'status');
  const { run } = JSON.parse((await command('job-trigger', { name: definition.name })).text);
  const made = await signedIn('viewer', `jobs/tries/${run}`);
  for (const text of ['attempt 1 begun', 'attempt 1 failed', 'attempt 2 begun']) await made.page.waitForSelector(`main li:has-text("${text}")`);
  await made.page.waitForSelector('h1 .state:has-text("failed")');
  await picture(made.page, 'attempts-light');
  await end(made);
}

/// Who changed a row, and its fields before and after.
async function a_row_has_its_history() {
  const row = { table: 'ROUTE_TABLE', key: '192.0.2.128/25' };
  for (const fields of [[['nexthop_group', '1'], ['mtu', '1400']], [['mtu', kHostile]]]) {
    equal((await command('set', { ...row, fields, wait_ms: 120_000 })).status, 200, 'status');
  }
  const made = await signedIn('viewer', `tables/ROUTE_TABLE/${encodeURIComponent(row.key)}`);
  const { page } = made;
  await page.click('button:has-text("Read the journal")');
  const newest = '[aria-label=Changes] tbody tr:nth-child(1)';
  await page.waitForSelector(`${newest}:has-text("token 'admin'")`);
  equal(await page.locator(`${newest} del`).allTextContents(), ['1400'], 'before');
  equal(await page.locator(`${newest} ins`).allTextContents(), [kHostile], 'after');
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    equal(await violations(page), [], `violations, ${colorScheme}`);
    await picture(page, `history-${colorScheme}`);
  }
  await end(made);
}

/// The log has what a change was before and after.
async function the_log_has_before_and_after() {
  const row = { table: 'ROUTE_TABLE', key: '192.0.2.64/26' };
  equal((await command('set', { ...row, fields: [['nexthop_group', '1'], ['auth_token', 'hidden-secret']], wait_ms: 120_000 })).status, 200, 'status');
  equal((await command('set', { ...row, fields: [['nexthop_group', '2']], wait_ms: 120_000 })).status, 200, 'status');
  const made = await signedIn('viewer', 'log');
  await made.page.waitForSelector('ol.log li:has-text("192.0.2.64/26"):has-text("nexthop_group=2")');
  const lines = (await made.page.locator('ol.log li:has-text("192.0.2.64/26")').allTextContents()).join('\n');
  check(lines.includes('before="nexthop_group=1" after="nexthop_group=2"') && !lines.includes('hidden-secret'), lines);
  await end(made);
}

/// What failed, its log, and a second try.
async function it_is_found_what_failed() {
  const made = await signedIn('operator', 'jobs?view=failures');
  const { page } = made;
  const counted = await page.locator('main .note:has-text("failed run")').textContent();
  check(/^(1 failed run|\d+ failed runs) of (1 job|\d+ jobs)$/.test(counted) && !/\b1 (failed runs|jobs)/.test(counted), counted);
  await page.click(`main a:text-is("${given.failed}")`);
  await page.waitForSelector('pre.log:has-text("<b>bold</b>")');
  await page.click('main button:has-text("Run again")');
  await page.waitForURL((url) => !url.pathname.endsWith(`/${given.failed}`));
  await page.waitForSelector('h1 .state:has-text("failed")');
  await page.waitForSelector('text=Runs again');
  await end(made);
}

/// "Last night" ends at eight in the morning of the reader's zone, and the page shows the interval.
async function last_night_ends_in_the_morning() {
  // The zones of readers for whom it is about three o'clock and about noon.
  const utcHour = new Date().getUTCHours();
  const zoneAt = (hour) => ((ahead) => `Etc/GMT${ahead < 0 ? '+' : '-'}${Math.abs(ahead)}`)(((hour - utcHour + 36) % 24) - 12);
  const asleep = await signedIn('viewer', 'jobs?view=failures&since=night', { timezoneId: zoneAt(3) });
  await asleep.page.waitForSelector(`main a:text-is("${given.failed}")`);
  await asleep.page.waitForSelector('main .note:has-text("18:00 to now")');
  await end(asleep);
  const made = await signedIn('viewer', 'jobs?view=failures&since=night', { timezoneId: zoneAt(12) });
  const { page } = made;
  await page.waitForSelector('main:has-text("No run has failed in this time.")');
  const noted = await page.locator('main .note').first().textContent();
  const [, from, to] = /^(\S+) 18:00 to (\S+) 08:00, ./.exec(noted) ?? [];
  equal(Date.parse(to) - Date.parse(from), 86_400_000, `the days of '${noted}'`);
  await page.selectOption('main select', 'hour');
  await page.waitForSelector(`main a:text-is("${given.failed}")`);
  // The zone that the reader has chosen is meant, and not the one of the computer.
  await page.selectOption('main select', 'night');
  await page.click('nav button:has-text("Local time")');
  await page.waitForSelector('main .note:has-text(", UTC")');
  await end(made);
}

/// A bar of the load leads to the jobs of its minute.
async function a_minute_names_its_jobs() {
  const minute = new Date(Math.ceil(Date.now() / 60_000) * 60_000 + 20 * 60_000);
  const definition = { name: 'each-hour', handler: 'none', schedule: `cron ${minute.getUTCMinutes()} * * * *` };
  equal((await command('job-put', { definition: JSON.stringify(definition), start: true })).status, 200, 'status');
  const made = await signedIn('viewer', `jobs?view=hours&at=${minute.toISOString()}`);
  const { page } = made;
  const list = '[aria-label="Jobs of the minute"]';
  await page.waitForSelector(`${list} tr:has-text("each-hour")`);
  await page.waitForSelector(`${list} tr:has-text("each-second"):has-text("60")`);
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    equal(await violations(page), [], `violations, ${colorScheme}`);
    await picture(page, `minute-${colorScheme}`);
  }
  // The next minute, without a pointer.
  await page.locator('main a:has-text("→")').focus();
  await page.keyboard.press('Enter');
  await page.waitForSelector(`${list}:has-text("each-second"):not(:has-text("each-hour"))`);
  await page.click('nav a:has-text("Now")');
  await page.locator('svg.load').click({ position: { x: 200, y: 50 } });
  await page.waitForSelector(`h1:has-text("Next hours")`);
  await page.waitForSelector(`${list} a:text-is("each-second")`);
  await end(made);
}

/// Notes alone are no trouble, and yet the page does not say that all is well.
async function notes_are_in_the_headline() {
  const made = await signedIn('viewer');
  const { page } = made;
  const told = async (troubles, notes, text, kind) => {
    await page.route('**/api/v1/health', (route) => route.fulfill({ json: { healthy: troubles.length === 0, troubles, notes, kernel: {} } }));
    await page.waitForSelector(`nav .health:text-is("${text.split(',')[0]}")`);
    await page.waitForSelector(`main .panel > header .state.${kind}:text-is("${text}")`);
    await page.waitForSelector(`nav .health .dot.${kind}`);
    equal(await page.locator('main:has-text("Nothing is known to be wrong")').count(), kind === 'good' ? 1 : 0, 'all-clear');
  };
  await told([], [], 'healthy', 'good');
  await told([], ['withdrawn from the data plane: 7 routes of Ethernet0', kHostile], '2 notes', 'warn');
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    equal(await violations(page), [], `violations, ${colorScheme}`);
    await picture(page, `notes-${colorScheme}`);
  }
  await page.setViewportSize({ width: 390, height: 844 });
  await picture(page, 'notes-phone');
  await told(['rejected rows: 1'], ['a port has no carrier'], '1 trouble, 1 note', 'bad');
  await end(made);
}

/// The turns of the scheduler appear while the reader looks.
async function turns_are_drawn() {
  const made = await signedIn('viewer', 'turns');
  const { page } = made;
  await page.waitForSelector('main [aria-label*="turns"]');
  await page.waitForSelector('main tbody tr:has-text("ROUTE_TABLE")');
  await end(made);
}

/// A viewer sees everything, and nothing that would change something.
async function a_viewer_sees_no_action() {
  const made = await signedIn('viewer');
  const { page } = made;
  for (const [path, text] of kPages) {
    if (path === 'access' || path.includes('new=1') || path.includes('edit=1')) continue;
    await visit(page, path);
    await page.locator(`main >> text=${text}`).first().waitFor();
    const verbs = ['Add', 'Change', 'Delete', 'Write', 'Run', 'Stop', 'Start', 'Kill', 'Edit', 'Backfill', 'Remove', 'Drain', 'Repair'];
    const buttons = (await page.locator('main button').allTextContents()).filter((one) => verbs.some((verb) => one.trim().startsWith(verb)));
    equal(buttons, [], `buttons of a viewer in '${path}'`);
  }
  await end(made);
}

/// Names from outside are texts, wherever they stand.
async function text_from_outside_is_never_markup() {
  const made = await signedIn('viewer', 'tables?show=rejected');
  const { page } = made;
  await page.waitForSelector(`main >> text=${JSON.stringify(kHostile)}`);
  equal(await page.locator('main img').count(), 0, 'images of a page');
  check((await page.title()) !== 'taken', 'a name from outside became a script');
  await end(made);
  const definition = { name: 'turned', handler: 'none', schedule: 'manual', note: 'a\u202eb', parameters: 'c\u2066d' };
  equal((await command('job-put', { definition: JSON.stringify(definition) })).status, 200, 'status');
  const turned = await signedIn('viewer', 'jobs/turned');
  for (const text of ['a\\u202eb', 'c\\u2066d']) await turned.page.locator('dd', { hasText: text }).waitFor();
  await end(turned);
}

/// The page comes with a policy that allows no script but its own, and no frame.
async function the_page_is_guarded_by_its_headers() {
  const { status, headers } = await request('/console/', { method: 'GET' });
  equal(status, 200, 'status');
  const policy = headers.get('content-security-policy');
  for (const part of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"]) check(policy.includes(part), policy);
  check(!policy.includes('unsafe'), policy);
  equal(headers.get('x-content-type-options'), 'nosniff', 'nosniff');
  equal(headers.get('x-frame-options'), 'DENY', 'frames');
}

async function a_session_serves_its_own_page_alone() {
  const json = { 'Content-Type': 'application/json' };
  const signed = await request('/api/v1/session', { headers: json, body: JSON.stringify({ token: given.tokens.admin }) });
  equal(signed.status, 200, 'status of the sign-in');
  const cookie = signed.headers.get('set-cookie').split(';')[0];
  const secrets = { Cookie: cookie, 'Rondo-Session-Key': JSON.parse(signed.text).key };
  const body = '{"table":"ROUTE_TABLE","key":"192.0.2.0/24"}';
  const call = (headers, path = '/api/v1/del', options = {}) => request(path, { headers: { ...json, ...secrets, ...headers }, body, ...options });
  equal((await call({ Origin: given.base })).status, 200, 'status of a call of the own page');
  equal((await call({ Origin: given.base, 'Rondo-Session-Key': '' })).status, 401, 'status of the cookie alone, which all ports of the host see');
  equal((await call({})).status, 403, 'status without Origin');
  for (const origin of ['http://evil.example', 'null', given.base.replace(/\d+$/, '1'), given.base.replace('http:', 'https:'), `${given.base}.evil.example`]) {
    equal((await call({ Origin: origin })).status, 403, `status of a call from ${origin}`);
  }
  equal((await call({ Origin: given.base, 'Content-Type': 'text/plain' })).status, 400, 'status of a form');
  const upgrade = await request('/api/v1/connect', { method: 'GET', headers: { ...secrets, Origin: given.base } });
  check(upgrade.status === 401 || upgrade.status === 403, `connect with a cookie: ${upgrade.status}`);
  equal((await request('/api/v1/session', { method: 'DELETE', headers: { ...secrets, Origin: 'http://evil.example' } })).status, 403, 'a sign-out from elsewhere');
  equal((await request('/api/v1/session', { method: 'DELETE', headers: { ...secrets, Origin: given.base } })).status, 200, 'the sign-out');
  equal((await call({ Origin: given.base })).status, 401, 'status after the sign-out');
}

/// Every command without a token, and with that of a viewer.
async function no_command_is_served_without_a_right() {
  const bearer = (role) => ({ 'Content-Type': 'application/json', Authorization: `Bearer ${given.tokens[role]}` });
  const { rows } = JSON.parse((await request('/api/v1/commands', { headers: bearer('admin'), body: '{}' })).text);
  check(rows.length > 40, `${rows.length} commands`);
  for (const { name, writes } of rows) {
    equal((await request(`/api/v1/${name}`, { headers: { 'Content-Type': 'application/json' }, body: '{}' })).status, 401, `${name} without a token`);
    if (writes) equal((await request(`/api/v1/${name}`, { headers: bearer('viewer'), body: '{}' })).status, 403, `${name} for a viewer`);
  }
}

await run([
  ...(given.documents ? [pictures_of_the_documents] : []),
  markup_is_written_as_names,
  the_sign_in_takes_a_token,
  a_token_sees_only_its_pages,
  the_token_leaves_the_address,
  all_pages_in_light,
  all_pages_in_dark,
  all_pages_on_a_telephone,
  a_search_finds_keys_on_the_server,
  a_long_list_comes_in_pages,
  text_from_outside_is_never_markup,
  a_job_is_added_watched_and_killed,
  it_is_found_what_failed,
  last_night_ends_in_the_morning,
  a_minute_names_its_jobs,
  notes_are_in_the_headline,
  shards_are_cells,
  attempts_have_their_times,
  a_row_has_its_history,
  the_log_has_before_and_after,
  turns_are_drawn,
  a_viewer_sees_no_action,
  a_row_has_an_address,
  an_edit_keeps_what_others_wrote,
  a_dialog_shows_its_own_errors,
  an_unusual_field_is_named_before_it_is_written,
  an_edit_of_a_job_overwrites_nothing,
  a_link_signs_nobody_over,
  tabs_sign_in_and_out_together,
  a_daemon_that_hangs_is_named,
  the_clock_of_the_browser_may_be_wrong,
  a_change_is_traced,
  a_row_is_traced_once_a_stream_is_free,
  a_list_of_rows_has_its_age,
  a_chart_follows_the_theme_of_the_system,
  it_is_found_why_a_route_waits,
  the_page_is_guarded_by_its_headers,
  a_session_serves_its_own_page_alone,
  no_command_is_served_without_a_right,
]);
