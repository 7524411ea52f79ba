#!/bin/sh
#SBATCH --job-name=hello
#SBATCH --time=1
#SBATCH --output=hello-%j.out

# Try it: make demo, or on a running cluster: rowel submit examples/hello.sh

echo "Hello from job ${SLURM_JOB_ID:?runs as a job} (${SLURM_JOB_NAME:-hello}) on ${SLURMD_NODENAME:-$(hostname)}."
echo "I have ${SLURM_CPUS_ON_NODE:-some} CPU(s) and process $$."
echo "Work takes a moment ..."
sleep 1
echo "Done."
