package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/wire"
)

const (
	stdoutSuffix = ".out"
	stderrSuffix = ".err"
)

// outputFile is where one stream of a job goes.
type outputFile struct {
	path  string
	spool bool // chosen by the agent, in a directory that only it can change
}

// outputFiles says where a job's streams go. It depends on the job alone, so that the
// files are found long after the job is over.
func (s *spool) outputFiles(job *core.Job, node string) (stdout, stderr outputFile) {
	key := jobKey{id: job.ID, attempt: job.Attempt}
	place := func(pattern string) outputFile {
		path := expandPattern(pattern, job, node)
		if !filepath.IsAbs(path) {
			path = directoryOf(job.Spec) + "/" + path // not cleaned: a/../b may cross a link
		}
		return outputFile{path: path}
	}
	stdout = outputFile{path: s.outputPath(key, stdoutSuffix), spool: true}
	stderr = outputFile{path: s.outputPath(key, stderrSuffix), spool: true}
	if job.Spec.Output != "" {
		stdout = place(job.Spec.Output)
		stderr = stdout
	}
	if job.Spec.Error != "" {
		stderr = place(job.Spec.Error)
	}
	return stdout, stderr
}

func (s *spool) outputFile(job *core.Job, node string, stream wire.OutputStream) outputFile {
	stdout, stderr := s.outputFiles(job, node)
	if stream == wire.OutputStream_OUTPUT_STREAM_STDERR {
		return stderr
	}
	return stdout
}

// directoryOf returns where a job runs.
func directoryOf(spec *core.JobSpec) string {
	if spec.WorkDir == "" {
		return "/"
	}
	return spec.WorkDir
}

// create empties or makes the file for a job to write. Writes append, so that the
// elements of an array that share a file do not overwrite each other. A file that the
// job names is opened with its account's rights; the agent's umask applies.
func (f outputFile) create(acc account) (*os.File, error) {
	const flags = unix.O_WRONLY | unix.O_CREAT | unix.O_TRUNC | unix.O_APPEND
	if !f.spool {
		return openAs(acc, f.path, flags, 0o644)
	}
	file, err := openAs(account{}, f.path, flags|unix.O_NOFOLLOW, 0o600)
	if err != nil || acc.credential == nil {
		return file, err
	}
	if err := file.Chown(int(acc.credential.Uid), int(acc.credential.Gid)); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// open returns the file for reading, with the rights it was made with.
func (f outputFile) open(acc account) (*os.File, error) {
	if f.spool {
		acc = account{}
	}
	file, err := openAs(acc, f.path, unix.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if !info.Mode().IsRegular() {
		_ = file.Close()
		return nil, fmt.Errorf("%s is not a regular file: what the job wrote there was not kept", f.path)
	}
	return file, nil
}

// openAs opens a path with an account's rights. It does not wait for the other end of a
// pipe: a job whose output is a pipe that nobody reads is refused rather than stuck.
func openAs(acc account, path string, flags int, mode uint32) (*os.File, error) {
	fd := -1
	err := acc.do(func() (err error) {
		for {
			fd, err = unix.Open(path, flags|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, mode)
			if !errors.Is(err, unix.EINTR) {
				return err
			}
		}
	})
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	if err := unix.SetNonblock(fd, false); err != nil {
		_ = unix.Close(fd)
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}
