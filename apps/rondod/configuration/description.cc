#include "rondod/configuration/description.h"

namespace rondo::daemon {
namespace {

using manual::Section;
using manual::Setting;

Section scheduler() {
  return {
      .name = "scheduler",
      .help = "Who gets turns, and the thread that gives them.",
      .settings = {
          {"policy", "\"frames\", \"strict\", \"strictly-ordered\" or \"quoted-round-robin\"", "\"frames\"",
           "Who is next. frames: the highest priority that has budget left in this frame, so that every wait has a bound. strict: "
           "always the highest priority. strictly-ordered: that, and tables of one priority in the order in which they became ready, one "
           "row a turn (rows of "
           "several tables are not put into the order of their arrival). quoted-round-robin: each priority up to its quota, from the "
           "highest down. SIGHUP reads the policy and what belongs to it again, and the log's level."},
          {"tie", "\"least-recently-served\", \"arrival\" or \"consumed-time\"", "\"least-recently-served\"",
           "Who goes first among ready sources of equal priority, with frames and strict: the one served longest ago, the first to "
           "become ready, or the one with the least consumed time."},
          {"lowest_budget_us", "integer from 1 to 16000", "500", "Microseconds a frame of priority 0, with frames."},
          {"highest_budget_us", "integer from 500 to 3600000000", "16000",
           "The same of priority 63; those between grow by equal factors. Read: so long may this priority keep the others waiting."},
          {"quota", "integer from 1 to 1000000000", "10", "Quota of each priority, with quoted-round-robin."},
          {"quota_unit", "\"items\" or \"microseconds\"", "\"items\"", "What a quota counts."},
          {"batch", "integer from 1 to 128", "128",
           "Items a source may handle in one turn. Smaller: shorter turns. Larger: fuller batches for the kernel."},
          {"turn_us", "integer from 10 to 1000000", "1000",
           "Microseconds a turn may take: it ends at the first convenient step after this, whatever is left of its items."},
          {"retry_quota", "integer from 0 to 128", "0", "Routes that a turn may retry while new ones wait, too. 0: half of the batch."},
          {"nice", "integer from -20 to 19", "-20",
           "Nice value of the thread that gives the turns. Where it is not permitted the log says so, and the thread keeps that of the "
           "process."},
          {"cpus", "list of CPU numbers", "[]", "CPUs of the thread that gives the turns. Empty: any."},
          {"reserve_mib", "integer from 0 to 1048576", "0",
           "MiB of memory that are touched at start and kept: where a hypervisor gives memory out on demand, turns seldom wait for it."},
          {"stall_ms", "integer from 10 to 3600000", "1000",
           "A turn that has not ended after so many milliseconds is logged while it runs; a service manager that asks for a "
           "heartbeat gets none meanwhile."},
          {"stall_stack", "boolean", "false", "Log the thread's stack as well."},
      }};
}

Section journal() {
  return {.name = "journal",
          .help = "The record of the day: what was consumed, decided and applied, for rondo journal and rondo replay.",
          .settings = {{"file", "text", "\"\"",
                        "File that is appended to; its directory must exist. Empty: no journal. SIGHUP begins a new one, for logrotate."},
                       {"file_mib", "integer from 0 to 1048576", "256",
                        "MiB after which a file is renamed to FILE.1 and a new one begun; 0: never."},
                       {"files", "integer from 0 to 1000", "4", "Renamed files that are kept."}}};
}

std::vector<Setting> place() {
  return {
      {"url", "text", "\"\"",
       "Where the tables are. Empty: in rondod itself. \"file:///PATH\": a file from which they come back after a restart, with "
       "?durability=none, interval (the default: a killed process loses at most the last interval_ms, 50) or every-batch (it loses "
       "nothing that was acknowledged). Or a Redis: redis://, rediss:// (TLS), unix://, redis+sentinel://. A password goes "
       "into a file: ?password_file=FILE."},
      {"separator", "\":\" or \"|\"", "\":\"", "What stands between table and key on a Redis."},
      {"replicas", "integer from 0 to 100", "0",
       "Replicas of the Redis that must have what rondod writes before it counts as written (WAIT). Only with a Redis."},
      {"replicas_timeout_ms", "integer from 1 to 60000", "1000", "Milliseconds that they may take. Only with a Redis."},
      {"lease_ms", "0, or integer from 3000 to 3600000", "10000",
       "One rondod at a time consumes the tables of a database: its lease ends after so many milliseconds without a sign of it. 0: no "
       "lease; two of them with [managers] would then delete each other's rows. Only with a Redis."},
      {"standby", "\"wait\" or \"refuse\"", "\"wait\"",
       "What a rondod does while another one has the lease: it waits for its end, or it ends itself with exit code 69. Only with a Redis."},
      {"notify_each_key", "boolean", "false",
       "A notification for each key that rondod writes, for stock consumers that pop fewer than 128 keys a wake-up. Only with a Redis."}};
}

Section group() {
  Section section{
      .name = "store.group", .help = "Tables that are on other stores, one group for each store.", .settings = place(), .many = true};
  section.settings.insert(section.settings.begin(), {"tables", "list of texts", "", "The tables of this group."});
  return section;
}

Section direct() {
  return {.name = "store.group.direct",
          .help = "Tables of the group above that other processes feed directly over ZeroMQ.",
          .settings = {{"endpoint", "text", "", "Where producers connect: \"tcp://ADDRESS:PORT\" or \"ipc://PATH\"."},
                       {"database", "text", "\"APPL_DB\"", "The database that the frames name."},
                       {"secret_key_file", "text", "\"\"", "CURVE: the file with the server's secret key."},
                       {"allowed_clients", "list of texts", "[]", "CURVE: the public keys of the clients that are let in."},
                       {"open_to_network", "true or false", "false", "true: machines without keys may connect from the network."},
                       {"connections", "1 to 8192", "256", "Connections at a time; further ones wait, and the log tells of it."},
                       {"connections_per_address", "1 to 8192", "128", "Connections from one address."}}};
}

Section jobs() {
  return {
      .name = "jobs",
      .help = "The job scheduler: rondo job.",
      .settings = {
          {"enabled", "true or false", "false", "true: this rondod runs jobs."},
          {"store", "text", "\"/var/lib/rondo/jobs.db\"",
           "The database of jobs and runs: a file (SQLite), which one rondod at a time uses; or postgresql://USER@HOST/DATABASE "
           "or mariadb://USER@HOST/DATABASE, where a second rondod waits and takes over. A password goes into a file: ?passfile=FILE."},
          {"sync", "true or false", "false",
           "Synchronise each transaction to the disk, so that a crash of the machine loses no run. false: a crash of rondod loses none; "
           "one of the machine may lose the last moments."},
          {"window_ms", "integer from 2000 to 10000", "5000",
           "How far ahead runs are planned. A run that is found late by at most this time fires normally."},
          {"grace_ms", "integer from 5000 to 86400000", "10000",
           "A run that is found later than this follows the misfire rule of its job. At least window_ms."},
          {"cycle_ms", "integer from 10 to 2500", "1000", "Time between two searches for due jobs. At most half of window_ms."},
          {"fast_threads", "integer from 1 to 64", "8", "Threads of the fast pool, for handlers that may block."},
          {"fast_runs", "integer from 1 to 10000", "16", "Runs in the fast pool, running ones included. Further ones wait by priority."},
          {"slow_threads", "integer from 1 to 64", "4", "Threads of the slow pool."},
          {"slow_runs", "integer from 1 to 10000", "8", "Runs in the slow pool, running ones included."},
          {"slow_run_ms", "integer from 1 to 3600000", "500", "A run that takes longer counts as slow."},
          {"slow_runs_per_minute", "integer from 1 to 1000000", "10",
           "A job with more slow runs in a minute uses the slow pool for the rest of that minute."},
          {"kept_days", "integer from 1 to 36500", "30", "Days for which ended runs are kept."},
          {"kept_runs", "integer from 0 to 1000000000", "10000",
           "Runs of each job that are kept, the newest, also within kept_days. Old ones are removed once a minute. 0: no bound."},
      }};
}

Section http() {
  return {
      .name = "http",
      .help = "The HTTP server, where executors of jobs report, and where rondo and workers on other hosts call.",
      .settings = {
          {"enabled", "true or false", "false", "true: rondod listens."},
          {"address", "text", "\"127.0.0.1\"", "IPv4 or IPv6 address to listen at."},
          {"port", "integer from 1 to 65535", "8700", "TCP port to listen at."},
          {"certificate", "text", "\"\"",
           "PEM file with the certificate of the server, and those of its issuers after it. With it and 'key', rondod speaks "
           "HTTPS; executors may also speak plain HTTP."},
          {"key", "text", "\"\"", "PEM file with the key of the certificate, which only its owner and group may read."},
          {"api", "true or false", "false",
           "true: callers with a token call the admin commands, also in a browser at /console/; docs/guide/http-api.md describes it."},
          {"tokens", "text", "\"/var/lib/rondo/tokens\"", "File of the API's tokens, which rondod writes: their names, roles and SHA-256."},
          {"metrics", "\"off\", \"token\" or \"open\"", "\"off\"",
           "Who may read /metrics for Prometheus: callers with a token that may read (it needs api = true), or all callers, from any "
           "host and also without TLS. docs/guide/metrics.md describes it."}}};
}

Section executors() {
  return {.name = "executors",
          .help = "Executors of xxl-job and Orth that carry out jobs.",
          .settings = {{"networks", "list of networks", "[\"127.0.0.0/8\", \"::1/128\"]",
                        "Where executors may be: rondod connects to no other address, whatever an executor registers."}}};
}

Section executor_group() {
  return {
      .name = "executors.group",
      .help = "Executors that take each other's runs: jobs with the handler executor/NAME/HANDLER.",
      .settings = {{"name", "text", "", "Name of the group: the appname of the executors."},
                   {"token_file", "text", "\"\"",
                    "File whose first line is the access token that rondod and the executors show each other: at least 16 bytes."},
                   {"allow_without_token", "list of networks", "[]", "Where executors may register and report without a token."},
                   {"addresses", "list of texts", "[]", "Addresses of executors that do not register, such as \"http://10.0.0.5:9999\"."},
                   {"orth", "true or false", "false", "true: those of 'addresses' are executors of Orth."}},
      .many = true};
}

Section notify() {
  return {.name = "notify",
          .help = "Whom rondod tells when runs of jobs fail, recover or are late: one section for each target.",
          .settings =
              {{"name", "text", "", "Name of the target: letters, digits and characters of _-."},
               {"kind", "\"mail\", \"webhook\" or \"command\"", "\"webhook\"", "How the target is told."},
               {"target", "text", "",
                "The URL of the webhook, which gets a POST of JSON; the mail server, such as \"smtp://mail.example:587\"; or the name of a "
                "command that a worker offers, which gets the JSON as its parameters."},
               {"events", "list of texts", "[\"failure\", \"recovery\", \"late\"]",
                "What is told: a run that failed after its retries, the first success after that, and a run that does not begin in time."},
               {"jobs", "text", "\"*\"", "The names of the jobs; * stands for any characters, ? for one."},
               {"late_s", "integer from 1 to 604800", "300", "Seconds after its due time from which a run that has not begun is late."},
               {"networks", "list of networks", "[\"127.0.0.0/8\", \"::1/128\"]",
                "Where the webhook or the mail server may be: rondod connects to no other address, whatever its name leads to."},
               {"from", "text", "\"\"", "Mail: the sender."},
               {"to", "list of texts", "[]", "Mail: the receivers."},
               {"user", "text", "\"\"", "Mail: the user at the server. Then it must offer TLS, unless its address is 127.0.0.1 or ::1."},
               {"secret_file", "text", "\"\"",
                "File whose first line is the password of the user, or the token of the webhook, which is sent as Authorization: Bearer."}},
          .many = true};
}

Section dataplane() {
  return {
      .name = "dataplane",
      .help = "The data plane: what rondod programs.",
      .settings = {
          {"kind", "\"linux\", \"simulated\" or \"none\"", "\"linux\"",
           "The kernel, over rtnetlink (needs CAP_NET_ADMIN); a kernel in memory, for trying things out; or none, for an installation that "
           "only schedules jobs: it has no tables of the switch, and needs no rights."},
          {"network_namespace", "text", "\"\"", "Network namespace to program, such as /run/netns/blue. Empty: the one rondod runs in."},
          {"protocol", "integer from 5 to 255", "201",
           "rtm_protocol, nh_protocol and IFA_PROTO of all that rondod makes. What carries this number at the start is an earlier run's; "
           "a route that carries another is neither replaced nor deleted: a row of the same table, prefix and metric waits until it is "
           "gone. "
           "One rondod at a time has a number in a network namespace: a second one does not start."},
          {"metric", "integer from 1 to 4294967295", "201", "Metric of every route. Change it only before the first start."},
          {"batch", "integer from 1 to 256", "256", "Orders in one send to the kernel."},
          {"table", "integer from 1 to 4294967295", "254", "Kernel table for routes of the default VRF (254 is main)."},
          {"audit_s", "integer from 0 to 86400", "300",
           "Seconds between two audits: what the kernel has is read back and compared with what the rows ask for. 0: only after changes "
           "that "
           "the kernel reports by itself (addresses, neighbours, next hops and routes; within a second, whatever is set here), and on "
           "rondo "
           "resync."},
          {"on_drift", "\"repair\" or \"report\"", "\"repair\"",
           "What becomes of a difference that an audit finds. repair: it is ordered again, or deleted. report: log, health and rondo diff "
           "tell "
           "it."},
          {"learn_neighbors", "true or false", "false",
           "Write the neighbours that the kernel resolves on the interfaces of INTF_TABLE into NEIGH_TABLE, follow them, and make the "
           "kernel "
           "resolve those that rows wait for. Rows of other programs are not changed. Needs kind = \"linux\"."},
          {"detect_duplicates", "true or false", "true",
           "The kernel checks whether another device of the link has an IPv6 address before it uses it, for one or two seconds, and health "
           "names a duplicate. false: it uses each address immediately. Needs kind = \"linux\"."},
          {"hold_s", "integer from 0 to 3600", "0",
           "Seconds that routes, next hops, neighbours and addresses of an earlier run stay at least, although no row asks for them: the "
           "time "
           "that feeders need to come back. 0: an hour if a file of tables was found damaged, else none."},
          {"safety_share", "number from 0 to 1", "0.2",
           "When more than this share of what an earlier run left would be deleted because no row asks for it, nothing of it is, until "
           "`rondo confirm` or the end of safety_wait_s. Log and `rondo health` tell of it; rows are programmed meanwhile. 1: never."},
          {"safety_least", "integer from 1 to 1000000000", "100", "But fewer objects than this are deleted at any share."},
          {"safety_wait_s", "integer from 0 to 31536000", "0", "Seconds after which what is held is deleted unconfirmed. 0: never."},
          {"simulated_ports", "list of texts", "[]", "Ports of the simulated data plane."},
          {"cpus", "list of CPU numbers", "[]", "CPUs of the thread that programs the data plane. Empty: any."},
      }};
}

Section fpm() {
  return {
      .name = "fpm",
      .help = "The FPM server: FRR's zebra sends its routes to it, and they become rows of ROUTE_TABLE and NEXTHOP_GROUP_TABLE.",
      .settings = {
          {"enabled", "boolean", "false", "true: rondod listens for zebra."},
          {"address", "IPv4 or IPv6 address", "\"127.0.0.1\"",
           "Where it listens. Each program that can connect can write routes, so an address that other machines reach needs a firewall. "
           "users says who of this machine may connect."},
          {"port", "integer from 1 to 65535", "2620", "TCP port; zebra connects to 2620."},
          {"table", "integer from 1 to 4294967295", "254",
           "The routing table of zebra that is taken: 254, or N for a zebra that was started with -R N. Routes of other tables are "
           "skipped and counted."},
          {"quiet_ms", "integer from 100 to 600000", "3000",
           "After zebra has connected, it sends all its routes. When it has sent nothing for so many milliseconds, routes that it did "
           "not send again are deleted, up to the safety stop of [dataplane]. zebra itself pauses for 1000 ms when it is ahead."},
          {"wait_s", "integer from 0 to 3600", "120",
           "Seconds for which a start waits for that, before it deletes what an earlier run left in the data plane. Routes of a protocol "
           "(BGP, OSPF) of which zebra has sent no route since it connected stay as long: after a restart of zebra it may need time."},
          {"weights", "\"minus-one\" or \"plain\"", "\"minus-one\"",
           "How zebra states the weights of next hops that it sends within a route. minus-one: module dplane_fpm_nl. plain: module "
           "zebra_fpm."},
          {"offload_answers", "boolean", "false",
           "true: rondod tells zebra of each route that the data plane has, so that bgpd announces it only then. For a zebra that was "
           "started with --asic-offload=notify_on_offload."},
          {"users", "list of users", "[\"root\", \"frr\"]",
           "The users of this machine, by name or number, whose programs may connect. rondod asks the kernel who does; its own user always "
           "may. Connections from other machines are not concerned. Empty: all users."},
      }};
}

Section managers() {
  return {
      .name = "managers",
      .help =
          "The managers: rows of SONiC's CONFIG_DB become rows of PORT_TABLE, LAG_TABLE, LAG_MEMBER_TABLE, VLAN_TABLE, "
          "VLAN_MEMBER_TABLE, VRF_TABLE, INTF_TABLE and ROUTE_TABLE.",
      .settings = {
          {"enabled", "boolean", "false",
           "true: rondod reads PORT, PORTCHANNEL, PORTCHANNEL_MEMBER, VLAN, VLAN_MEMBER, VRF, INTERFACE, VLAN_INTERFACE, "
           "PORTCHANNEL_INTERFACE, LOOPBACK_INTERFACE and STATIC_ROUTE."},
          {"config_db", "text", "\"\"",
           "The Redis database with these tables, such as unix:///run/redis/redis.sock?db=4; as url in [store], and with the separator | "
           "between table and key. Empty: the tables are where [store] and its groups say."},
          {"state_db", "text", "\"\"",
           "The Redis database STATE_DB, such as unix:///run/redis/redis.sock?db=6: rondod writes the state of ports and interfaces "
           "there, as portsyncd and intfmgrd do. Empty: it writes none."},
      }};
}

Section resources() {
  return {
      .name = "resources",
      .help =
          "The room that the data plane has, such as that of a switch. `rondo resources` shows the use; log and `rondo health` warn of it.",
      .settings = {
          {"routes", "integer from 0 to 1000000000", "0", "Routes for which it has room. 0: not known, so nothing warns of their number."},
          {"nexthops", "integer from 0 to 1000000000", "0", "The same for next hops."},
          {"groups", "integer from 0 to 1000000000", "0", "The same for groups of next hops."},
          {"neighbors", "integer from 0 to 1000000000", "0", "The same for neighbours."},
          {"high_percent", "percent, at least low_percent", "85", "The use at which the warning begins, in percent."},
          {"low_percent", "percent, at most high_percent", "70", "The use below which it ends."},
      }};
}

Section simulated() {
  return {
      .name = "simulated",
      .help =
          "The room, the speed and the failures of the simulated data plane ([dataplane] kind = \"simulated\"), so that a controller or a "
          "configuration is tried on a switch that is small, slow or faulty.",
      .settings = {
          {"routes", "integer from 0 to 1000000000", "0", "The most routes; one more is refused as by a switch. 0: any number."},
          {"nexthops", "integer from 0 to 1000000000", "0", "The same for next hops."},
          {"groups", "integer from 0 to 1000000000", "0", "The same for groups of next hops."},
          {"neighbors", "integer from 0 to 1000000000", "0", "The same for neighbours."},
          {"route_us", "integer from 0 to 1000000", "0", "Microseconds that an order for a route takes."},
          {"group_us", "integer from 0 to 1000000", "0", "The same for a group of next hops."},
          {"other_us", "integer from 0 to 1000000", "0", "The same for each other order."},
          {"failure_share", "number from 0 to 1", "0.0",
           "The share of orders that are refused for want of memory; rondod gives them again."},
          {"seed", "integer from 0 to 9223372036854775807", "1", "Chooses which orders these are."},
      }};
}

manual::Program described() {
  return {
      .name = "rondod",
      .manual_section = 8,
      .summary = "drives the data plane until it matches the tables",
      .description =
          "rondod takes routes, next-hop groups, neighbours, interfaces and ports from tables and programs them into the Linux "
          "kernel.\nWhat cannot be done yet waits for what it needs; rondo why says for what.\n\n"
          "SIGTERM and SIGINT end it after what was accepted is done, for at most 5 seconds; a second one ends it at once. It ends with 1\n"
          "if anything that was accepted is lost; what a Redis or a file keeps is not, the next start has it again.\n"
          "SIGHUP reopens the journal's file, and reads the scheduler's policy, the log's level and password files again (open "
          "connections\n"
          "stay). The log names what else has changed in the configuration and is taken at the next start only.",
      .options =
          {{.name = "--config",
            .value = "FILE",
            .help = "Configuration file (TOML); without it the defaults hold",
            .word = manual::Word::File},
           {.name = "--socket",
            .value = "PATH",
            .help = "Path of the admin socket; goes before the configuration",
            .word = manual::Word::File},
           {.name = "--check-config",
            .value = {},
            .help = "Check the configuration and what the start needs (files, folders, addresses, tables, CPUs), as this user; print "
                    "it whole, warn of what leaves waits without a bound, and exit with the code with which the start would fail. Changes "
                    "nothing"}},
      .exit_codes = {{"0", "ended as asked"},
                     {"1", "failed"},
                     {"2", "wrong usage"},
                     {"69", "something needed is not available, or another rondod has it"},
                     {"77", "not permitted"},
                     {"78", "the configuration is wrong"}},
      .files = {{"/etc/rondo/rondod.toml", "The configuration that the service uses: rondod.toml(5)."},
                {"/run/rondo/rondod.sock",
                 "The admin socket, mode 0660: who may open it may do everything, or what [admin] read_group says."}},
      .examples = {{"rondod --config /etc/rondo/rondod.toml --check-config", "Look at a configuration without starting:"}},
      .see_also = {"rondo(1)", "rondod.toml(5)"}};
}

manual::Program configuration_described() {
  return {.name = "rondod.toml",
          .manual_section = 5,
          .summary = "configuration of rondod",
          .description =
              "A TOML file. Every option has a default. An option that is not known, or a value that cannot be, ends the start with "
              "a\nmessage that names file, line and what is allowed. rondod --check-config prints the whole configuration that "
              "results.",
          .sections =
              {scheduler(),
               {.name = "scheduler.budgets_us",
                .help = "Other budgets for some priorities, with frames: PRIORITY = MICROSECONDS; 0: no budget, which voids the bound "
                        "on the waits of all others.",
                .settings = {}},
               {.name = "scheduler.quotas",
                .help = "Other quotas for some priorities, with quoted-round-robin: PRIORITY = QUOTA.",
                .settings = {}},
               {.name = "admin",
                .help = "The admin socket.",
                .settings =
                    {{"socket", "text", "\"/run/rondo/rondod.sock\"",
                      "Unix socket for rondo and other clients; mode 0660, so its group may use it."},
                     {"read_group", "text", "\"\"",
                      "Group, by name or number, whose members may call what only reads. Everybody may then open the socket, and rondod "
                      "asks the kernel who calls: root, its own user and the socket's group may do everything, others nothing."}}},
               {.name = "log",
                .help = "Lines on standard error.",
                .settings = {{"level", "\"debug\", \"info\", \"warn\", \"error\" or \"off\"", "\"info\"", "The least that is written."}}},
               journal(),
               {.name = "store", .help = "Where the tables are.", .settings = place()},
               group(),
               direct(),
               jobs(),
               http(),
               executors(),
               executor_group(),
               notify(),
               dataplane(),
               fpm(),
               managers(),
               resources(),
               simulated()},
          .examples = {{"[dataplane]\nkind = \"simulated\"\nsimulated_ports = [\"swp1\"]",
                        "A rondod that needs no rights and changes nothing:"}},
          .see_also = {"rondod(8)", "rondo(1)"}};
}

}  // namespace

const manual::Program& program() {
  static const manual::Program kProgram = described();
  return kProgram;
}

const manual::Program& configuration() {
  static const manual::Program kConfiguration = configuration_described();
  return kConfiguration;
}

}  // namespace rondo::daemon
