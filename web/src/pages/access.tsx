// The tokens of the API. Only admins see this page in the menu, and rondod answers nobody else.
import { useState } from 'preact/hooks';
import { call, session } from '../api';
import { Choice, Confirm, Empty, List, Page, Panel, State, Waiting } from '../parts/parts';
import { tell, usePoll } from '../state';

interface Token {
  name: string;
  role: Role;
  group?: string;
}

const kRoles = {
  viewer: 'sees everything, changes nothing',
  operator: 'changes rows and jobs',
  worker: 'carries out runs on a host',
  admin: 'does everything, also with tokens',
} as const;
type Role = keyof typeof kRoles;

function Add({ close, made }: { close: () => void; made: (name: string, secret: string) => void }) {
  const [name, setName] = useState('');
  const [role, setRole] = useState<Role>('viewer');
  const [group, setGroup] = useState('');
  const confined = role === 'viewer' || role === 'operator';
  const add = async () => {
    const { token } = await call<{ token: string }>('token-add', { name, role, group: (confined && group) || undefined });
    made(name, token);
    return `The token ${name} was made`;
  };
  return (
    <Confirm title="Add a token" verb="Add" disabled={name === ''} close={close} confirm={add}>
      <label>Name, for logs and to remove it<input value={name} required autocomplete="off" onInput={(event) => setName(event.currentTarget.value.trim())} /></label>
      <Choice label="Role" value={role} values={Object.entries(kRoles).map(([value, text]) => [value as Role, `${value}: ${text}`] as const)} change={setRole} />
      {confined && <label>Only the jobs of this group of executors; empty: all<input value={group} autocomplete="off" onInput={(event) => setGroup(event.currentTarget.value.trim())} /></label>}
    </Confirm>
  );
}

/// The secret of a new token. rondod keeps its SHA-256 alone, so nobody can show it again.
function Secret({ name, secret, close }: { name: string; secret: string; close: () => void }) {
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(secret);
      tell('Copied');
    } catch {
      tell('The browser does not allow it: select the text and copy it', true);
    }
  };
  return (
    <Panel title={`The token ${name}`} beside={<><button onClick={() => void copy()}>Copy</button><button onClick={close}>Done</button></>}>
      <p>It is shown only now:</p>
      <pre class="log">{secret}</pre>
    </Panel>
  );
}

export function Access() {
  const tokens = usePoll('tokens', (signal) => call<{ rows: Token[] }>('tokens', {}, signal), 5000);
  const [adds, setAdds] = useState(false);
  const [secret, setSecret] = useState<{ name: string; secret: string }>();
  const [removes, setRemoves] = useState<Token>();
  const rows = tokens.data?.rows ?? [];
  return (
    <Page title="Access" beside={tokens.data && <button onClick={() => setAdds(true)}>Add a token</button>}>
      {secret && <Secret {...secret} close={() => setSecret(undefined)} />}
      <Panel title="Tokens">
        <Waiting error={tokens.error} has={tokens.data !== undefined} />
        {tokens.data && rows.length === 0 && <Empty>There is no token.</Empty>}
        {rows.length > 0 && (
          <List
            name="Tokens"
            rows={rows}
            id={(row) => row.name}
            columns={[
              { name: 'Name', class: 'key', cell: (row) => row.name },
              { name: 'Role', cell: (row) => <State state={row.role} kind={row.role === 'admin' ? 'warn' : 'idle'} /> },
              { name: 'May', class: 'text', cell: (row) => `${kRoles[row.role] ?? ''}${row.group ? `, for the group ${row.group} alone` : ''}` },
              { name: 'Action', right: true, class: 'actions', cell: (row) => (row.name === session.value?.name ? 'yours' : <button class="row" onClick={() => setRemoves(row)}>Remove…</button>) },
            ]}
          />
        )}
      </Panel>
      {adds && (
        <Add
          close={() => setAdds(false)}
          made={(name, text) => {
            setSecret({ name, secret: text });
            tokens.refresh();
          }}
        />
      )}
      {removes && (
        <Confirm
          title={`Remove the token ${removes.name}?`}
          verb="Remove"
          danger
          close={() => setRemoves(undefined)}
          confirm={async () => {
            await call('token-remove', { name: removes.name });
            tokens.refresh();
            return `The token ${removes.name} was removed`;
          }}
        >
          <p>Programs and browsers that use it are disconnected, and cannot sign in again.</p>
        </Confirm>
      )}
    </Page>
  );
}
