package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// outputRetention is how long the spool keeps what a job wrote after the job's
	// last word.
	outputRetention = 7 * 24 * time.Hour

	// unreadable is added to the name of a record that could not be read once its job's
	// end is acknowledged: it is kept for a person to look at and never read again.
	unreadable = ".unreadable"
)

// spool is the agent's directory:
//
//	jobs/ID.ATTEMPT     the record of an attempt whose end is not acknowledged
//	scripts/ID.ATTEMPT  its batch script
//	output/ID.ATTEMPT.{out,err}  what jobs without output files of their own wrote
//	lock                held by the one agent that uses it
//
// Nothing is synced to disk. The spool guards against the death of the agent, not of
// the machine: when the power goes, the processes are gone as well, and a record that
// was lost or torn with it is treated like that of a job that did not survive.
type spool struct{ dir string }

// openSpool makes the directories and checks that the agent may write to them.
func openSpool(dir string) (*spool, error) {
	s := &spool{dir: dir}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the spool directory: %w", err)
	}
	// Users pass through to their scripts and outputs but cannot list them.
	for name, mode := range map[string]fs.FileMode{"jobs": 0o700, "scripts": 0o711, "output": 0o711} {
		path := filepath.Join(dir, name)
		if err := os.Mkdir(path, mode); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("make the spool directory: %w", err)
		}
		if err := os.Chmod(path, mode); err != nil {
			return nil, fmt.Errorf("spool directory: %w", err)
		}
		if err := unix.Access(path, unix.R_OK|unix.W_OK|unix.X_OK); err != nil {
			return nil, fmt.Errorf("spool directory %s cannot be written to: %w", path, err)
		}
	}
	return s, nil
}

// lock makes this process the spool's only agent until the file is closed: a second one
// would take the first one's jobs for leftovers and kill them.
func (s *spool) lock() (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(s.dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the spool directory: %w", err)
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("spool directory %s is in use by another agent: %w", s.dir, err)
	}
	return file, nil
}

func (s *spool) recordPath(key jobKey) string { return filepath.Join(s.dir, "jobs", key.String()) }
func (s *spool) scriptPath(key jobKey) string { return filepath.Join(s.dir, "scripts", key.String()) }

func (s *spool) outputPath(key jobKey, suffix string) string {
	return filepath.Join(s.dir, "output", key.String()+suffix)
}

// begin writes the first line of an attempt's record; it is an error if there is one.
func (s *spool) begin(key jobKey) error {
	line := recordLine{Begun: &recordBegun{Job: uint64(key.id), Attempt: key.attempt}}
	return s.write(key, line, os.O_CREATE|os.O_EXCL)
}

// append adds a line to an attempt's record.
func (s *spool) append(key jobKey, line recordLine) error { return s.write(key, line, 0) }

func (s *spool) write(key jobKey, line recordLine, flags int) error {
	text, err := line.encode()
	if err != nil {
		return fmt.Errorf("spool record of job %s: %w", key, err)
	}
	file, err := os.OpenFile(s.recordPath(key), os.O_WRONLY|os.O_APPEND|flags, 0o600)
	if err != nil {
		return fmt.Errorf("spool record: %w", err)
	}
	_, err = file.Write(text) // one write: whole or, if killed half way, without its newline
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("spool record: %w", err)
	}
	return nil
}

// forget drops an attempt's record and script.
func (s *spool) forget(key jobKey) error {
	if err := s.dropScript(key); err != nil { // first: the record is what leads to it
		return err
	}
	return dropFile(s.recordPath(key))
}

// setAside keeps an unreadable record under another name.
func (s *spool) setAside(key jobKey) error {
	if err := s.dropScript(key); err != nil {
		return err
	}
	return os.Rename(s.recordPath(key), s.recordPath(key)+unreadable)
}

// writeScript puts a script where its user can run it and returns its path.
func (s *spool) writeScript(key jobKey, script []byte, owner *syscall.Credential) (string, error) {
	path := s.scriptPath(key)
	// A fork in another goroutine while the file is open for writing would keep it open in
	// the child until that one's exec, and running the script would fail with ETXTBSY.
	syscall.ForkLock.RLock()
	err := os.WriteFile(path, script, 0o500)
	syscall.ForkLock.RUnlock()
	if err != nil {
		return "", fmt.Errorf("spool script: %w", err)
	}
	if owner != nil {
		if err := os.Chown(path, int(owner.Uid), int(owner.Gid)); err != nil {
			return "", fmt.Errorf("spool script: %w", err)
		}
	}
	return path, nil
}

func (s *spool) dropScript(key jobKey) error { return dropFile(s.scriptPath(key)) }

func dropFile(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// keys lists the attempts that have a record, and the names that say no attempt.
func (s *spool) keys() (keys []jobKey, strangers []string, err error) {
	entries, err := os.ReadDir(filepath.Join(s.dir, "jobs"))
	if err != nil {
		return nil, nil, fmt.Errorf("list the spool: %w", err)
	}
	for _, entry := range entries {
		key, err := parseJobKey(entry.Name())
		switch {
		case err == nil:
			keys = append(keys, key)
		case !strings.HasSuffix(entry.Name(), unreadable):
			strangers = append(strangers, entry.Name())
		}
	}
	return keys, strangers, nil
}

func (s *spool) read(key jobKey) (record, error) {
	data, err := os.ReadFile(s.recordPath(key))
	if err != nil {
		return record{}, fmt.Errorf("spool record: %w", err)
	}
	r, err := decodeRecord(key, data)
	if err != nil {
		return record{}, fmt.Errorf("spool record %s: %w", s.recordPath(key), err)
	}
	return r, nil
}

// sweep removes what jobs wrote long ago. A job that still runs, or whose end is still
// to be told, keeps its output however old it is.
func (s *spool) sweep(before time.Time, held func(jobKey) bool) error {
	entries, err := os.ReadDir(filepath.Join(s.dir, "output"))
	if err != nil {
		return fmt.Errorf("sweep the spool: %w", err)
	}
	var problems []error
	for _, entry := range entries {
		name := strings.TrimSuffix(strings.TrimSuffix(entry.Name(), stdoutSuffix), stderrSuffix)
		key, err := parseJobKey(name)
		if err != nil || held(key) {
			continue
		}
		info, err := entry.Info()
		if err != nil || !info.Mode().IsRegular() || !info.ModTime().Before(before) {
			continue
		}
		problems = append(problems, os.Remove(filepath.Join(s.dir, "output", entry.Name())))
	}
	return errors.Join(problems...)
}
