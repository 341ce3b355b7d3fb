#!/usr/bin/env bash
# How job $1 does, for Snakemake: success, failed or running. An example: Slurm's queue, which lists a job for
# a while after its end (MinJobAge).
state=$(squeue --noheader --states=all --job "$1" --format=%T 2>/dev/null | head -n 1)
case $state in
    COMPLETED) echo success ;;
    BOOT_FAIL | CANCELLED | DEADLINE | FAILED | NODE_FAIL | OUT_OF_MEMORY | PREEMPTED | TIMEOUT) echo failed ;;
    "") echo failed ;; # neither waiting nor at work, and no longer listed
    *) echo running ;;
esac
