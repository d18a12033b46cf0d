// Signing in with a token of the API.
import { useState } from 'preact/hooks';
import { ended, signIn } from '../api';

export function SignIn() {
  const [token, setToken] = useState('');
  const [error, setError] = useState('');
  const [busy, setBusy] = useState(false);
  return (
    <main class="sign-in">
      <form
        onSubmit={async (event) => {
          event.preventDefault();
          setBusy(true);
          try {
            await signIn(token.trim());
          } catch (caught) {
            setError(caught instanceof Error ? caught.message : String(caught));
          }
          setBusy(false);
        }}
      >
        <img src="/console/icon.svg" alt="" width="40" height="40" />
        <h1>Rondo</h1>
        {ended.value && !error && <p class="message" role="status">{ended.value}</p>}
        <label>
          Token
          <input type="password" value={token} autocomplete="current-password" autofocus required onInput={(event) => setToken(event.currentTarget.value)} />
        </label>
        {error && <p class="message bad" role="alert">{error}</p>}
        <button class="primary" type="submit" disabled={busy}>Sign in</button>
        <p class="note"><code>rondo token-add NAME viewer</code> makes a token that may look at everything and change nothing.</p>
      </form>
    </main>
  );
}
