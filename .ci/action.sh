#!/usr/bin/env bash
# The script of action.yml: install devlint, annotate the change, write the reports, keep the
# exit code.
#
# In: INPUT_SRC INPUT_ARGS INPUT_VERSION INPUT_SARIF_FILE INPUT_SUMMARY, and ACTION, the folder of
# the action; PYTHON (default python3) makes the environment.
set -euo pipefail

# The checkout is a stranger's. Python looks for modules in the current folder first, and in those
# that the environment names, unless it is isolated (-I); pip starts some that aren't.
unset PYTHONPATH PYTHONHOME
export PYTHONSAFEPATH=1

python="${PYTHON:-python3}"
"$python" -I -c 'import sys; sys.exit(sys.version_info < (3, 10))' || {
  echo "::error title=devlint::devlint needs Python 3.10 or later: use actions/setup-python first"
  exit 2
}

requirement="${ACTION:?}"
if [[ -n "${INPUT_VERSION:-}" ]]; then
  if [[ ! "$INPUT_VERSION" =~ ^[0-9][0-9A-Za-z.]*$ ]]; then
    echo "::error title=devlint::the input 'version' is not a version"
    exit 2
  fi
  requirement="devlint==$INPUT_VERSION"
fi
environment="${RUNNER_TEMP:-$(mktemp -d)}/devlint"
"$python" -I -m venv "$environment"
bin="$environment/bin"
[[ -d "$bin" ]] || bin="$environment/Scripts" # Windows
# Python compiles what it imports; pip would compile all there is, which takes longer than the rest.
(cd "$environment" &&
  "$bin/python" -I -m pip install --quiet --disable-pip-version-check --no-compile "$requirement")

read -r -a sources <<<"${INPUT_SRC:-.}"
read -r -a options <<<"${INPUT_ARGS:-}"
# An empty array counts as unset in the bash of macOS.
command=("$bin/devlint" check ${options[@]+"${options[@]}"})

code=0
"${command[@]}" --output-format github -- "${sources[@]}" || code=$?
if [[ -n "${INPUT_SARIF_FILE:-}" ]]; then
  "${command[@]}" --quiet --output-format sarif --output-file "$INPUT_SARIF_FILE" \
    -- "${sources[@]}" || true
fi
if [[ "${INPUT_SUMMARY:-true}" == true && -n "${GITHUB_STEP_SUMMARY:-}" ]]; then
  {
    printf '### devlint\n\n'
    # Indented lines are code in Markdown, whatever they hold: a name can end a fence.
    { "${command[@]}" --color never --output-format concise -- "${sources[@]}" 2>&1 || true; } |
      sed 's/^/    /'
  } >>"$GITHUB_STEP_SUMMARY"
fi
echo "exit-code=$code" >>"${GITHUB_OUTPUT:-/dev/null}"
exit "$code"
