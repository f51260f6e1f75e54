#!/usr/bin/env bash
# Makes the Python environment ready, then hands over to `python -m ci_agent`.
#
#   ./entrypoint.sh COMMAND …      the agent; `./entrypoint.sh --help` lists its commands
#   ./entrypoint.sh test …         the whole test suite; the arguments go to pytest
#   ./entrypoint.sh dev COMMAND …  any command inside the development environment
#
# CI_AGENT_CACHE names the folder of the environments, CI_AGENT_PYTHON the interpreter to build them with.
set -euo pipefail

# Raise it when an environment made by an older entrypoint.sh must not be used again.
readonly FORMAT=1

say() { printf 'ci-agent: %s\n' "$*" >&2; }

die() {
  say "$*"
  exit 2
}

# The current directory is often a stranger's checkout: nothing in it may be run or imported. So PATH keeps
# its absolute entries only, and Python's own variables are dropped.
scrub() {
  local IFS=: dir clean=
  set -f
  for dir in ${PATH-}; do
    [[ $dir != /* ]] || clean+=:$dir
  done
  set +f
  export PATH=${clean#:}
  unset CDPATH "${!PYTHON@}"
  export PYTHONSAFEPATH=1 PYTHONNOUSERSITE=1 PYTHONUTF8=1 PYDANTIC_DISABLE_PLUGINS=1
}

find_root() {
  local path=${BASH_SOURCE[0]} link
  while [[ -L $path ]]; do
    link=$(readlink "$path")
    [[ $link == /* || $path != */* ]] || link=${path%/*}/$link
    path=$link
  done
  [[ $path == */* ]] || path=./$path
  root=$(cd -P "${path%/*}/" && pwd)
  # PYTHONPATH has no way to write such a path.
  [[ $root != *:* ]] || die "cannot run from $root: move it to a path without ':'"
}

