// How many runs the next hours bring, a bar a minute.
import { call } from '../api';
import { count, instant } from '../format';
import { Choice, Page, Panel, Waiting } from '../parts/parts';
import { A, place, setQuery, to } from '../router';
import { usePoll } from '../state';
import { isUnknown, kDay, kHour } from './jobs_data';

interface Load {
  from: string;
  minutes: number[];
  jobs_counted: number;
  cut_short: boolean;
}

const kMinute = 60_000;
const kHeight = 100;

/// The load of the next so many milliseconds. It is asked for again each minute.
export function useLoad(length: number) {
  return usePoll(`load ${length}`, (signal) => {
    const from = Math.floor(Date.now() / kMinute) * kMinute;
    return call<Load>('job-load', { from: new Date(from).toISOString(), to: new Date(from + length).toISOString() }, signal);
  }, kMinute);
}

const timeAt = (load: Load, minute: number) => instant(new Date(Date.parse(load.from) + minute * kMinute).toISOString()).slice(0, 16);
const peak = (load: Load) => load.minutes.reduce((best, runs, minute) => (runs > (load.minutes[best] ?? 0) ? minute : best), 0);

export function LoadBars({ load }: { load: Load }) {
  const most = Math.max(1, ...load.minutes);
  const width = load.minutes.length;
  const bars = load.minutes.map((runs, minute) => {
    const height = (kHeight * runs) / most;
    return runs > 0 ? `M${minute + 0.1} ${kHeight}v${-height}h0.8v${height}z` : '';
  });
  const busiest = peak(load);
  return (
    <>
      <svg class="load" viewBox={`0 0 ${width} ${kHeight}`} preserveAspectRatio="none" role="img" aria-label={`Runs a minute; most at ${timeAt(load, busiest)}: ${count(load.minutes[busiest])}`}>
        <path d={bars.join('')} />
      </svg>
      <p class="note load-times"><span>{timeAt(load, 0).slice(11)}</span><span>{timeAt(load, Math.floor(width / 2)).slice(11)}</span><span>{timeAt(load, width).slice(11)}</span></p>
    </>
  );
}

export function NextHours() {
  const isDay = place.value.query.get('of') === 'day';
  const load = useLoad(isDay ? kDay : kHour);
  const peaks = (load.data?.minutes ?? []).map((runs, minute) => ({ runs, minute })).filter(({ runs }) => runs > 0).sort((a, b) => b.runs - a.runs).slice(0, 5);
  const all = load.data?.minutes.reduce((sum, runs) => sum + runs, 0) ?? 0;
  return (
    <Page title="Next hours" beside={<A href={to(['jobs'])}>all jobs</A>}>
      <Panel>
        <div class="bar-of-tools">
          <Choice label="Of" value={isDay ? 'day' : 'hour'} values={[['hour', 'the next hour'], ['day', 'the next day']]} change={(value) => setQuery('of', value === 'day' ? 'day' : '')} />
        </div>
        {isUnknown(load.error) ? <p class="message">This daemon runs no jobs.</p> : <Waiting error={load.error} has={load.data !== undefined} />}
        {load.data && <LoadBars load={load.data} />}
        {load.data && (
          <p>
            {count(all)} runs of {count(load.data.jobs_counted)} jobs, {(all / Math.max(1, load.data.minutes.length)).toFixed(1)} a minute.
            {load.data.cut_short && ' There are more, which are not counted.'}
          </p>
        )}
      </Panel>
      {load.data && (
        <Panel title="Peaks">
          {peaks.length === 0 && <p class="message">No run is planned.</p>}
          <ul class="lines">{peaks.map(({ runs, minute }) => <li>{timeAt(load.data!, minute)}: {count(runs)} runs</li>)}</ul>
          {peaks.length > 0 && <p class="note">Jobs that begin in the same minute may be spread by a random delay, or by another minute.</p>}
        </Panel>
      )}
    </Page>
  );
}
