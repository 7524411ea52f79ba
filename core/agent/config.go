package agent

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"time"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/wire"
)

// DefaultKillWait is how long a job that was told to end has before it is killed.
const DefaultKillWait = 30 * time.Second

// Config says what a node is and who leads it.
type Config struct {
	NodeName    string            // as core.ValidateNodeName wants it
	Controllers []string          // API addresses, "host:port" or "unix:/path"; any order
	Labels      map[string]string // told to the controller as they are
	SpoolDir    string            // absolute; made if missing; one agent at a time
	Capacity    core.Resources    // a field that is 0 is measured
	KillWait    time.Duration     // from SIGTERM to SIGKILL; 0: DefaultKillWait
	Version     string            // of this program, for status
}

func (c *Config) validate() error {
	if err := core.ValidateNodeName(c.NodeName); err != nil {
		return err
	}
	if len(c.Controllers) == 0 {
		return core.Errorf(core.Invalid, "node %s has no controller to report to: name at least one", c.NodeName)
	}
	for _, address := range c.Controllers {
		if _, _, err := net.SplitHostPort(address); err != nil && !strings.HasPrefix(address, "unix:/") {
			return core.Errorf(core.Invalid, "controller address %q is neither host:port nor unix:/path: %w", address, err)
		}
	}
	if !filepath.IsAbs(c.SpoolDir) {
		return core.Errorf(core.Invalid, "spool directory %q is not an absolute path", c.SpoolDir)
	}
	if c.KillWait < 0 {
		return core.Errorf(core.Invalid, "kill wait %v is negative", c.KillWait)
	}
	return nil
}

// Stream is one conversation with the leader. A Connect bidirectional client stream
// satisfies it. The agent calls Send from one goroutine and Receive from another; both
// must return once the context given to the Dialer is done.
type Stream interface {
	Send(message *wire.AgentMessage) error
	Receive() (*wire.ControllerMessage, error)
	CloseRequest() error
	CloseResponse() error
}

// Dialer opens a stream to a controller's address, "host:port". The stream lives until
// ctx is done. A refusal by a controller that does not lead should carry a
// *NotLeaderError, from the Dialer or from the stream's Receive. A Dialer should notice
// a peer that vanished without a word (HTTP/2 pings): the agent sends heartbeats and
// expects no answer to them.
type Dialer func(ctx context.Context, address string) (Stream, error)

// NotLeaderError says that the controller asked does not lead.
type NotLeaderError struct {
	Leader string // the address to try at once; empty when the controller knows none
}

// Error names the leader if it is known.
func (e *NotLeaderError) Error() string {
	if e.Leader == "" {
		return "the controller does not lead and knows no leader"
	}
	return fmt.Sprintf("the controller does not lead: %s does", e.Leader)
}

// pace is every duration that is nobody's business but this package's and its tests'.
type pace struct {
	backoffMin  time.Duration // between attempts to find a leader
	backoffMax  time.Duration
	welcome     time.Duration // from dialling to the leader's first word
	send        time.Duration // one message, before the stream counts as stuck
	steady      time.Duration // a stream this old proves the link, backoff starts anew
	resend      time.Duration // a report without an answer is told again
	lastReports time.Duration // for the ends of jobs when the agent stops
	outputPoll  time.Duration // between looks at a growing file
}

func defaultPace() pace {
	return pace{
		backoffMin:  50 * time.Millisecond,
		backoffMax:  3 * time.Second,
		welcome:     10 * time.Second,
		send:        30 * time.Second,
		steady:      5 * time.Second,
		resend:      15 * time.Second,
		lastReports: 3 * time.Second,
		outputPoll:  50 * time.Millisecond,
	}
}
