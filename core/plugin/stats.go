package plugin

import (
	"maps"
	"sync"
	"time"
)

// Stats is what a plugin has done since it was loaded.
type Stats struct {
	Cycles       uint64               // asked for, whatever became of them
	Strikes      map[FaultKind]uint64 // faults, and what the scheduler held against it
	LastStrike   *StrikeRecord        // nil: none yet
	LastDuration time.Duration        // of the last cycle, as the host sees it
	LastFuel     int64                // units that the last cycle used, also where it failed
	FuelLimit    int64                // that a cycle may use
	Instances    uint64               // started; one more than were thrown away
	MemoryPages  uint32               // of 64 KiB, of the instance after its last good cycle
	Open         bool                 // the circuit is open
}

// StrikeRecord is one strike.
type StrikeRecord struct {
	Kind  FaultKind
	Cause string
	Time  time.Time
}

// ledger keeps the figures. A cycle that runs does not hold up who reads them.
type ledger struct {
	mu    sync.Mutex
	stats Stats // guarded by mu
}

func (l *ledger) change(f func(*Stats)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f(&l.stats)
}

func (l *ledger) strike(kind FaultKind, cause error) {
	l.change(func(s *Stats) {
		if s.Strikes == nil {
			s.Strikes = map[FaultKind]uint64{}
		}
		s.Strikes[kind]++
		s.LastStrike = &StrikeRecord{Kind: kind, Cause: cause.Error(), Time: time.Now()}
	})
}

func (l *ledger) read() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.stats
	s.Strikes = maps.Clone(s.Strikes)
	return s
}
