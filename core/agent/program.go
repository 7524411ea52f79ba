package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// start prepares and forks the job's first process. It returns nil and no error if the
// job was told to stop before there was one.
func (a *Agent) start(j *job) (*process, error) {
	acc, err := resolveAccount(j.info.Spec, os.Geteuid())
	if err != nil {
		return nil, err
	}
	c := command{
		directory:   directoryOf(j.info.Spec),
		environment: jobEnvironment(j.info, j.payload.Environment, a.cfg.NodeName, a.spool.recordPath(j.key), acc),
		stdin:       a.null,
		credential:  acc.credential,
	}
	if err := acc.do(func() error { return checkDirectory(c.directory) }); err != nil {
		return nil, err
	}
	if err := a.setProgram(&c, j, acc); err != nil {
		return nil, err
	}
	closeOutputs, err := a.openOutputs(&c, j, acc)
	if err != nil {
		return nil, err
	}
	defer closeOutputs()

	j.mu.Lock()
	defer j.mu.Unlock()
	if j.stopped != nil {
		return nil, nil
	}
	p, err := startProcess(c, a.sessions)
	if err != nil {
		return nil, explainExec(err, c.path, j.payload.Script)
	}
	j.process = p
	return p, nil
}

func checkDirectory(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("working directory %q: %w", path, bareError(err))
	}
	if !info.IsDir() {
		return fmt.Errorf("working directory %q is not a directory", path)
	}
	// With AT_EACCESS the kernel judges by the thread's rights, which are the account's.
	if err := unix.Faccessat(unix.AT_FDCWD, path, unix.X_OK, unix.AT_EACCESS); err != nil {
		return fmt.Errorf("working directory %q: %w", path, err)
	}
	return nil
}

// setProgram says what is run: the script by its own first line, or the command.
func (a *Agent) setProgram(c *command, j *job, acc account) (err error) {
	if len(j.payload.Script) > 0 {
		if c.path, err = a.spool.writeScript(j.key, j.payload.Script, acc.credential); err != nil {
			return err
		}
		c.argv = append([]string{c.path}, j.payload.Argv...)
		return nil
	}
	c.argv = j.payload.Argv
	return acc.do(func() (err error) {
		c.path, err = findProgram(c.argv[0], c.environment, c.directory)
		return err
	})
}

// findProgram looks a command up in the job's PATH as a shell in the job's directory
// would. A name with a slash is taken as it is.
func findProgram(name string, environment []string, directory string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	var path string
	for _, variable := range environment {
		if value, ok := strings.CutPrefix(variable, "PATH="); ok {
			path = value
		}
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(directory, dir)
		}
		candidate := filepath.Join(dir, name)
		if info, err := os.Stat(candidate); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return candidate, nil
		}
	}
	return "", fmt.Errorf("command %q is not in the job's PATH %q", name, path)
}

// openOutputs opens the job's output files; both streams share one if they have one.
func (a *Agent) openOutputs(c *command, j *job, acc account) (closeAll func(), err error) {
	stdout, stderr := a.spool.outputFiles(j.info, a.cfg.NodeName)
	if c.stdout, err = stdout.create(acc); err != nil {
		return nil, fmt.Errorf("output file: %w", err)
	}
	c.stderr = c.stdout
	if stderr.path == stdout.path {
		return func() { _ = c.stdout.Close() }, nil
	}
	if c.stderr, err = stderr.create(acc); err != nil {
		_ = c.stdout.Close()
		return nil, fmt.Errorf("error file: %w", err)
	}
	return func() { _, _ = c.stdout.Close(), c.stderr.Close() }, nil
}

// explainExec says in words what the bare "no such file" of an exec cannot: that it is
// the script's interpreter that is missing.
func explainExec(err error, path string, script []byte) error {
	if len(script) > 0 && errors.Is(err, fs.ErrNotExist) {
		line, _, _ := strings.Cut(string(script[:min(len(script), 200)]), "\n")
		return fmt.Errorf("the interpreter in the script's first line %q does not exist on this node", line)
	}
	return fmt.Errorf("start %s: %w", path, bareError(err))
}

// bareError leaves out the operation and path that the caller tells in its own words.
func bareError(err error) error {
	var located *fs.PathError
	if errors.As(err, &located) {
		return located.Err
	}
	return err
}
