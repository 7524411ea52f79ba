package agent

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/rowelhq/rowel/core"
)

// measureCapacity fills in what was not configured: the CPUs this process may use (its
// affinity mask, so that a container's cpuset counts) and the machine's memory.
func measureCapacity(configured core.Resources) (core.Resources, error) {
	capacity := configured
	if capacity.CPUs == 0 {
		capacity.CPUs = uint32(runtime.NumCPU())
	}
	if capacity.MemoryMiB == 0 {
		meminfo, err := os.ReadFile("/proc/meminfo")
		if err != nil {
			return core.Resources{}, fmt.Errorf("measure memory: %w", err)
		}
		if capacity.MemoryMiB, err = memTotalMiB(meminfo); err != nil {
			return core.Resources{}, fmt.Errorf("measure memory: %w", err)
		}
	}
	return capacity, nil
}

func memTotalMiB(meminfo []byte) (uint64, error) {
	lines := bufio.NewScanner(bytes.NewReader(meminfo))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 || fields[0] != "MemTotal:" {
			continue
		}
		kib, err := strconv.ParseUint(fields[1], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("MemTotal in /proc/meminfo: %w", err)
		}
		return kib / 1024, nil
	}
	return 0, fmt.Errorf("/proc/meminfo has no MemTotal")
}

// loadAverage returns the one-minute load, 0 if the system does not tell.
func loadAverage() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), " ")
	load, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return 0
	}
	return load
}

// osName returns such as "linux 6.18.0 amd64".
func osName() string {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return runtime.GOOS + " " + runtime.GOARCH
	}
	return runtime.GOOS + " " + unix.ByteSliceToString(name.Release[:]) + " " + runtime.GOARCH
}
