package agent

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// procStat is what /proc/PID/stat says of a process.
type procStat struct {
	pid     int
	state   byte // 'Z' and 'X': dead, waiting for its parent
	group   int
	session int
	start   uint64 // clock ticks since boot; with pid and boot it names one process
}

func (s procStat) alive() bool { return s.state != 'Z' && s.state != 'X' }

func readStat(pid int) (procStat, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return procStat{}, err
	}
	return parseStat(data)
}

// parseStat reads a line of /proc/PID/stat. The second field is the program's name in
// brackets and may itself hold blanks and brackets, so the rest is counted from the last.
func parseStat(data []byte) (procStat, error) {
	open, end := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if open < 1 || end < open {
		return procStat{}, fmt.Errorf("process status %.80q has no name", data)
	}
	const first, last = 3, 22 // fields, as proc(5) counts them
	fields := bytes.Fields(data[end+1:])
	if len(fields) < last-first+1 {
		return procStat{}, fmt.Errorf("process status %.80q is too short", data)
	}
	stat := procStat{state: fields[0][0]}
	for _, number := range []struct {
		text []byte
		to   *int
	}{{bytes.TrimSpace(data[:open]), &stat.pid}, {fields[5-first], &stat.group}, {fields[6-first], &stat.session}} {
		value, err := strconv.Atoi(string(number.text))
		if err != nil {
			return procStat{}, fmt.Errorf("process status: %w", err)
		}
		*number.to = value
	}
	start, err := strconv.ParseUint(string(fields[last-first]), 10, 64)
	if err != nil {
		return procStat{}, fmt.Errorf("process status: %w", err)
	}
	stat.start = start
	return stat, nil
}

// allPIDs lists the processes of the machine, as far as this one may see them.
func allPIDs() []int {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1) // what was read before an error is still good
	pids := make([]int, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// sessions finds the processes of a session. A look at the whole of /proc costs
// milliseconds, so those who ask at the same time share one.
type sessions struct {
	mu      sync.Mutex // guards all below
	at      time.Time  // when the last look began
	members map[int][]procStat
}

// of returns the session's live processes, never the agent itself, as of a moment after
// the call. Processes that come and go meanwhile may be missed.
func (s *sessions) of(session int) []procStat {
	asked := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.at.After(asked) {
		s.at = time.Now()
		s.members = map[int][]procStat{}
		for _, pid := range allPIDs() {
			if stat, err := readStat(pid); err == nil && stat.alive() && pid != os.Getpid() {
				s.members[stat.session] = append(s.members[stat.session], stat)
			}
		}
	}
	return s.members[session]
}

// signal sends to every live process of the session for which the filter holds. Each is
// pinned and looked at again first: its number may have gone to a stranger.
func (s *sessions) signal(session int, sig unix.Signal, filter func(procStat) bool) {
	for _, member := range s.of(session) {
		if filter == nil || filter(member) {
			signalExactly(member, sig)
		}
	}
}

// kill ends every process of the session, and those they start while it does, and
// returns how many are left: processes stuck in the kernel, after it waited for them.
func (s *sessions) kill(session int, patience time.Duration) int {
	deadline := time.Now().Add(patience)
	for wait := time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		members := s.of(session)
		if len(members) == 0 || time.Now().After(deadline) {
			return len(members)
		}
		for _, member := range members {
			signalExactly(member, unix.SIGKILL)
		}
		time.Sleep(wait)
	}
}

func signalExactly(target procStat, sig unix.Signal) {
	pidfd, err := unix.PidfdOpen(target.pid, 0)
	if err != nil {
		return // gone
	}
	defer unix.Close(pidfd)
	now, err := readStat(target.pid)
	if err != nil || now.start != target.start {
		return // gone, and its number perhaps somebody else's
	}
	_ = unix.PidfdSendSignal(pidfd, sig, nil, 0) // gone is all it could say
}
