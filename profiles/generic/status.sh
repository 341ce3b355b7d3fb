#!/usr/bin/env bash
# Print the status of job $1 for Snakemake: success, failed or running. An example with Slurm's queue, which
# lists a job for some time after its end (MinJobAge).
state=$(squeue --noheader --states=all --job "$1" --format=%T 2>/dev/null | head -n 1)
case $state in
    COMPLETED) echo success ;;
    BOOT_FAIL | CANCELLED | DEADLINE | FAILED | NODE_FAIL | OUT_OF_MEMORY | PREEMPTED | TIMEOUT) echo failed ;;
    "") echo failed ;; # no longer listed
    *) echo running ;;
esac
