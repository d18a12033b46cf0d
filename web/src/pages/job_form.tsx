// Adding and editing a job. What it means is shown while the reader types, and what an edit changes before it is written.
import { useEffect, useState } from 'preact/hooks';
import { ApiError, call } from '../api';
import { Empty, Page, Panel, Waiting } from '../parts/parts';
import { A, go, to } from '../router';
import { tell, textOf, usePoll } from '../state';
import { PreviewList } from './job';
import { changesOf, definitionFrom, type Field, kFields, type Texts, textsOf } from './job_fields';
import { type Definition, definitionOf, escaped, type JobRow, jobAt, preview } from './jobs_data';

/// The preview is asked for after a rest of the keys of so many milliseconds.
const kRest = 200;
const kZones = Intl.supportedValuesOf('timeZone');
const kSchedules = [
  ['cron', 'cron expression', '30 2 * * MON-FRI'],
  ['every', 'every', '10min'],
  ['after', 'after the end of the last run', '30s'],
  ['at', 'once, at', '2026-12-24T18:00'],
  ['manual', 'only when it is triggered', ''],
] as const;

export function NewJob() {
  return <Form title="Add a job" before={undefined} initial={{ name: '' }} />;
}

/// The definition that the daemon has now.
async function stored(name: string): Promise<Definition | undefined> {
  try {
    return definitionOf(await call<JobRow>('job', { name }));
  } catch (error) {
    if (error instanceof ApiError && error.code === 'not-found') return undefined;
    throw error;
  }
}

/// Why a definition may not be written over what the daemon has: `job-put` replaces a whole job. 'before': as the reader has seen it.
function conflict(before: Definition | undefined, now: Definition | undefined): string | undefined {
  if (!before) return now && `there is a job '${now.name}' already`;
  if (!now) return `the job '${before.name}' was removed meanwhile`;
  const [change] = changesOf(before, now);
  return change && `the job was changed meanwhile (${change.label}: ${change.after || 'none'}): open the form again`;
}

export function EditJob({ name }: { name: string }) {
  const job = usePoll(`edit ${name}`, async (signal) => definitionOf(await call<JobRow>('job', { name }, signal)), 0);
  if (!job.data) return <Page title={`Edit ${name}`}><Waiting error={job.error} has={false} /></Page>;
  return <Form title={`Edit ${name}`} before={job.data} initial={job.data} />;
}

function useRested<T>(value: T): T {
  const [rested, setRested] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setRested(value), kRest);
    return () => clearTimeout(timer);
  }, [JSON.stringify(value)]);
  return rested;
}

function Form({ title, before, initial }: { title: string; before: Definition | undefined; initial: Definition }) {
  const [texts, setTexts] = useState<Texts>(() => textsOf(initial));
  const [start, setStart] = useState(true);
  const [trouble, setTrouble] = useState('');
  /// A warning of the dry run, and the definition that the reader may write in spite of it.
  const [warned, setWarned] = useState<{ of: string; warning: string }>();
  const [busy, setBusy] = useState(false);
  const definition = definitionFrom(texts, initial);
  const changes = before ? changesOf(before, definition) : [];
  const set = (name: string, value: string) => {
    setTexts((old) => ({ ...old, [name]: value }));
    setTrouble('');
  };
  const back = before ? jobAt(before.name) : to(['jobs']);
  const write = async () => {
    const text = escaped(JSON.stringify(definition));
    setTrouble('');
    setBusy(true);
    try {
      const other = conflict(before, await stored(definition.name));
      if (other) return setTrouble(other);
      const checked = await call<JobRow>('job-put', { definition: text, start: !before && start, dry_run: true });
      if (checked.warning && warned?.of !== text) return setWarned({ of: text, warning: checked.warning });
      await call('job-put', { definition: text, start: !before && start });
      tell(`${definition.name} was ${before ? 'changed' : 'added'}`);
      go(jobAt(definition.name));
    } catch (error) {
      setTrouble(textOf(error));
    } finally {
      setBusy(false);
    }
  };
  const isWarned = warned?.of === escaped(JSON.stringify(definition));
  const input = (field: Field) => <Input key={field.name} field={field} texts={texts} set={set} fixed={before !== undefined && field.name === 'name'} />;
  const rare = kFields.filter((field) => field.rare);
  return (
    <Page title={title} beside={<A href={back}>back</A>}>
      <div class="panels">
        <Panel>
          <form
            onSubmit={(event) => {
              event.preventDefault();
              void write();
            }}
          >
            <div class="form">{kFields.filter((field) => !field.rare).map(input)}</div>
            <details open={rare.some((field) => initial[field.name] !== undefined)}>
              <summary>More</summary>
              <div class="form">{rare.map(input)}</div>
            </details>
            {!before && <label class="check"><input type="checkbox" checked={start} onChange={(event) => setStart(event.currentTarget.checked)} />Start it</label>}
            {trouble && <p class="message bad" role="alert">{trouble}</p>}
            {isWarned && <p class="message bad" role="alert">{warned?.warning}</p>}
            <div class="buttons">
              <button type="button" onClick={() => go(back)}>Cancel</button>
              <button type="submit" class="primary" disabled={busy || (before !== undefined && changes.length === 0)}>
                {isWarned ? 'Write it all the same' : before ? 'Write the changes' : 'Add'}
              </button>
            </div>
          </form>
        </Panel>
        <div>
          <LivePreview definition={definition} />
          {before && (
            <Panel title="What changes">
              {changes.length === 0 && <Empty>Nothing yet.</Empty>}
              <dl class="facts">
                {changes.map(({ label, before: old, after }) => <><dt>{label}</dt><dd class="mono"><del>{old || 'none'}</del> → <ins>{after || 'none'}</ins></dd></>)}
              </dl>
            </Panel>
          )}
        </div>
      </div>
    </Page>
  );
}