# An environment keeps the interpreter that it was built with, so its key names the lock file and, of Python, only
# an explicit choice: asking for the version of `python3` would cost more than the rest of a warm start.
find_key() {
  local sum
  if type sha256sum >/dev/null 2>&1; then
    sum=$(sha256sum <"$root/$1")
  elif type shasum >/dev/null 2>&1; then
    sum=$(shasum -a 256 <"$root/$1")
  else
    sum=$(cksum <"$root/$1")
  fi
  sum=${sum%% *}
  key=env-$FORMAT-$OSTYPE-$HOSTTYPE-${sum:0:16}${CI_AGENT_PYTHON:+-${CI_AGENT_PYTHON//\//_}}
}

# The cache folders to look in. Relative ones would lie in the checkout.
find_caches() {
  local temp=${RUNNER_TEMP:-${TMPDIR:-/tmp}}
  caches=()
  if [[ -n ${CI_AGENT_CACHE-} ]]; then
    [[ $CI_AGENT_CACHE == /* ]] || die "CI_AGENT_CACHE is $CI_AGENT_CACHE; make it an absolute path"
    caches=("$CI_AGENT_CACHE")
    return
  fi
  if [[ ${XDG_CACHE_HOME-} == /* ]]; then
    caches+=("$XDG_CACHE_HOME/ci-agent")
  elif [[ ${HOME-} == /* ]]; then
    caches+=("$HOME/.cache/ci-agent")
  fi
  [[ $temp == /* ]] || temp=/tmp
  fallback=$temp/ci-agent-cache-$UID
  # Others may write in a temporary folder too: what they made there first is not ours to run.
  if [[ ! -e $fallback && ! -L $fallback ]] || [[ -O $fallback && ! -L $fallback ]]; then
    caches+=("$fallback")
  fi
  ((${#caches[@]})) || die "no home folder, and $fallback is somebody else's; set CI_AGENT_CACHE to a folder of yours"
}

find_environment() {
  local cache
  for cache in "${caches[@]}"; do
    environment=$cache/$key
    [[ ! -x $environment/bin/python ]] || return 0
  done
  return 1
}

# Real name of the first interpreter that is new enough. That name holds the version and is no other environment's,
# so an upgrade of `python3` or the end of an active environment cannot change what an environment here runs on.
pick_python() {
  local candidate
  for candidate in "${pythons[@]}"; do
    "$candidate" -I -c 'import os, sys
sys.exit(1) if sys.version_info < (3, 11) else print(os.path.realpath(sys.executable))' 2>/dev/null && return
  done
  return 1
}

# Runs as a condition, where `set -e` is off: each step says for itself what happens when it fails.
install_packages() {
  local lock=$1 python=$2 target=$3
  local options=(--quiet --require-hashes --no-deps --only-binary :all: -r "$lock")
  if type uv >/dev/null 2>&1; then
    export UV_CACHE_DIR=${UV_CACHE_DIR:-$scratch/uv}
    uv venv --quiet --no-project --python "$python" "$target" &&
      uv pip install --python "$target/bin/python" --compile-bytecode "${options[@]}"
    return
  fi
  options+=(--no-cache-dir --no-input --no-user --disable-pip-version-check --no-warn-script-location)
  # pip asks `rustc` for its version, and rustup then writes a settings file into the home folder.
  export RUSTUP_HOME=$scratch/rustup
  "$python" -I -m venv --without-pip "$target" || return
  if "$python" -I -m pip --version; then
    "$python" -I -m pip --python "$target/bin/python" install "${options[@]}"
  else
    "$target/bin/python" -m ensurepip && "$target/bin/python" -m pip install "${options[@]}"
  fi
}

# Scripts name their interpreter by its full path, so they are rewritten before the one rename that makes the
# environment visible. Whoever comes second finds the name taken by an equal environment, and uses that.
move_into_place() {
  "$1/bin/python" -I - "$1" "$2" <<'PYTHON'
import os
import pathlib
import sys

built, final = sys.argv[1:]
for script in pathlib.Path(built, "bin").iterdir():
    if script.is_file() and not script.is_symlink() and script.stat().st_size < 65536:
        script.write_bytes(script.read_bytes().replace(os.fsencode(built), os.fsencode(final)))
try:
    os.rename(built, final)
except OSError:
    if not os.access(os.path.join(final, "bin", "python"), os.X_OK):
        raise
PYTHON
}

# Removes what killed builds left behind, and environments that nothing has started for a month.
prune() {
  local stale
  find "$1" -mindepth 2 -maxdepth 2 -path '*/env-*/.used' -mtime +30 | while IFS= read -r stale; do
    # Renamed first, so that no start ever sees half of it.
    mv "${stale%/.used}" "$scratch/unused-${RANDOM}"
  done
  find "$1" -mindepth 1 -maxdepth 1 -name '.build-*' -mmin +120 -exec rm -rf {} +
}

# The first cache folder that can be written; sets `cache`.
choose_cache() {
  for cache in "${caches[@]}"; do
    if mkdir -p "$cache" 2>/dev/null && [[ -w $cache ]]; then
      [[ $cache != "${fallback-}" ]] || [[ -O $cache ]] || continue
      [[ $cache != "${fallback-}" ]] || say "the home folder cannot be written; using $cache instead"
      return
    fi
  done
  die "cannot write to ${caches[*]}; set CI_AGENT_CACHE to a folder that can be written"
}

build_environment() {
  local lock=$1 python cache log reason mask started=$SECONDS
  local pythons=(python3 python3.14 python3.13 python3.12 python3.11)
  mask=$(umask)
  umask 022
  # Hosted runners keep more versions here than on PATH.
  pythons+=("${RUNNER_TOOL_CACHE:-/nonexistent}"/Python/3.*/*/bin/python3)
  [[ -z ${CI_AGENT_PYTHON-} ]] || pythons=("$CI_AGENT_PYTHON")
  python=$(cd "$root" && pick_python) ||
    die "needs Python 3.11 or newer; found none as ${pythons[*]}. Install it, or name it in CI_AGENT_PYTHON"
  choose_cache
  environment=$cache/$key log=$cache/$key.log scratch=$cache/.build-$key-$$
  trap 'rm -rf "$scratch"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  mkdir "$scratch"
  prune "$cache"
  # What is there without a working interpreter lost it to an upgrade; with one, somebody was faster just now.
  if [[ -e $environment && ! -x $environment/bin/python ]]; then
    mv "$environment" "$scratch/broken"
  fi
  say "installing the packages of $lock (first start only) …"
  # In the project's root, because uv reads settings from the folder it runs in.
  if ! (cd "$root" && install_packages "$lock" "$python" "$scratch/env") >"$log" 2>&1; then
    reason=$(grep -i -m 1 '^error' "$log" || tail -n 1 "$log")
    die "could not install the packages of $lock: ${reason:-no output}. Check the network and the settings" \
      "of pip or uv (index, proxy, certificates), then start again. Full log: $log"
  fi
  move_into_place "$scratch/env" "$environment" 2>>"$log" || die "could not make $environment. Full log: $log"
  rm -rf "$scratch" "$log"
  trap - EXIT INT TERM
  umask "$mask"
  say "ready after $((SECONDS - started)) s, in $environment"
}

main() {
  local lock=requirements.lock
  # The clients of some providers need packages of their own to sign in; nobody else pays for those.
  case ${CI_AGENT_MODEL_PROVIDER-} in
    bedrock) lock=requirements-bedrock.lock ;;
    google-cloud | vertex) lock=requirements-google.lock ;;
  esac
  case ${1-} in test | dev) lock=requirements-dev.lock ;; esac
  scrub
  find_root
  find_key "$lock"
  find_caches
  find_environment || build_environment "$lock"
  # The date of this file tells `prune` that the environment is in use; a read-only cache needs no pruning.
  { : >"$environment/.used"; } 2>/dev/null || true
  export PYTHONPATH=$root
  case ${1-} in
    test)
      cd "$root"
      export PATH=$environment/bin:$PATH
      exec "$environment/bin/python" -m pytest "${@:2}"
      ;;
    dev)
      (($# > 1)) || die "dev needs a command, for example: ./entrypoint.sh dev ruff check"
      export PATH=$environment/bin:$PATH
      exec "${@:2}"
      ;;
    *) exec "$environment/bin/python" -m ci_agent "$@" ;;
  esac
}

main "$@"
