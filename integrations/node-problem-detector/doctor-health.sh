#!/bin/sh
# A plugin of node-problem-detector: exit 0 is well, 1 is a problem, anything else unknown.
# https://github.com/kubernetes/node-problem-detector/blob/master/docs/custom_plugin_monitor.md
doctor=${DOCTOR:-doctor}
target=${TARGET:-python3}

line=$("$doctor" check --no-canaries --timeout 10 --budget 45 --python "$target" --format nhc 2>&1)
code=$?
printf '%s\n' "$line" | head -n 1
case $code in
0 | 4) exit 0 ;;
1) exit 1 ;;
*) exit 2 ;;
esac