function LivePreview({ definition }: { definition: Definition }) {
  // A schedule can be read before the job has its name and its handler.
  const rested = useRested<Definition>({ ...definition, name: definition.name || 'preview', handler: definition.handler ?? 'none' });
  const found = usePoll(`preview ${JSON.stringify(rested)}`, (signal) => preview(rested, signal), 0);
  return (
    <Panel title="What it means">
      <Waiting error={found.error} has={found.data !== undefined} />
      {found.data && <PreviewList preview={found.data} parents={(rested.parents as string[] | undefined) ?? []} />}
    </Panel>
  );
}

function Input({ field, texts, set, fixed }: { field: Field; texts: Texts; set: (name: string, value: string) => void; fixed: boolean }) {
  const value = texts[field.name] ?? '';
  const change = (event: { currentTarget: { value: string } }) => set(field.name, event.currentTarget.value);
  if (field.kind === 'schedule') return <Schedule value={value} change={(text) => set(field.name, text)} />;
  const common = { value, onInput: change, spellcheck: false, autocomplete: 'off' } as const;
  if (field.kind === 'area') return <label class="wide">{field.label}<textarea {...common} /></label>;
  if (field.kind === 'choice') {
    return (
      <label>
        {field.label}
        <select value={value} onChange={change}>{field.values!.map((one) => <option value={one}>{one || 'detected from its form'}</option>)}</select>
      </label>
    );
  }
  return (
    <label>
      {field.label}
      <input
        {...common}
        placeholder={field.hint ?? field.initial ?? ''}
        disabled={fixed}
        required={field.name === 'name' || field.name === 'handler'}
        inputMode={field.kind === 'number' ? 'numeric' : 'text'}
        list={field.kind === 'zone' ? 'zones' : undefined}
      />
      {field.kind === 'zone' && <datalist id="zones">{kZones.map((zone) => <option value={zone} />)}</datalist>}
    </label>
  );
}

function Schedule({ value, change }: { value: string; change: (text: string) => void }) {
  const [kind = 'manual'] = value.split(' ', 1);
  const text = value.slice(kind.length + 1);
  const example = kSchedules.find(([name]) => name === kind)?.[2] ?? '';
  return (
    <>
      <label>
        Schedule
        <select value={kind} onChange={(event) => change(event.currentTarget.value === 'manual' ? 'manual' : `${event.currentTarget.value} ${text}`)}>
          {kSchedules.map(([name, words]) => <option value={name}>{words}</option>)}
        </select>
      </label>
      {kind !== 'manual' && (
        <label>
          When
          <input class="mono" value={text} required placeholder={example} spellcheck={false} autocomplete="off" onInput={(event) => change(`${kind} ${event.currentTarget.value}`)} />
        </label>
      )}
    </>
  );
}
