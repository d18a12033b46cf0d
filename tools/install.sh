#!/bin/bash
# Installs the packages of deps/apt.txt that are missing. Usage: tools/install.sh SET... (build, test, postgresql, mariadb, console, frr, uml, coverage, peers, extra)
# Nothing missing: no network, no rights needed. RONDO_NO_INSTALL=1 only reports. Exit 1 with the command to type when it cannot install.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)

wanted=$(awk -v sets=" $* " '
  /^# \[/ { name = substr($2, 2, length($2) - 2); use = index(sets, " " name " ") > 0; next }
  /^#/ || NF == 0 { next }
  use { print $1 }' "$root/deps/apt.txt")

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "install: this is not a Debian system; please provide what these packages of deps/apt.txt hold:" >&2
  echo "$wanted" >&2
  exit 0
fi

installed() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

missing=()
for package in $wanted; do
  installed "$package" || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  exit 0
fi
echo "install: missing packages: ${missing[*]}"

if [[ " ${missing[*]} " == *" libboost1.81-dev "* ]] && installed libboost1.74-dev; then
  echo "install: libboost1.81-dev cannot stand beside libboost1.74-dev, which is installed here. Installing it would remove that package and" >&2
  echo "install: what depends on it, so nothing was done. To agree: apt-get install --no-install-recommends libboost1.81-dev" >&2
  exit 1
fi
if [ "${RONDO_NO_INSTALL:-0}" = 1 ]; then
  echo "install: RONDO_NO_INSTALL=1, going on without them" >&2
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if command -v sudo >/dev/null && { sudo -n true 2>/dev/null || { [ -t 0 ] && sudo -v; }; }; then
    as_root=(sudo)
  else
    echo "install: not root, and sudo does not work here. As root, type:" >&2
    echo "  apt-get update && apt-get install -y --no-install-recommends ${missing[*]}" >&2
    exit 1
  fi
fi
apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)

# Files that are only needed while the packages are installed.
leftovers=()
remove_leftovers() { [ ${#leftovers[@]} -eq 0 ] || "${as_root[@]}" rm -f "${leftovers[@]}"; }
trap remove_leftovers EXIT

# PostgreSQL's package makes a cluster of databases and starts it. Tests make their own, and only need the programs.
keep_postgresql_without_cluster() {
  local settings=/etc/postgresql-common/createcluster.d
  "${as_root[@]}" mkdir -p "$settings"
  echo "create_main_cluster = false" | "${as_root[@]}" tee "$settings/rondo.conf" >/dev/null
  leftovers+=("$settings/rondo.conf")
}
if [[ " ${missing[*]} " == *" postgresql-15 "* ]]; then keep_postgresql_without_cluster; fi

# The packages of FRR and MariaDB start a service, now and at each start of the machine. Neither is wanted here: only the programs are.
keep_stopped() {
  local service=$1
  if [ -d /run/systemd/system ] && [ ! -e "/etc/systemd/system/$service.service" ]; then
    "${as_root[@]}" ln -s /dev/null "/etc/systemd/system/$service.service"
    echo "install: the service $service is masked; 'systemctl unmask $service' allows it"
  fi
  if [ ! -e /usr/sbin/policy-rc.d ]; then
    printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee /usr/sbin/policy-rc.d >/dev/null
    "${as_root[@]}" chmod 755 /usr/sbin/policy-rc.d
    leftovers+=(/usr/sbin/policy-rc.d)
  fi
}
if [[ " ${missing[*]} " == *" frr "* ]]; then keep_stopped frr; fi
if [[ " ${missing[*]} " == *" mariadb-server "* ]]; then keep_stopped mariadb; fi

if ! "${apt[@]}" update; then
  echo "install: apt-get update failed; trying with the lists at hand" >&2
fi
if ! "${apt[@]}" install -y --no-install-recommends "${missing[@]}" </dev/null; then
  echo "install: apt-get could not install: ${missing[*]} (its own words are above)" >&2
  exit 1
fi
