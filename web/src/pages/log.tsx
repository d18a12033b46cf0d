// The newest lines of the daemon's log, and the configuration that is in force.
import { useState } from 'preact/hooks';
import { call, type Json } from '../api';
import { count, instant } from '../format';
import { Choice, Empty, type Kind, Page, Panel, Search, State, Waiting } from '../parts/parts';
import { place, setQuery } from '../router';
import { usePoll } from '../state';

const kLevels: Record<string, { rank: number; kind: Kind }> = {
  debug: { rank: 0, kind: 'idle' },
  info: { rank: 1, kind: 'idle' },
  warn: { rank: 2, kind: 'warn' },
  error: { rank: 3, kind: 'bad' },
};

interface Line {
  id: string;
  at: string;
  level: string;
  text: string;
}

/// A line is "INSTANT LEVEL TEXT NAME=VALUE ...". Equal lines get different ids, so that those that stay keep their place on the page.
function parse(lines: { line: string }[]): Line[] {
  const seen = new Map<string, number>();
  return lines.map(({ line }) => {
    const times = (seen.get(line) ?? 0) + 1;
    seen.set(line, times);
    const [, at = '', level = '', text = line] = /^(\d{4}-\S+Z) (\w+) (.*)$/s.exec(line) ?? [];
    return { id: `${times} ${line}`, at, level, text };
  });
}

/// The text with the names of its values less strong.
function Text({ text }: { text: string }) {
  return <>{text.split(/( [\w.-]+=)/).map((part, i) => (i % 2 === 1 ? <span class="soft">{part}</span> : part))}</>;
}

function Section({ values }: { values: { [name: string]: Json } }) {
  return (
    <dl class="facts mono">
      {Object.entries(values).map(([name, value]) => <><dt>{name}</dt><dd>{JSON.stringify(value)}</dd></>)}
    </dl>
  );
}

function Config() {
  const config = usePoll('config', (signal) => call<Record<string, { [name: string]: Json }>>('config', {}, signal), 0);
  return (
    <>
      <Waiting error={config.error} has={config.data !== undefined} />
      <div class="config">
        {Object.entries(config.data ?? {}).map(([section, values]) => (
          <div key={section}><h3>[{section}]</h3><Section values={values} /></div>
        ))}
      </div>
    </>
  );
}

export function Log() {
  const log = usePoll('log', (signal) => call<{ rows: { line: string }[] }>('log', {}, signal), 2000);
  const [open, setOpen] = useState(false);
  const { query } = place.value;
  const find = query.get('find') ?? '';
  const level = query.get('level') ?? '';
  const lines = parse(log.data?.rows ?? []);
  const least = kLevels[level]?.rank ?? 0;
  const found = lines.filter((line) => (kLevels[line.level]?.rank ?? 3) >= least && `${line.level} ${line.text}`.toLowerCase().includes(find.toLowerCase())).reverse();
  return (
    <Page title="Log" live>
      <Panel>
        <div class="bar-of-tools">
          <Search label="Find in the log" value={find} change={(value) => setQuery('find', value)} />
          <Choice label="Level" value={level} values={[['', 'all'], ['info', 'info and above'], ['warn', 'warn and error'], ['error', 'error']]} change={(value) => setQuery('level', value)} />
          {log.data && <span class="note">{count(found.length)} of the newest {count(lines.length)} lines, the newest first. They follow every 2 s.</span>}
        </div>
        <Waiting error={log.error} has={log.data !== undefined} />
        {log.data && found.length === 0 && <Empty>{lines.length > 0 ? 'No line matches.' : 'The log has no line.'}</Empty>}
        <ol class="log">
          {found.map((line) => (
            <li key={line.id}>
              <time dateTime={line.at}>{line.at && instant(line.at, true)}</time>
              <State state={line.level} kind={kLevels[line.level]?.kind ?? 'bad'} />
              <span class="mono"><Text text={line.text} /></span>
            </li>
          ))}
        </ol>
      </Panel>
      <Panel>
        <details onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary><h2>Configuration in force</h2></summary>
          {open && <Config />}
        </details>
      </Panel>
    </Page>
  );
}
