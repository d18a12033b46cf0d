// One-shot runs of Quartz 2.3.2, clustered, with its triggers in PostgreSQL: from the time a run is due to its stored end. A part of
// job_databases.py, which compiles and starts it.
//   java QuartzJobs JDBC-URL throughput|lateness RUNS LEAD
// Each run is a trigger of one durable job that does nothing. They are due LEAD seconds after the start: all at once, or one each
// millisecond. Five seconds before, 500 others warm the program up. Prints "planned" when all are stored, and at the end what
// job_databases.py reads. Exit status 3: they were stored too late.
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.Date;
import java.util.HashSet;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.quartz.Job;
import org.quartz.JobBuilder;
import org.quartz.JobDetail;
import org.quartz.JobExecutionContext;
import org.quartz.Scheduler;
import org.quartz.Trigger;
import org.quartz.Trigger.CompletedExecutionInstruction;
import org.quartz.TriggerBuilder;
import org.quartz.impl.StdSchedulerFactory;
import org.quartz.impl.jdbcjobstore.JobStoreTX;
import org.quartz.spi.OperableTrigger;

public class QuartzJobs {
  static final int THREADS = 25;
  static final int PATIENCE_SECONDS = 300;
  static final int PAGE = 1000;
  static final int WARMUP_RUNS = 500;
  static final long WARMUP_MS = 5000;
  static long begin;
  static long[] late;  // Microseconds, in the order of the ends.
  static final AtomicInteger ended = new AtomicInteger();
  static CountDownLatch left;

  public static class Nothing implements Job {
    @Override
    public void execute(JobExecutionContext context) {}
  }

  /** Quartz calls no listener after it has stored the end of a run, so the store itself takes the time. */
  public static class NotingStore extends JobStoreTX {
    @Override
    public void triggeredJobComplete(OperableTrigger trigger, JobDetail job, CompletedExecutionInstruction instruction) {
      super.triggeredJobComplete(trigger, job, instruction);
      if (trigger.getStartTime().getTime() < begin) return;
      late[ended.getAndIncrement()] = ChronoUnit.MICROS.between(trigger.getStartTime().toInstant(), Instant.now());
      left.countDown();
    }
  }

  static Scheduler scheduler(String url) throws Exception {
    Properties options = new Properties();
    options.setProperty("org.quartz.scheduler.instanceName", "bench");
    options.setProperty("org.quartz.scheduler.instanceId", "AUTO");
    options.setProperty("org.quartz.scheduler.skipUpdateCheck", "true");
    options.setProperty("org.quartz.scheduler.batchTriggerAcquisitionMaxCount", String.valueOf(THREADS));
    options.setProperty("org.quartz.threadPool.class", "org.quartz.simpl.SimpleThreadPool");
    options.setProperty("org.quartz.threadPool.threadCount", String.valueOf(THREADS));
    options.setProperty("org.quartz.jobStore.class", NotingStore.class.getName());
    options.setProperty("org.quartz.jobStore.driverDelegateClass", "org.quartz.impl.jdbcjobstore.PostgreSQLDelegate");
    options.setProperty("org.quartz.jobStore.isClustered", "true");
    options.setProperty("org.quartz.jobStore.acquireTriggersWithinLock", "true");
    options.setProperty("org.quartz.jobStore.misfireThreshold", "600000");  // No run counts as missed.
    options.setProperty("org.quartz.jobStore.dataSource", "database");
    options.setProperty("org.quartz.dataSource.database.provider", "hikaricp");
    options.setProperty("org.quartz.dataSource.database.driver", "org.postgresql.Driver");
    options.setProperty("org.quartz.dataSource.database.URL", url);
    options.setProperty("org.quartz.dataSource.database.maxConnections", String.valueOf(THREADS + 5));
    return new StdSchedulerFactory(options).getScheduler();
  }

  static void execute(String url, String statements) throws Exception {
    try (Connection connection = DriverManager.getConnection(url); Statement statement = connection.createStatement()) {
      statement.execute(statements);
    }
  }

  static String tables() throws Exception {
    try (var file = JobStoreTX.class.getResourceAsStream("tables_postgres.sql")) {
      return new String(file.readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  /** The runs of a list that are sorted before this share of it. */
  static double quantile(long[] sorted, double share) {
    return sorted[Math.max(0, (int) Math.ceil(share * sorted.length) - 1)] / 1e3;
  }

  public static void main(String[] arguments) throws Exception {
    String url = arguments[0];
    int step = arguments[1].equals("lateness") ? 1 : 0;
    int runs = Integer.parseInt(arguments[2]);
    begin = System.currentTimeMillis() + 1000 * Long.parseLong(arguments[3]);
    late = new long[runs];
    left = new CountDownLatch(runs);
    execute(url, tables());
    Scheduler scheduler = scheduler(url);
    JobDetail job = JobBuilder.newJob(Nothing.class).withIdentity("nothing").storeDurably().build();
    for (int i = -WARMUP_RUNS; i < runs; i += PAGE) {
      Set<Trigger> page = new HashSet<>();
      for (int k = i; k < Math.min(i + PAGE, runs); ++k) {
        Date due = new Date(k < 0 ? begin - WARMUP_MS : begin + (long) step * k);
        page.add(TriggerBuilder.newTrigger().withIdentity("run" + k).forJob(job).startAt(due).build());
      }
      scheduler.scheduleJobs(Map.of(job, page), true);
      execute(url, "ANALYZE");  // The plans for empty tables become slow as the tables grow.
    }
    scheduler.start();
    System.out.println("planned");
    if (System.currentTimeMillis() + WARMUP_MS + 1000 > begin) System.exit(3);
    if (!left.await(begin - System.currentTimeMillis() + 1000 * PATIENCE_SECONDS, TimeUnit.MILLISECONDS)) {
      System.err.println("only " + ended.get() + " of " + runs + " runs have ended");
      System.exit(1);
    }
    double seconds = (System.currentTimeMillis() - begin) / 1e3;
    scheduler.shutdown(true);
    Arrays.sort(late);
    System.out.printf("runs %d seconds %.3f p50_ms %.2f p99_ms %.2f%n", runs, seconds, quantile(late, 0.5), quantile(late, 0.99));
    System.exit(0);
  }
}
