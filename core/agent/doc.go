// Package agent runs jobs on one node: it takes launches from the leading controller
// over one stream, runs each as a session of processes under its user, keeps what it
// wrote, enforces its time limit, and reports its end until a controller has
// acknowledged that the end is durable.
//
// It decides nothing about jobs: what starts where, and what an end means for the
// queue, is the controller's. It knows neither a controller's internals nor the
// network: `rowel agent` and `rowel dev` give it a Dialer.
//
// Two promises shape it. No attempt of a job runs twice: a record in the spool is
// written before the fork, and whatever has a record is never started again. No end is
// lost while the machine is up: it stays in the spool until acknowledged, through lost
// streams, new leaders and restarts of the agent.
//
// The limit to know: a job is found by its session. A process that left it (setsid, a
// daemon) outlives a cancel, and one that only left the process group (set -m, timeout)
// outlives a normal end. Control groups will close both holes.
package agent
