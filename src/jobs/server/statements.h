// Statements: what the databases' languages say differently. All statements are in PostgreSQL's notation: $1 is the first parameter,
// the word unnest makes rows of parameters that are arrays, and a table is rondo.jobs.
#pragma once

namespace rondo::jobs::server {

struct Statements {
  /// $1 name, $2 spec, $3 handler, $4 next. An edit uses up no id, because ids have 31 bits.
  const char* put_job;
  /// $1 name, $2 all its parents.
  const char* put_parents;
  /// Of started jobs: $1 ids, $2 next.
  const char* move_jobs;
  /// Returns $1 new ids of runs, in ascending order.
  const char* draw_run_ids;
  /// $1 id, $2 job, $3 scheduled, $4 due, $5 band, $6 state, $7 missed, $8 ended, $9 note, $10 parents, $11 parameters, $12 address, $13
  /// rerun_of. Leaves out a run whose instant has one, and returns the ids of the others. It may return other numbers, too.
  const char* add_runs;
  /// $1 id, $2 state, $3 due, $4 attempt, $5 begun, $6 ended, $7 note, $8 next of the job. Runs with a final state keep it. A job is
  /// delayed by the last of its runs in the list.
  const char* end_runs;
  /// $1 id, $2 next of the job. Deletes those without a final state.
  const char* withdraw_runs;
  /// $1 ids, $2 workers. Runs with a final state keep theirs.
  const char* note_workers;
  /// $1 runs; $2 job, $3 first, $4 last: instants to note as removed. A job may have been removed since its runs were read.
  const char* remove_runs;
  /// $1 key, $2 text.
  const char* remember;

  /// Returns the name of another owner than $1 whose lease has not ended, and that end in microseconds since 1970, the latest first.
  const char* other_owner;
  /// Returns of each owner its name, the number of its shards, since when and until when in microseconds since 1970, whether its lease has
  /// ended, and whether it is $1.
  const char* owners;
  /// All shards, which are locked, become those of $1, with the name $2, for $3 milliseconds. Returns the number of shards, the epoch, the
  /// time in microseconds, and the version of the table changes.
  const char* take;
  /// The lease of $1 in the epoch $2 lasts $3 milliseconds more; $4 written. Locks rows in the order of take(). Returns the number of
  /// shards, and the time in microseconds.
  const char* renew;
  /// Ends the lease of $1 in the epoch $2.
  const char* give_up;
};

}  // namespace rondo::jobs::server
