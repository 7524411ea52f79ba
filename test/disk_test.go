package test

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// disk is an ext4 file system of a test's own, in an image file behind a loop device. It
// fails as real ones do.
type disk struct {
	t     testing.TB
	image string
	path  string // where it is mounted
}

// newDisk makes and mounts a disk of so many MiB. Without the rights for it the test is
// skipped, in CI it fails.
func newDisk(t testing.TB, mib int64) *disk {
	t.Helper()
	if _, err := exec.LookPath("mkfs.ext4"); err != nil || os.Geteuid() != 0 {
		if os.Getenv("CI") != "" {
			t.Fatal("making a disk needs root and mkfs.ext4")
		}
		t.Skip("making a disk needs root and mkfs.ext4")
	}
	dir, err := os.MkdirTemp("", "rowel-disk-") // not t.TempDir: the mount must go first
	if err != nil {
		t.Fatal(err)
	}
	d := &disk{t: t, image: filepath.Join(dir, "image")}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.WriteFile(d.image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(d.image, mib<<20); err != nil {
		t.Fatal(err)
	}
	command(t, "mkfs.ext4", "-q", "-F", d.image)
	d.mount(filepath.Join(dir, "mount"))
	return d
}

// mount mounts the image and unmounts it when the test is over, whatever holds it.
func (d *disk) mount(at string) {
	d.t.Helper()
	d.path = at
	if err := os.Mkdir(at, 0o755); err != nil {
		d.t.Fatal(err)
	}
	command(d.t, "mount", "-o", "loop", d.image, at)
	d.t.Cleanup(func() {
		d.thaw()
		_ = exec.Command("umount", "-l", at).Run()
	})
}

// dies makes every later read and write fail with EIO, and nothing that was not on disk
// reach it any more.
func (d *disk) dies() {
	d.t.Helper()
	const shutdown, withoutFlush = 0x8004587d, 2 // EXT4_IOC_SHUTDOWN, EXT4_GOING_FLAGS_NOLOGFLUSH
	d.control(shutdown, withoutFlush)
}

// freezes makes writes wait until the disk thaws.
func (d *disk) freezes() {
	d.t.Helper()
	const freeze = 0xc0045877 // FIFREEZE
	d.control(freeze, 0)
}

func (d *disk) thaw() {
	dir, err := os.Open(d.path)
	if err != nil {
		return
	}
	defer dir.Close()
	const thaw = 0xc0045878                             // FITHAW
	_ = unix.IoctlSetPointerInt(int(dir.Fd()), thaw, 0) // it may not be frozen
}

func (d *disk) control(request uint, argument int) {
	d.t.Helper()
	dir, err := os.Open(d.path)
	if err != nil {
		d.t.Fatal(err)
	}
	defer dir.Close()
	if err := unix.IoctlSetPointerInt(int(dir.Fd()), request, argument); err != nil {
		d.t.Fatalf("ioctl %#x on %s: %v", request, d.path, err)
	}
}

// fills takes all room that is left and returns the file that has it.
func (d *disk) fills() string {
	d.t.Helper()
	path := filepath.Join(d.path, "filler")
	file, err := os.Create(path)
	if err != nil {
		d.t.Fatal(err)
	}
	defer file.Close()
	for size := 1 << 20; size >= 512; size /= 2 {
		for chunk := make([]byte, size); err == nil; {
			_, err = file.Write(chunk)
		}
		if !errors.Is(err, unix.ENOSPC) {
			d.t.Fatal(err)
		}
		err = nil
	}
	return path
}

// afterPowerCut returns a disk that holds what had reached the image of this one, which
// must have died: what the machine would find when it has power again.
func (d *disk) afterPowerCut() *disk {
	d.t.Helper()
	dir, err := os.MkdirTemp("", "rowel-disk-")
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = os.RemoveAll(dir) })
	after := &disk{t: d.t, image: filepath.Join(dir, "image")}
	from, err := os.Open(d.image)
	if err != nil {
		d.t.Fatal(err)
	}
	defer from.Close()
	to, err := os.Create(after.image)
	if err != nil {
		d.t.Fatal(err)
	}
	defer to.Close()
	if _, err := io.Copy(to, from); err != nil {
		d.t.Fatal(err)
	}
	after.mount(filepath.Join(dir, "mount"))
	return after
}

func command(t testing.TB, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}
