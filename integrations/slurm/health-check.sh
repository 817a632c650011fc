#!/bin/sh
# Drain this node when doctor finds an error. In slurm.conf:
#
#   HealthCheckProgram=/etc/slurm/doctor-health-check
#   HealthCheckInterval=3600
#   HealthCheckNodeState=IDLE,CYCLE
#
# slurmd ends the program after 60 seconds, so the check is static and bounded.
# DOCTOR and TARGET may name other programs: doctor, and the interpreter of the jobs.
# https://slurm.schedmd.com/slurm.conf.html#OPT_HealthCheckProgram
set -u
doctor=${DOCTOR:-doctor}
target=${TARGET:-python3}
node=${SLURMD_NODENAME:-$(hostname -s)}

line=$("$doctor" check --no-canaries --timeout 10 --budget 45 --python "$target" --format nhc 2>&1)
case $? in
0 | 4) exit 0 ;;
1) scontrol update "NodeName=$node" State=DRAIN "Reason=doctor: $(printf '%s' "$line" | head -n 1 | cut -c 1-200)" ;;
*) logger -t doctor-health-check -- "$line" ;; # doctor itself could not work: no reason to drain
esac
exit 1
