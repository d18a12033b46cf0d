// The part of the first page about jobs.
export function NowJobs() {
  return null;
}
