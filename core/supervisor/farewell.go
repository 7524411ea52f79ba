package supervisor

import (
	"os"
	"time"
)

// A process whose thread waits for a disk that does not answer cannot end: the kernel
// keeps it until the disk does. So a child says on a pipe with which code it ends, and
// its parent waits for it no longer than this.
const farewellTime = time.Second

// exitFunc returns the child's os.Exit, which says farewell first.
func exitFunc(pipe *os.File) func(code int) {
	return func(code int) {
		_, _ = pipe.Write([]byte{byte(code)})
		os.Exit(code)
	}
}

// overdue returns a channel that receives the code of a child that has said farewell and
// should have been gone for farewellTime.
func overdue(pipe *os.File) <-chan int {
	late := make(chan int, 1)
	go func() {
		defer pipe.Close()
		code := make([]byte, 1)
		if _, err := pipe.Read(code); err != nil {
			return // it ended without a word: whoever waits for it knows how
		}
		time.Sleep(farewellTime)
		late <- int(code[0])
	}()
	return late
}
