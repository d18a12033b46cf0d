// The console of rondod: the frame around all pages, and the sign-in.
import { render } from 'preact';
import { useEffect } from 'preact/hooks';
import { call, resume, session, signIn, signOut } from './api';
import { kLocalZone } from './format';
import { pageOf, pages } from './pages';
import { type Health, headline } from './pages/now';
import { A, go, place, to } from './router';
import { SignIn } from './pages/sign_in';
import { notice, paused, theme, usePoll, zone } from './state';
import './style.css';


function Frame() {
  const { parts } = place.value;
  const page = pageOf(parts);
  const version = usePoll('version', (signal) => call<{ name: string; version: string }>('version', {}, signal), 0);
  // Of the whole daemon, which a token of a group or of workers does not see.
  const isConfined = session.value?.role === 'worker' || session.value?.group !== undefined;
  const health = usePoll('health', async (signal) => (isConfined ? undefined : call<Health>('health', {}, signal)), 2000);
  useEffect(() => {
    document.title = `${page?.name ?? 'No page'} · Rondo`;
    paused.value = false;
    // On a telephone the menu is one line that scrolls.
    document.querySelector('nav [aria-current]')?.scrollIntoView({ inline: 'center', block: 'nearest' });
  }, [page]);
  // On a telephone there is room for one number.
  const { troubles, notes } = health.data ?? { troubles: [], notes: [] };
  const { kind, text } = health.data ? headline({ troubles, notes: troubles.length > 0 ? [] : notes }) : { kind: 'idle', text: '…' };
  return (
    <>
      <a class="skip" href="#page">To the content</a>
      <nav aria-label="Pages">
        <A href={to([])} class="brand"><img src="/console/icon.svg" alt="" width="22" height="22" /><span>Rondo</span></A>
        <div class="pages">
          {pages().map((entry) => (
            <A href={to(entry.path ? [entry.path] : [])} current={entry === page}>{entry.name}</A>
          ))}
        </div>
        <div class="foot">
          <div class="health" role="status" hidden={isConfined}>
            <span class={`dot ${health.error ? 'bad' : kind}`} />
            {health.error ? 'no answer' : text}
          </div>
          <div class="who" title={`signed in with the token ${session.value?.name}`}>
            {version.data && `${version.data.name} ${version.data.version}`}<br />{session.value?.name} · {session.value?.role}
          </div>
          <div class="settings">
            <button class="quiet" title={`Times in UTC or in ${kLocalZone}`} onClick={() => (zone.value = zone.value === 'utc' ? 'local' : 'utc')}>
              {zone.value === 'utc' ? 'UTC' : 'Local time'}
            </button>
            <button class="quiet" title="Light, dark, or as the system" onClick={() => (theme.value = theme.value === 'auto' ? 'light' : theme.value === 'light' ? 'dark' : 'auto')}>
              {{ auto: 'Auto', light: 'Light', dark: 'Dark' }[theme.value]}
            </button>
            <button class="quiet" onClick={() => void signOut()}>Sign out</button>
          </div>
        </div>
      </nav>
      <main id="page" tabIndex={-1}>{page ? page.show(parts) : <p class="message">The token {session.value?.name} is for `rondo worker`. Sign in with another one.</p>}</main>
    </>
  );
}

function App() {
  return (
    <>
      {session.value === undefined ? <p class="message" aria-busy="true">…</p> : session.value === null ? <SignIn /> : <Frame />}
      <div class={`notice ${notice.value?.bad ? 'bad' : ''}`} role={notice.value?.bad ? 'alert' : 'status'} hidden={!notice.value}>
        {notice.value?.text}
        <button class="quiet" aria-label="Close this message" onClick={() => (notice.value = undefined)}>×</button>
      </div>
    </>
  );
}

/// Keys: p pauses, / goes to the search, g and a letter go to a page.
let goes = -Infinity;
addEventListener('keydown', (event) => {
  const at = event.target as HTMLElement;
  if (event.metaKey || event.ctrlKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(at.tagName) || document.querySelector('dialog[open]')) return;
  if (performance.now() - goes < 1500) {
    const page = pages().find((entry) => entry.key === event.key);
    if (page) go(to(page.path ? [page.path] : []));
    goes = -Infinity;
  } else if (event.key === '/') {
    const field = document.querySelector<HTMLInputElement>('main input[type=search]');
    if (field) {
      event.preventDefault();
      field.focus();
    }
  } else if (event.key === 'p') {
    paused.value = !paused.value;
  } else if (event.key === 'g') {
    goes = performance.now();
  }
});

async function begin() {
  // The address that ./run prints has the token behind '#', which no server sees. It leaves the address at once.
  const token = /^#token=(.+)$/.exec(location.hash)?.[1];
  if (token) {
    history.replaceState(null, '', location.pathname + location.search);
    await resume();
    // A link must not make its reader somebody else unseen.
    const question = `You are signed in as ${session.value?.name}. Sign in with the token of this link in its place?`;
    if (session.value && !confirm(question)) return;
    try {
      await signIn(decodeURIComponent(token));
    } catch {
      // Whoever is signed in stays so.
    }
  } else {
    await resume();
  }
}

render(<App />, document.getElementById('app')!);
void begin();
