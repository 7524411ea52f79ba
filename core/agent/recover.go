package agent

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rowelhq/rowel/core"
)

// recover takes over what an earlier agent process left in the spool. Ends that nobody
// acknowledged are told again. Jobs without an end were running when that agent died:
// what is left of them is killed, because nobody can learn any more how they end, and
// they are reported as lost with their node.
func (a *Agent) recover(ctx context.Context) error {
	keys, strangers, err := a.spool.keys()
	if err != nil {
		return err
	}
	for _, name := range strangers {
		a.logger.Warn("file in the spool is no job record and stays where it is", "file", name)
	}
	var lost []jobKey
	leaders := map[jobKey]recordProcess{}
	for _, key := range keys {
		a.registry.recall(key)
		r, err := a.spool.read(key)
		switch {
		case err != nil:
			a.logger.Error("job record cannot be read and is kept", "job", key.id, "attempt", key.attempt, "error", err)
			a.unreadable[key] = true
			lost = append(lost, key)
		case r.end != nil:
			a.outbox.add(*r.end)
		default:
			if r.process != nil && r.process.Boot == a.boot {
				leaders[key] = *r.process
			}
			lost = append(lost, key)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	a.killLost(ctx, lost, leaders)
	for _, key := range lost {
		a.reportLost(key)
	}
	return nil
}

// killLost ends every process of the lost jobs: the sessions whose leader is still the
// one on record, and whatever carries a record's mark in its environment.
func (a *Agent) killLost(ctx context.Context, lost []jobKey, leaders map[jobKey]recordProcess) {
	marks := map[string]bool{}
	for _, key := range lost {
		marks[recordVariable+"="+a.spool.recordPath(key)] = true
	}
	deadline := time.Now().Add(killPatience)
	for wait := time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		left := markedProcesses(marks)
		for key, leader := range leaders {
			stat, err := readStat(leader.PID)
			if err != nil || stat.start != leader.Start || stat.pid != stat.session {
				delete(leaders, key) // gone; its number may be a stranger's
				continue
			}
			left = append(left, a.sessions.of(leader.PID)...)
		}
		if len(left) == 0 {
			return
		}
		for _, process := range left {
			signalExactly(process, unix.SIGKILL)
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			a.logger.Error("processes of lost jobs survived SIGKILL", "processes", len(left))
			return
		}
		time.Sleep(wait)
	}
}

// markedProcesses returns the live processes, but for the agent, that were started with
// one of the variables in their environment.
func markedProcesses(marks map[string]bool) []procStat {
	var found []procStat
	for _, pid := range allPIDs() {
		stat, err := readStat(pid)
		if err != nil || !stat.alive() || pid == os.Getpid() {
			continue
		}
		environment, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
		if err != nil {
			continue // gone, or another user's, which is not ours to kill
		}
		for _, variable := range bytes.Split(environment, []byte{0}) {
			if marks[string(variable)] {
				found = append(found, stat)
				break
			}
		}
	}
	return found
}

func (a *Agent) reportLost(key jobKey) {
	report := core.JobReport{
		Job: key.id, Attempt: key.attempt,
		State: core.JobNodeFail, Reason: core.ReasonNodeDown,
		Message: fmt.Sprintf("the agent on %s restarted while the job ran", a.cfg.NodeName),
	}
	a.logger.Warn("job lost with an earlier agent process", "job", key.id, "attempt", key.attempt)
	if !a.unreadable[key] {
		if err := a.spool.append(key, endLine(report)); err != nil {
			a.logger.Warn("end not kept in the spool", "job", key.id, "attempt", key.attempt, "error", err)
		}
	}
	a.outbox.add(report)
}

// bootID returns the kernel's name for this boot, empty if it gives none.
func bootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}
