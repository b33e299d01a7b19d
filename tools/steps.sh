# SPDX-License-Identifier: BSD-2-Clause
# steps.sh: steps that may depend on one another, for tools/checkpip and tools/checkspack; to be sourced. $me is the
# script's name, $log a file for the output of the last step.

passed=0 failed=0 began=$SECONDS

# try NAME COMMAND...: a line of TAP, and the end of the log where it fails
try()
{
  local name=$1 start=$SECONDS
  shift
  if "$@" >"$log" 2>&1 </dev/null; then passed=$((passed + 1)); echo "ok $name ($((SECONDS - start)) s)"
  else
    failed=$((failed + 1))
    echo "not ok $name"
    tail -n 30 "$log" | sed 's/^/# /'
  fi
}
finish()
{
  echo
  echo "$me took $((SECONDS - began)) s"
  echo "$passed passed, $failed failed"
  [ $failed = 0 ] && [ $passed -gt 0 ]
  exit
}
must() { local before=$failed; try "$@"; [ $failed = $before ] || finish; }
