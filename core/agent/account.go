package agent

import (
	"errors"
	"fmt"
	"os/user"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rowelhq/rowel/core"
)

// account is whom a job runs as.
type account struct {
	name string
	home string

	// credential is what the processes take on; nil when the agent runs as that user
	// already.
	credential *syscall.Credential
}

// resolveAccount finds the job's user on this node, for an agent that runs as the uid
// self. An agent that is not root can run
// jobs of its own user only; one that is root needs the user to be known here, because
// a user's further groups come from the node.
func resolveAccount(spec *core.JobSpec, self int) (account, error) {
	acc := account{name: spec.User, home: "/"}
	known, err := user.LookupId(number(uint64(spec.UID)))
	if err == nil {
		acc.home = known.HomeDir
	}
	switch {
	case int64(self) == int64(spec.UID):
		return acc, nil
	case self != 0:
		return account{}, fmt.Errorf("the agent runs as uid %d and cannot start a job of uid %d: only an agent that is root can", self, spec.UID)
	case err != nil:
		return account{}, fmt.Errorf("user %s (uid %d) is not known on this node: %w", spec.User, spec.UID, err)
	}
	groups, err := groupsOf(known)
	if err != nil {
		return account{}, fmt.Errorf("groups of user %s: %w", known.Username, err)
	}
	acc.credential = &syscall.Credential{Uid: spec.UID, Gid: spec.GID, Groups: groups}
	return acc, nil
}

func groupsOf(u *user.User) ([]uint32, error) {
	ids, err := u.GroupIds()
	if err != nil {
		return nil, err
	}
	groups := make([]uint32, 0, len(ids))
	for _, id := range ids {
		gid, err := strconv.ParseUint(id, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("group id %q: %w", id, err)
		}
		groups = append(groups, uint32(gid))
	}
	return groups, nil
}

// do runs f with the account's rights on files, so that a path named by a user reaches
// nothing that the user could not reach, whatever links lie on the way. f must not
// start goroutines or processes.
func (a account) do(f func() error) error {
	if a.credential == nil {
		return f()
	}
	result := make(chan error, 1)
	go func() {
		// Never unlocked: the thread's rights are spoiled, and it ends with the goroutine.
		runtime.LockOSThread()
		if err := takeFileRights(a.credential); err != nil {
			result <- fmt.Errorf("act as uid %d: %w", a.credential.Uid, err)
			return
		}
		result <- f()
	}()
	return <-result
}

// takeFileRights changes what the calling thread, and no other, may do with files. The
// groups go by the bare system call because syscall.Setgroups changes every thread.
func takeFileRights(c *syscall.Credential) error {
	var groups unsafe.Pointer
	if len(c.Groups) > 0 {
		groups = unsafe.Pointer(&c.Groups[0])
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(c.Groups)), uintptr(groups), 0); errno != 0 {
		return fmt.Errorf("setgroups: %w", errno)
	}
	// These two report no failure; asking again with an impossible ID tells what holds.
	_ = unix.Setfsgid(int(c.Gid))
	_ = unix.Setfsuid(int(c.Uid))
	gid, _ := unix.SetfsgidRetGid(-1)
	uid, _ := unix.SetfsuidRetUid(-1)
	if uint32(gid) != c.Gid || uint32(uid) != c.Uid {
		return errors.New("the kernel refused: the agent lacks CAP_SETUID or CAP_SETGID")
	}
	return nil
}
